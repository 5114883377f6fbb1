//! Local memory, one piece per thread, and the read-only spaces: parameters and constants.

use crate::machine::lanes::{LANES, each};
use crate::machine::state::warp::Warp;
use crate::machine::state::worker::Worker;
use crate::machine::verdict::taint::bits;
use crate::program::{Access, LocalVariable};
use crate::{Fault, FaultKind};

impl Worker<'_> {
    pub(crate) fn access_local(
        &mut self,
        warp: &mut Warp,
        index: u32,
        mask: u32,
        load: bool,
    ) -> Result<(), Box<Fault>> {
        let access = &self.context.program.accesses[index as usize];
        let size = warp.local_bytes as u64;
        let addresses = warp.scratch.addresses.0;
        match warp.stacks.is_empty() {
            true => self.check_bounds(warp, access, mask, |_| size, "local memory")?,
            false => {
                let sizes: [u64; LANES] = std::array::from_fn(|lane| self.local_end(warp, lane));
                self.check_bounds(warp, access, mask, |lane| sizes[lane], "local memory")?;
            }
        }
        if let Some(variable) = access.of_local {
            self.check_local_variable(warp, access, mask, self.context.program.locals[variable as usize])?;
        }
        let place = |lane: usize| (lane as u64 * size + addresses[lane]) as usize;
        let bytes = access.bytes() as usize;
        if load {
            let mut unwritten = <[u32; LANES]>::default();
            for lane in each(mask) {
                let written = &warp.local_written[place(lane)..][..bytes];
                unwritten[lane] = bits(access, |byte| written[byte as usize] == 0);
            }
            for element in 0..access.elements {
                let width = access.element_bytes as usize;
                let mut out = <[u64; LANES]>::default();
                for lane in each(mask) {
                    out[lane] = little(&warp.local[place(lane) + element as usize * width..][..width]);
                }
                warp.set_loaded(access, element, &out, mask);
            }
            if self.context.sanitize && (unwritten.iter().any(|bytes| *bytes != 0) || warp.taint.is_some()) {
                self.taint_local(warp, access, mask, &unwritten);
            }
        } else {
            for lane in each(mask) {
                let (value, tainted) = (warp.stored_bytes(access, lane), self.stored_taint(warp, access, lane));
                warp.local[place(lane)..][..bytes].copy_from_slice(&value[..bytes]);
                for (byte, written) in warp.local_written[place(lane)..][..bytes].iter_mut().enumerate() {
                    *written = u8::from(tainted >> byte & 1 == 0);
                }
                for byte in (0..access.bytes()).filter(|byte| tainted >> byte & 1 == 1) {
                    if let Some(origin) = self.stored_origin(warp, access, lane, byte) {
                        warp.local_origins.insert((lane, addresses[lane] + u64::from(byte)), origin);
                    }
                }
            }
        }
        Ok(())
    }

    /// Lanes stay within the variable that their addresses derive from: behind it, and before it, others lie.
    fn check_local_variable(
        &self,
        warp: &Warp,
        access: &Access,
        mask: u32,
        variable: LocalVariable,
    ) -> Result<(), Box<Fault>> {
        let bytes = u64::from(access.bytes());
        for lane in each(mask) {
            let frame = variable.function.map_or(0, |_| self.frame(warp, lane));
            let (start, end) = (frame + u64::from(variable.start), frame + u64::from(variable.end));
            let at = warp.scratch.addresses.0[lane];
            if at < start || at + bytes > end {
                let side = if at < start { "before the start" } else { "past the end" };
                let (size, offset) = (end - start, at as i64 - start as i64);
                let what = format!("{side} of the function's local memory ({size} bytes) at offset {offset}");
                return Err(self.convict_access(warp, access, lane, FaultKind::OutOfBounds, &what));
            }
        }
        Ok(())
    }

    /// Lanes load from the kernel's parameters, or from constant memory.
    pub(crate) fn load_constant(
        &mut self,
        warp: &mut Warp,
        index: u32,
        mask: u32,
        parameters: bool,
    ) -> Result<(), Box<Fault>> {
        let context = self.context;
        let access = &context.program.accesses[index as usize];
        let (bytes, name) = match parameters {
            true => (context.parameters.as_slice(), "the kernel's parameters"),
            false => (context.constants, "constant memory"),
        };
        let addresses = warp.scratch.addresses.0;
        self.check_bounds(warp, access, mask, |_| bytes.len() as u64, name)?;
        let width = access.element_bytes as usize;
        for element in 0..access.elements {
            let mut out = <[u64; LANES]>::default();
            for lane in each(mask) {
                let at = addresses[lane] as usize + element as usize * width;
                out[lane] = little(&bytes[at..at + width]);
            }
            warp.set_loaded(access, element, &out, mask);
        }
        if warp.taint.is_some() {
            self.untaint_loaded(warp, access, mask);
        }
        Ok(())
    }

    fn check_bounds(
        &self,
        warp: &Warp,
        access: &Access,
        mask: u32,
        size: impl Fn(usize) -> u64,
        name: &str,
    ) -> Result<(), Box<Fault>> {
        let (bytes, addresses) = (u64::from(access.bytes()), &warp.scratch.addresses.0);
        for lane in each(mask) {
            let (at, size) = (addresses[lane], size(lane));
            if at.checked_add(bytes).is_none_or(|end| end > size) {
                // An address of 32 bits below 0 comes from there.
                let offset = if access.base_wide { at as i64 } else { i64::from(at as u32 as i32) };
                let side = if offset < 0 { "before the start" } else { "past the end" };
                let what = format!("{side} of {name} ({size} bytes) at offset {offset}");
                return Err(self.convict_access(warp, access, lane, FaultKind::OutOfBounds, &what));
            }
            if at % bytes != 0 {
                let what = format!("of {name} at offset {at}, which is no multiple of {bytes}");
                return Err(self.convict_access(warp, access, lane, FaultKind::Misaligned, &what));
            }
        }
        Ok(())
    }
}

/// Up to eight bytes as a number, the lowest first.
pub(crate) fn little(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte))
}
