//! What kernels say: `printf`, of which the format and its arguments lie in memory, and assertions that fail.

use crate::global::locate;
use crate::machine::lanes::{LANES, each};
use crate::machine::memory::local_access::little;
use crate::machine::state::tally::{MOST, Said};
use crate::machine::state::warp::Warp;
use crate::machine::state::worker::Worker;
use crate::printf::{Pieces, Value};
use crate::program::{CONST_WINDOW, Extended, LOCAL_WINDOW, SHARED_WINDOW, in_window};
use crate::{Fault, FaultKind, Printed};

/// Bytes of a text that is read from a kernel's memory, at most.
const LONGEST: u64 = 4096;

impl Worker<'_> {
    /// `vprintf`: reads the format's and the arguments' address, writes how many arguments there are.
    pub(crate) fn print(&mut self, warp: &mut Warp, extended: &Extended, mask: u32, at: u32) -> Result<(), Box<Fault>> {
        let [(file, format), (_, arguments)] = extended.reads[..] else { return Ok(()) };
        let mut counts = [0; LANES];
        for lane in each(mask) {
            let format = warp.wide(file, format, lane);
            let Some(format) = self.text(warp, lane, format) else {
                return Err(self.convict_call(warp, lane, at, "`printf` of a format that lies in no memory"));
            };
            let mut place = warp.wide(file, arguments, lane);
            let mut text = String::new();
            let mut missing = false;
            let pieces = Pieces::of(&format, |bytes| {
                place = place.checked_next_multiple_of(bytes).unwrap_or(u64::MAX);
                let value = self.bytes_at(warp, lane, place, bytes);
                missing |= value.is_none();
                place = place.wrapping_add(bytes);
                value.unwrap_or_default()
            });
            for piece in pieces {
                counts[lane] += u64::from(piece.value != Value::None);
                match piece.value {
                    Value::Text(address) => {
                        piece.show_text(&self.text(warp, lane, address).unwrap_or("(null)".into()), &mut text)
                    }
                    _ => piece.show(&mut text),
                }
            }
            if missing {
                return Err(self.convict_call(
                    warp,
                    lane,
                    at,
                    "`printf` with fewer arguments than its format asks for",
                ));
            }
            let said: usize = self.tally.said.iter().map(|said| said.printed.text.len().max(1)).sum();
            if said < MOST {
                let (turn, site) = (self.context.turn_of(self.block()), self.site_of(warp, lane as u32, at));
                self.tally.said.push(Said { turn, printed: Printed { text, site } });
            }
        }
        if let Some(&(file, d)) = extended.writes.first() {
            warp.set_wide(file, d, &counts, mask);
        }
        Ok(())
    }

    /// `__assertfail`: reads the addresses of message and file, the line, and the address of the function's name.
    pub(crate) fn assertion(&mut self, warp: &Warp, extended: &Extended, mask: u32, at: u32) -> Box<Fault> {
        let lane = mask.trailing_zeros() as usize;
        let value =
            |n: usize| extended.reads.get(n).map(|(file, slot)| warp.wide(*file, *slot, lane)).unwrap_or_default();
        let text = |n: usize| self.text(warp, lane, value(n)).unwrap_or("?".into());
        let what = format!("assertion `{}` failed in {}, {}:{}", text(0), text(3), text(1), value(2) as u32);
        let mut fault = self.convict_call(warp, lane, at, &what);
        fault.kind = FaultKind::Trap;
        fault.hint = Some("what the kernel asserts does not hold for this thread".into());
        fault
    }

    fn text(&self, warp: &Warp, lane: usize, address: u64) -> Option<String> {
        let mut bytes = Vec::new();
        for n in 0..LONGEST {
            match self.bytes_at(warp, lane, address.wrapping_add(n), 1)? {
                0 => break,
                byte => bytes.push(byte as u8),
            }
        }
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// So many bytes at a generic address, if they lie in memory.
    fn bytes_at(&self, warp: &Warp, lane: usize, address: u64, bytes: u64) -> Option<u64> {
        let inside = |window: u64, size: u64| {
            let at = address.wrapping_sub(window);
            Some(at).filter(|at| at.checked_add(bytes).is_some_and(|end| end <= size))
        };
        let program = self.context.program;
        if in_window(address, LOCAL_WINDOW) {
            let at = inside(LOCAL_WINDOW, self.local_end(warp, lane))? + (lane * warp.local_bytes) as u64;
            return Some(little(warp.local.get(at as usize..)?.get(..bytes as usize)?));
        }
        if in_window(address, SHARED_WINDOW) {
            let at = inside(SHARED_WINDOW + self.state.base, self.shared_bytes.into())?;
            let byte = |at: u64| self.state.shared.get(at as usize / 4).map(|word| word >> (8 * (at % 4)) & 0xff);
            return (0..bytes).rev().try_fold(0, |value, n| Some(value << 8 | u64::from(byte(at + n)?)));
        }
        if in_window(address, CONST_WINDOW) {
            let at = inside(CONST_WINDOW, program.constants.len() as u64)?;
            return Some(little(&program.constants[at as usize..][..bytes as usize]));
        }
        let (buffer, offset) = locate(address);
        let memory = self.context.memory.buffers.get(buffer)?;
        let fits = !memory.freed && offset >= 0 && offset as u64 + bytes <= memory.bytes as u64;
        let byte = |n: u64| memory.load(offset as usize + n as usize, 1);
        fits.then(|| (0..bytes).rev().fold(0, |value, n| value << 8 | byte(n)))
    }
}
