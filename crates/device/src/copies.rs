//! Launches on a CUDA GPU, with the copies of matrices before and behind them ([`gemm::copies`]).

use std::sync::{Arc, Mutex, PoisonError};

use cudarc::driver::{CudaModule, CudaSlice, CudaStream, DevicePtr, DriverError, LaunchConfig, sys};
use cudarc::nvrtc::Ptx;
use gemm::Role;
use gemm::copies::{Copied, copied, on_copies};
use gemm::task::{Operand, room};

use crate::arguments::Arguments;
use crate::ffi;
use crate::functions::{Configs, Functions, launch};

/// The kernel that copies.
const COPY: &str = include_str!("ptx/copies.ptx");
/// Threads of a block, and bytes of a row that each row of them copies.
const THREADS: (u32, u32) = (32, 8);
const ACROSS: u64 = 512;
/// Copies begin at multiples of this in their room, as memory of the driver does.
const ALIGNMENT: u64 = 256;

/// Room for copies, which grows as it is needed. All launches of a stream share one: each is done before the next begins to copy.
#[derive(Debug, Default)]
pub struct Room(Box<Mutex<Kept>>);

/// What has been loaded and allocated.
#[derive(Debug, Default)]
struct Kept {
    module: Option<Arc<CudaModule>>,
    buffer: Option<Owned>,
    /// What kernels ask for beside the matrices and their copies.
    room: Option<Owned>,
}

/// Memory that one stream alone uses: nobody has to wait for events of it, which a stream that is being captured could not.
#[derive(Debug)]
struct Owned {
    slice: CudaSlice<u8>,
    begin: u64,
}

/// A launch: all but where.
#[derive(Debug, Clone, Copy)]
pub struct What<'a> {
    /// The kernel, and what is launched before it.
    pub functions: &'a Functions,
    /// Grid, block and dynamic shared memory of each.
    pub configs: Configs,
    /// The arguments.
    pub operands: &'a [Operand],
    /// Where A, B and C begin.
    pub addresses: [u64; 3],
}

impl Room {
    /// Loads and allocates what launches with these copies and so many bytes beside them need, as far as the driver has it, so that none
    /// of them waits for it.
    pub fn prepare(&self, stream: &Arc<CudaStream>, copies: &[Copied], bytes: u64) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.room(stream, bytes);
        if !copies.is_empty() {
            let _ = kept.module(stream);
            kept.places(stream, copies, [0; 3]);
        }
    }

    /// The first bytes of what kernels have beside the matrices, when all is done that was submitted.
    pub(crate) fn first(&self, stream: &Arc<CudaStream>, bytes: usize) -> Result<Vec<u8>, DriverError> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match kept.room.as_ref().and_then(|room| room.slice.try_slice(..bytes)) {
            Some(first) if bytes > 0 => stream.clone_dtoh(&first).and_then(|read| stream.synchronize().map(|()| read)),
            _ => Ok(Vec::new()),
        }
    }

    /// Launches a kernel, with the copies that it is to have before and behind it. Where there is no room for these, or the driver does
    /// not take what makes them, a kernel that has another way multiplies the matrices as they lie.
    pub fn launch(&self, stream: &Arc<CudaStream>, what: What) -> Result<(), DriverError> {
        let What { functions, configs, operands, addresses } = what;
        let no_room = Err(DriverError(sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY));
        let copies = copied(operands, addresses);
        if copies.is_empty() && room(operands) == 0 {
            return launch(stream, functions, &configs, &Arguments::new(operands, (addresses, addresses), 0)?);
        }
        // Until all are submitted: nobody else's copies come between them.
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(room) = kept.room(stream, room(operands)) else { return no_room };
        if !copies.is_empty()
            && let Some(seen) = kept.places(stream, &copies, addresses)
            && let Ok(module) = kept.module(stream)
        {
            let (of_c, inputs): (Vec<Copied>, Vec<Copied>) = copies.iter().partition(|copy| copy.role == Role::C);
            copy(&module, stream, &inputs, [addresses, seen])?;
            let arguments = Arguments::new(&on_copies(operands, &copies), (addresses, seen), room)?;
            launch(stream, functions, &configs, &arguments)?;
            return copy_out(&module, stream, &of_c, [seen, addresses]);
        }
        if !operands.iter().any(|operand| matches!(operand, Operand::Mapped { .. })) && !copies.is_empty() {
            return no_room;
        }
        launch(stream, functions, &configs, &Arguments::new(operands, (addresses, addresses), room)?)
    }
}

impl Kept {
    /// The kernels that copy, loaded once.
    fn module(&mut self, stream: &CudaStream) -> Result<Arc<CudaModule>, DriverError> {
        Ok(match &self.module {
            Some(module) => module.clone(),
            None => self.module.insert(stream.context().load_module(Ptx::from_src(COPY))?).clone(),
        })
    }

    /// The address of so many bytes beside the matrices; 0 for none, and nothing, where there is no room.
    fn room(&mut self, stream: &Arc<CudaStream>, bytes: u64) -> Option<u64> {
        if bytes == 0 {
            return Some(0);
        }
        grown(&mut self.room, stream, bytes)
    }

    /// Where A, B and C are when they have been copied; nothing, where there is no room.
    fn places(&mut self, stream: &Arc<CudaStream>, copies: &[Copied], addresses: [u64; 3]) -> Option<[u64; 3]> {
        let (offsets, bytes) = offsets(copies);
        let begin = grown(&mut self.buffer, stream, bytes)?;
        let mut places = addresses;
        copies.iter().zip(offsets).for_each(|(copy, offset)| places[copy.role as usize] = begin + offset);
        Some(places)
    }
}

/// Where the memory begins, with so many bytes at least; nothing, where the GPU does not have them.
fn grown(memory: &mut Option<Owned>, stream: &Arc<CudaStream>, bytes: u64) -> Option<u64> {
    let bytes = usize::try_from(bytes).ok()?;
    if memory.as_ref().is_none_or(|memory| memory.slice.len() < bytes) {
        // What is done on the stream before may still need the old one: it is given back behind that.
        *memory = None;
        let slice: CudaSlice<u8> = stream.alloc_zeros(bytes).ok()?;
        let begin = slice.device_ptr(stream).0;
        *memory = Some(Owned { slice, begin });
    }
    memory.as_ref().map(|memory| memory.begin)
}

/// Submits the copies of A and B, by one launch.
fn copy(
    module: &Arc<CudaModule>,
    stream: &Arc<CudaStream>,
    copies: &[Copied],
    [from, to]: [[u64; 3]; 2],
) -> Result<(), DriverError> {
    if copies.is_empty() {
        return Ok(());
    }
    let mut arguments: Vec<_> = copies.iter().map(|copy| matrix(copy, copy.role.of(from), copy.role.of(to))).collect();
    arguments.resize(2, sys::CUtensorMap { opaque: [0; 16] });
    let function = module.load_function(&entry(copies))?;
    ffi::launch(stream, &function, grid(copies), &arguments)
}

/// Submits the copies of C, each to where C lies.
fn copy_out(
    module: &Arc<CudaModule>,
    stream: &Arc<CudaStream>,
    copies: &[Copied],
    [from, to]: [[u64; 3]; 2],
) -> Result<(), DriverError> {
    for copy in copies {
        let function = module.load_function(&format!("copy_out_{}", copy.element))?;
        let argument = matrix(&back(copy), copy.role.of(from), copy.role.of(to));
        ffi::launch(stream, &function, grid(&[*copy]), &[argument])?;
    }
    Ok(())
}

/// A copy the other way round.
fn back(copy: &Copied) -> Copied {
    Copied { leading: copy.pitch, pitch: copy.leading, ..*copy }
}

/// Where copies begin in their room, and how many bytes it has.
fn offsets(copies: &[Copied]) -> (Vec<u64>, u64) {
    let mut end = 0;
    let mut begin = |copy: &Copied| {
        let begin = end;
        end = (end + copy.bytes()).next_multiple_of(ALIGNMENT);
        begin
    };
    (copies.iter().map(&mut begin).collect(), end)
}

/// The kernel for their elements: A and B have the same.
fn entry(copies: &[Copied]) -> String {
    format!("copy_{}", copies.first().map_or(1, |copy| copy.element))
}

/// Blocks for as many rows as a block has, and for all rows.
fn blocks(copy: &Copied) -> [u64; 2] {
    let across = (u64::from(copy.columns) * u64::from(copy.element)).div_ceil(ACROSS);
    [across, across * u64::from(copy.rows.div_ceil(THREADS.1))]
}

/// A grid of the blocks of all.
fn grid(copies: &[Copied]) -> LaunchConfig {
    let all: u64 = copies.iter().map(|copy| blocks(copy)[1]).sum();
    LaunchConfig { grid_dim: (all as u32, 1, 1), block_dim: (THREADS.0, THREADS.1, 1), shared_mem_bytes: 0 }
}

/// A matrix as the kernel takes it, from one address to another.
fn matrix(copy: &Copied, from: u64, to: u64) -> sys::CUtensorMap {
    let mut slot = sys::CUtensorMap { opaque: [0; 16] };
    let sizes = u64::from(copy.rows) | u64::from(copy.columns) << 32;
    let [across, all] = blocks(copy);
    let words = [from, to, copy.leading, copy.pitch * u64::from(copy.element), sizes, across | all << 32];
    slot.opaque[..words.len()].copy_from_slice(&words);
    slot
}

#[cfg(test)]
mod tests {
    use emulator::{Argument, Buffer, Device, Dim3, Launch, Module};
    use gemm::Role;

    use super::*;

    fn copies(element: u32, [a, b]: [(u32, u32, u64); 2]) -> [Copied; 2] {
        let of = |role, (rows, columns, leading): (u32, u32, u64)| {
            let pitch = u64::from(columns * element).next_multiple_of(128) / u64::from(element);
            Copied { role, element, rows, columns, leading, pitch }
        };
        [of(Role::A, a), of(Role::B, b)]
    }

    fn bytes(slot: sys::CUtensorMap) -> Argument {
        // Of the slot, what the structure has.
        Argument::Bytes(slot.opaque.iter().take(6).flat_map(|word| word.to_le_bytes()).collect())
    }

    #[test]
    fn every_row_goes_to_the_beginning_of_a_line_and_nothing_else_is_written() {
        let module = Module::parse(COPY).unwrap();
        let shapes = [(19, 333, 333), (3, 7, 9)];
        for (element, before) in [(1, 3), (2, 6), (4, 4)] {
            for copies in [copies(element, shapes).to_vec(), copies(element, shapes)[..1].to_vec()] {
                let mut device = Device::new();
                let (offsets, room) = offsets(&copies);
                let to = device.alloc("room", room as usize);
                let there = device.address(to).unwrap();
                let content = |i: u64| (i * 7 + i / 251) as u8;
                let mut arguments = Vec::new();
                for (copy, offset) in copies.iter().zip(&offsets) {
                    // The last row ends with its last element, and so does the buffer.
                    let size = (u64::from(copy.rows - 1) * copy.leading + u64::from(copy.columns)) * u64::from(element);
                    let from: Buffer = device.alloc("from", (before + size) as usize);
                    let all: Vec<u8> = (0..size).map(content).collect();
                    device.write_at(from, before as usize, &all).unwrap();
                    let here = device.address(from).unwrap() + before;
                    arguments.push(bytes(matrix(copy, here, there + offset)));
                }
                arguments.resize(2, bytes(sys::CUtensorMap { opaque: [0; 16] }));
                let LaunchConfig { grid_dim: (x, y, z), block_dim: (bx, by, bz), .. } = grid(&copies);
                let launch = Launch::new(Dim3 { x, y, z }, Dim3 { x: bx, y: by, z: bz }).sanitize(true);
                device.launch(&module.kernel(&entry(&copies)).unwrap(), launch, &arguments).unwrap();
                for (copy, offset) in copies.iter().zip(&offsets) {
                    let size = u64::from(copy.columns * element);
                    for row in 0..u64::from(copy.rows) {
                        let mut got = vec![0; size as usize];
                        let at = offset + row * copy.pitch * u64::from(element);
                        device.read_at(to, at as usize, &mut got).unwrap();
                        let from = row * copy.leading * u64::from(element);
                        assert!(got.iter().zip(from..).all(|(&byte, i)| byte == content(i)), "{copy:?}, row {row}");
                        let behind = (copy.pitch * u64::from(element) - size.next_multiple_of(4)) as usize;
                        let mut rest = vec![0; behind];
                        let unwritten = device.peek(to, (at + size.next_multiple_of(4)) as usize, &mut rest).unwrap();
                        assert_eq!(unwritten, behind, "{copy:?}, row {row}");
                    }
                }
            }
        }
    }

    #[test]
    fn c_goes_back_to_rows_of_any_length_and_nothing_else_is_written() {
        let module = Module::parse(COPY).unwrap();
        for (element, columns, leading) in [(2u32, 333u32, 333u64), (2, 7, 9), (4, 129, 130), (4, 1, 1)] {
            let pitch = u64::from(columns * element).next_multiple_of(128) / u64::from(element);
            let copy = Copied { role: Role::C, element, rows: 19, columns, leading, pitch };
            let mut device = Device::new();
            let [of, to] = [pitch, leading].map(|elements| elements as usize * element as usize);
            let content = |i: usize| (i * 7 + i / 251) as u8;
            let from = device.alloc("copy of C", 19 * of);
            device.write(from, &(0..19 * of).map(content).collect::<Vec<u8>>()).unwrap();
            // It begins between words, and ends with its last element.
            let before = element as usize;
            let c = device.alloc("C", before + 18 * to + (columns * element) as usize);
            let [here, there] = [device.address(from).unwrap(), device.address(c).unwrap() + before as u64];
            let LaunchConfig { grid_dim: (x, y, z), block_dim: (bx, by, bz), .. } = grid(&[copy]);
            let launch = Launch::new(Dim3 { x, y, z }, Dim3 { x: bx, y: by, z: bz }).sanitize(true);
            let kernel = module.kernel(&format!("copy_out_{element}")).unwrap();
            device.launch(&kernel, launch, &[bytes(matrix(&back(&copy), here, there))]).unwrap();
            for row in 0..19 {
                let mut got = vec![0; (columns * element) as usize];
                device.read_at(c, before + row * to, &mut got).unwrap();
                assert!(got.iter().zip(row * of..).all(|(&byte, i)| byte == content(i)), "{copy:?}, row {row}");
            }
            let (end, gap) = (before + (columns * element) as usize, to - (columns * element) as usize);
            for (at, bytes) in [(0, before), (end, gap)] {
                assert_eq!(device.peek(c, at, &mut vec![0; bytes]).unwrap(), bytes, "{copy:?}: what is not C's");
            }
        }
    }

    #[test]
    fn a_grid_has_the_blocks_of_both() {
        let copies = copies(2, [(5000, 65, 65), (3, 300, 300)]);
        let LaunchConfig { grid_dim, .. } = grid(&copies);
        assert_eq!(grid_dim, (625 + 2, 1, 1));
        assert_eq!(offsets(&copies), (vec![0, 5000 * 256], 5000 * 256 + 2048));
    }
}
