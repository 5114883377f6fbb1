//! Copies of boxes of tensors (`cp.async.bulk.tensor`), by tensor maps. To the order model, and to barriers, they are
//! bulk copies: see `bulk`.

use std::sync::atomic::Ordering::Relaxed;

use crate::global::{BufferMemory, locate};
use crate::machine::lanes::{LANES, each};
use crate::machine::memory::global_access::verdict_on;
use crate::machine::memory::shared_access::read_shared;
use crate::machine::order::Kind;
use crate::machine::state::bulk_load::BulkLoad;
use crate::machine::state::copies::SourceUnderWay;
use crate::machine::state::tensor_box::{Pieces, Row, TensorBox};
use crate::machine::state::warp::Warp;
use crate::machine::state::worker::Worker;
use crate::program::{
    Access, AtomicOp, CONST_WINDOW, Extended, LOCAL_WINDOW, Order, PARAMETER_WINDOW, SHARED_WINDOW, Tensor, in_window,
};
use crate::{Fault, FaultKind, TensorMap, TensorMapError};

/// Addresses of tensor maps are multiples of it.
const MAP_UNIT: u64 = 64;
/// Places of boxes in shared memory are multiples of it.
const BOX_UNIT: u32 = 128;
/// Boxes begin, in dimension 0, at multiples of it.
const CHUNK: i64 = 16;
/// Words of the longest row: 256 elements of 8 bytes.
const ROW: usize = 512;

impl Worker<'_> {
    /// Lanes ask for copies.
    pub(crate) fn tensor(
        &mut self,
        warp: &mut Warp,
        extended: &Extended,
        (tensor, rank): (Tensor, u8),
        mask: u32,
    ) -> Result<(), Box<Fault>> {
        let (accesses, rank) = (&self.context.program.accesses, usize::from(rank));
        for lane in each(mask) {
            let read =
                |n: usize| extended.reads.get(n).map(|(file, slot)| warp.wide(*file, *slot, lane)).unwrap_or_default();
            let coordinates = (0..rank).map(|n| read(n) as i32).collect();
            let ranks = read(rank) as u32;
            match (tensor, extended.accesses.as_slice()) {
                (Tensor::Load { multicast }, &[map, to, barrier]) => {
                    let [map, barrier] = [map, barrier].map(|index| &accesses[index as usize]);
                    let tensor = self.tensor_box(warp, map, lane, coordinates)?;
                    if tensor.is_outside() {
                        self.note_outside(warp, lane, map.at, &tensor);
                    }
                    self.tensor_load(warp, (map, to, barrier), (lane, multicast.then_some(ranks)), &tensor)?;
                    let blocks = if multicast { ranks.count_ones() } else { 1 };
                    self.tally.add_copy(to, blocks, tensor.sectors(false));
                }
                (Tensor::Store(reduce), &[map, index]) => {
                    let [map, from] = [map, index].map(|index| &accesses[index as usize]);
                    let tensor = self.tensor_box(warp, map, lane, coordinates)?;
                    self.tensor_store(warp, (from, map), lane, (&tensor, reduce))?;
                    self.tally.add_copy(index, 1, tensor.sectors(true));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// The box that a lane names.
    fn tensor_box(
        &mut self,
        warp: &mut Warp,
        access: &Access,
        lane: usize,
        coordinates: Vec<i32>,
    ) -> Result<TensorBox, Box<Fault>> {
        warp.set_addresses(access, 1 << lane);
        let address = warp.scratch.addresses.0[lane];
        let (bytes, name) = self.map_bytes(warp, access, lane, address)?;
        match TensorMap::from_bytes(bytes).description() {
            Ok(map) if map.sizes.len() == coordinates.len() => {
                let tensor = TensorBox { map, name, coordinates };
                match tensor.first_byte() {
                    first if first % CHUNK == 0 => Ok(tensor),
                    first => {
                        let what = format!("begins at byte {first} of the tensor's rows, no multiple of {CHUNK}");
                        let mut fault =
                            self.convict_tensor(warp, access, lane, FaultKind::Misaligned, (&tensor, &what));
                        fault.hint =
                            Some("the first coordinate, in bytes, is a multiple of 16: load a wider box".to_string());
                        Err(fault)
                    }
                }
            }
            Ok(map) => {
                let what = format!("is of {} dimensions, and the copy of {}", map.sizes.len(), coordinates.len());
                Err(self.convict_map(warp, access, lane, FaultKind::Trap, (&name, &what)))
            }
            Err(error) => {
                let what = match error {
                    _ if bytes == [0; 128] => "is none: all of its bytes are 0".to_string(),
                    TensorMapError::NoMap { why } => format!("is none: {why}"),
                    TensorMapError::Interleave => format!("is of {error}"),
                    error => format!("is none, but would be of {error}"),
                };
                Err(self.convict_map(warp, access, lane, FaultKind::Trap, (&name, &what)))
            }
        }
    }

    /// The bytes of a tensor map, wherever it lies, and its place in words.
    fn map_bytes(
        &mut self,
        warp: &mut Warp,
        access: &Access,
        lane: usize,
        address: u64,
    ) -> Result<([u8; 128], String), Box<Fault>> {
        let context = self.context;
        let part = |all: &[u8], at: usize| all.get(at..at + 128).and_then(|bytes| bytes.try_into().ok());
        let (found, name): (Option<[u8; 128]>, String) = if in_window(address, PARAMETER_WINDOW) {
            let at = (address - PARAMETER_WINDOW) as usize;
            let is_it = |p: &crate::program::Parameter| (p.offset..p.offset + p.bytes).contains(&(at as u32));
            let name = match context.program.parameters.iter().position(is_it) {
                Some(index) => format!("in parameter {index}"),
                None => format!("in the parameters at offset {at}"),
            };
            (part(&context.parameters, at), name)
        } else if in_window(address, CONST_WINDOW) {
            let at = (address - CONST_WINDOW) as usize;
            (part(context.constants, at), format!("in constant memory at offset {at}"))
        } else if in_window(address, SHARED_WINDOW) || in_window(address, LOCAL_WINDOW) {
            (None, "in shared or local memory".to_string())
        } else {
            let (buffer, offset) = locate(address);
            match context.memory.buffers.get(buffer) {
                None => (None, format!("at address {address:#x}")),
                Some(memory) => {
                    let name = format!("in {} at offset {offset}", memory.name);
                    let verdict = verdict_on(memory, offset, 128).filter(|(kind, _)| *kind != FaultKind::Misaligned);
                    if let Some((kind, what)) = verdict {
                        return Err(self.convict_map(warp, access, lane, kind, (&name, &format!("lies {what}"))));
                    }
                    self.check_map_written((warp, access, lane), memory, (offset as usize, &name))?;
                    self.check_map_fenced((warp, access, lane), (buffer, offset as usize, &name), address)?;
                    if memory.watch.is_some() {
                        let plain = Access { order: Order::Weak, ..access.clone() };
                        self.read_source(warp, &plain, lane, address, 128, true)?;
                    }
                    let mut bytes = [0; 128];
                    memory.read(offset as usize, &mut bytes);
                    (Some(bytes), name)
                }
            }
        };
        let Some(bytes) = found else {
            let what = "lies where no tensor map may be";
            return Err(self.convict_map(warp, access, lane, FaultKind::OutOfBounds, (&name, what)));
        };
        if !address.is_multiple_of(MAP_UNIT) {
            let what = format!("is at no multiple of {MAP_UNIT} bytes");
            return Err(self.convict_map(warp, access, lane, FaultKind::Misaligned, (&name, &what)));
        }
        Ok((bytes, name))
    }

    fn check_map_written(
        &self,
        (warp, access, lane): (&Warp, &Access, usize),
        memory: &BufferMemory,
        (offset, name): (usize, &str),
    ) -> Result<(), Box<Fault>> {
        match memory.unwritten(offset, 128) {
            Some((_, count)) if self.context.sanitize => {
                let what = format!("has {count} bytes that nobody wrote");
                Err(self.convict_map(warp, access, lane, FaultKind::Uninitialised, (name, &what)))
            }
            _ => Ok(()),
        }
    }

    /// Where a lane's box lies in shared memory, by the address at hand, and what of it it covers from there on.
    fn tensor_place(
        &mut self,
        warp: &mut Warp,
        access: &Access,
        lane: usize,
        tensor: &TensorBox,
    ) -> Result<(u32, Pieces), Box<Fault>> {
        let at = self.offsets(warp, access, 1 << lane)?[lane];
        if !at.is_multiple_of(BOX_UNIT) {
            let what = format!("lies in {}, no multiple of {BOX_UNIT} bytes", self.in_shared_words(at));
            return Err(self.convict_tensor(warp, access, lane, FaultKind::Misaligned, (tensor, &what)));
        }
        let (end, bytes) = (access.within.1.min(self.shared_bytes), tensor.extent());
        // The last row may be shorter than the swizzle's span.
        let pieces = if u64::from(at) + bytes < u64::from(end) + 128 { tensor.pieces(at) } else { Vec::new() };
        if pieces.is_empty() || pieces.iter().any(|(start, length)| at + start + length > end) {
            let what = format!("has {bytes} bytes, and runs past the end of {}", self.shared_in_words(access));
            return Err(self.convict_tensor(warp, access, lane, FaultKind::OutOfBounds, (tensor, &what)));
        }
        Ok((at, pieces))
    }

    /// The buffer in which the bytes of a row lie, and where.
    fn tensor_home(
        &self,
        warp: &Warp,
        access: &Access,
        lane: usize,
        (tensor, index, row): (&TensorBox, u32, &(u64, std::ops::Range<u32>)),
    ) -> Result<(usize, usize), Box<Fault>> {
        let (address, length) = (row.0, row.1.len() as i64);
        let (buffer, offset) = locate(address);
        let (kind, what) = match self.context.memory.buffers.get(buffer) {
            None => (FaultKind::OutOfBounds, format!("at address {address:#x}, which lies in no buffer")),
            Some(memory) if !memory.freed && offset >= 0 && offset + length <= memory.bytes as i64 => {
                return Ok((buffer, offset as usize));
            }
            Some(memory) => match verdict_on(memory, offset, length) {
                Some(verdict) => verdict,
                None => return Ok((buffer, offset as usize)),
            },
        };
        let what = format!("moves row {index}, {length} bytes {what}");
        Err(self.convict_tensor(warp, access, lane, kind, (tensor, &what)))
    }

    /// To the shared memory of one thread block, or of all that a mask of ranks names.
    fn tensor_load(
        &mut self,
        warp: &mut Warp,
        (map, to_index, barrier): (&Access, u32, &Access),
        (lane, ranks): (usize, Option<u32>),
        tensor: &TensorBox,
    ) -> Result<(), Box<Fault>> {
        let to = &self.context.program.accesses[to_index as usize];
        let destinations = self.destinations(warp, (to, barrier), lane, ranks)?;
        let mut places = Vec::with_capacity(destinations.len());
        for destination in &destinations {
            places.push(self.at_destination(
                warp,
                (to, barrier),
                lane,
                *destination,
                |worker, warp, place, agent| {
                    let (at, pieces) = worker.tensor_place(warp, to, lane, tensor)?;
                    for &(start, length) in &pieces {
                        worker.check_objects_in(warp, to, lane, at + start, length)?;
                    }
                    Ok((place, at, pieces, (worker.state.owner, agent)))
                },
            )?);
        }
        let Some((_, at, pieces, _)) = places.first() else { return Ok(()) };
        let at = *at;
        self.map_under_way(warp, map, lane, places.iter().map(|(_, _, _, agent)| *agent))?;
        let end = pieces.iter().map(|(start, length)| start + length).max().unwrap_or_default();
        let mut words = vec![tensor.fill(); end as usize / 4];
        let (thread, block) = (warp.number * LANES as u32 + lane as u32, self.state.block);
        let mut unwritten = Vec::new();
        let before = self.sources.len();
        for index in 0..tensor.rows() {
            let Row { start, inside: Some(row) } = tensor.row(index, false) else { continue };
            let (buffer, offset) = self.tensor_home(warp, map, lane, (tensor, index, &row))?;
            let memory = &self.context.memory.buffers[buffer];
            let (address, range) = row;
            let length = range.len();
            if memory.watch.is_some() {
                let (address, length) = self.whole_cells(address, length as u32);
                let agents = places.iter().map(|(_, _, _, agent)| *agent);
                self.agents_read_global(warp, map, lane, (address, length), agents, true)?;
                self.sources.push(SourceUnderWay {
                    block,
                    thread,
                    at: map.at,
                    buffer,
                    offset,
                    length: length as usize,
                    to: at,
                });
            }
            memory.touch(offset, length);
            if let Some(written) = memory.written.get() {
                let missing = (0..length).filter(|n| written[offset + n].load(Relaxed) == 0);
                unwritten.extend(missing.map(|n| tensor.place(at, start + range.start + n as u32)));
            }
            let first = start as usize / 4;
            let bytes = tensor.map.row_bytes() as usize;
            if !tensor.is_swizzled() {
                read_row(memory, offset, tensor, range, &mut words[first..]);
                continue;
            }
            let mut row = [tensor.fill(); ROW];
            read_row(memory, offset, tensor, range, &mut row);
            for (n, chunk) in row[..bytes / 4].chunks_exact(4).enumerate() {
                let to = tensor.place(at, start + 16 * n as u32) as usize / 4;
                words[to..to + 4].copy_from_slice(chunk);
            }
        }
        let sources = self.sources.split_off(before);
        for (destination, (barrier, at, pieces, _)) in destinations.iter().zip(places) {
            self.sources.extend(sources.iter().cloned());
            let (words, unwritten, sources) = (words.clone(), unwritten.clone(), sources.len());
            let load = BulkLoad::whole((barrier, at, words), None, unwritten, (block, thread, to.at, to_index));
            let load = BulkLoad { pieces, sources, ..load };
            self.send_bulk(warp, to, lane, (destination.rank, load), Kind::Write)?;
        }
        Ok(())
    }

    fn tensor_store(
        &mut self,
        warp: &mut Warp,
        (from, map): (&Access, &Access),
        lane: usize,
        (tensor, reduce): (&TensorBox, Option<AtomicOp>),
    ) -> Result<(), Box<Fault>> {
        let atomic = reduce.and_then(|op| tensor.atomic(op));
        if reduce.is_some() && atomic.is_none() {
            let what = format!("combines elements of type {}, which this operation is not for", tensor.map.element);
            return Err(self.convict_tensor(warp, map, lane, FaultKind::Trap, (tensor, &what)));
        }
        if let Some(dimension) = tensor.before() {
            let what = format!("begins before the tensor in dimension {dimension}, which only that of a load may");
            let mut fault = self.convict_tensor(warp, map, lane, FaultKind::OutOfBounds, (tensor, &what));
            fault.hint = Some("a store may hang over the tensor's end, and not over its start".to_string());
            return Err(fault);
        }
        self.shared_addresses(warp, from, 1 << lane)?;
        let (at, pieces) = self.tensor_place(warp, from, lane, tensor)?;
        let agent = self.agent_of_groups(warp, from, lane, at);
        let asking = ((warp.number, lane as u32), self.state.block, agent);
        self.map_under_way(warp, map, lane, std::iter::once((self.state.block, agent)))?;
        for &(start, length) in &pieces {
            self.check_objects_in(warp, from, lane, at + start, length)?;
            self.agent_access(warp, from, (at + start, length), asking, Kind::Read)?;
        }
        let mut to = map.clone();
        if let Some(atomic) = atomic {
            to.element_bytes = u32::from(atomic.bits) / 8;
        }
        for index in 0..tensor.rows() {
            let Row { start, inside: Some(row) } = tensor.row(index, true) else { continue };
            // (What it writes behind the tensor may lie behind the buffer, too.)
            let of_tensor = Row { inside: tensor.row(index, false).inside, start }.inside.unwrap_or(row.clone());
            let home = self.tensor_home(warp, map, lane, (tensor, index, &of_tensor))?;
            let (range, end) = (row.1, self.context.memory.buffers[home.0].bytes - home.1);
            let range = range.start..range.end.min(range.start + end as u32);
            let place = |n: u32| at + tensor.place(at, start + range.start + n);
            let bytes = (0..range.len() as u32).map(|n| read_shared(&self.state.shared, place(n), 1) as u8).collect();
            self.put_global((warp, &to, lane), home, (bytes, Some(&place)), atomic)?;
        }
        Ok(())
    }

    /// The cells of global memory that bytes fill: what they share with others is nobody's.
    pub(crate) fn whole_cells(&self, start: u64, length: u32) -> (u64, u32) {
        let grain = u64::from(self.context.program.global_grain);
        let (first, end) = (start.next_multiple_of(grain), (start + u64::from(length)) / grain * grain);
        (first, end.saturating_sub(first) as u32)
    }
}

/// Reads what of a row lies in the tensor; the rest of the row stays.
fn read_row(memory: &BufferMemory, offset: usize, tensor: &TensorBox, range: std::ops::Range<u32>, row: &mut [u32]) {
    let (from, to) = (range.start as usize, range.end as usize);
    if (offset | from | to).is_multiple_of(4) {
        let words = &mut row[from / 4..to / 4];
        memory.load_words(offset / 4, words);
        tensor.convert(words);
        return;
    }
    let mut bytes = vec![0; to - from];
    memory.read(offset, &mut bytes);
    for (at, byte) in (from..to).zip(bytes) {
        let shift = at % 4 * 8;
        row[at / 4] = row[at / 4] & !(0xff << shift) | u32::from(byte) << shift;
    }
}
