//! Calls of functions that keep a place of their own: recursive ones, and those that a pointer names.
//!
//! A function is one and the same piece of the program for all that call it, so its registers and its frame in local
//! memory are those of its last call. A lane that calls puts aside the registers that it reads later, and moves its frame
//! on; the path of its warp stays behind the call until the path of the function has come to its end.

use crate::machine::lanes::{LANES, each};
use crate::machine::state::call_stack::{Call, Saved};
use crate::machine::state::shadow::Taint;
use crate::machine::state::warp::{NOWHERE, Path, Wait, Warp};
use crate::machine::state::worker::Worker;
use crate::origin::{Origin, Place};
use crate::program::{CallSite, FRAME, File, Piece, Signature, Slot, Target};
use crate::ptx::function_at;
use crate::{Fault, FaultKind};

/// Bytes that a thread's calls may take: frames, and registers put aside. A GPU gives 1 KiB, unless a program asks for more.
const STACK: u64 = 64 << 10;

/// Names of functions that a message shows.
const NAMES: usize = 4;

impl Worker<'_> {
    /// Lanes of the present path, which is behind the call by now, call a function, or each the one to which it points.
    #[inline(never)]
    pub(crate) fn call(
        &mut self,
        warp: &mut Warp,
        mask: u32,
        (site, pointer, at): (u32, Option<Slot>, u32),
    ) -> Result<(), Box<Fault>> {
        let program = self.context.program;
        let call = &program.calls[site as usize];
        let mut groups: Vec<(u32, u32)> = Vec::new();
        match (&call.target, pointer) {
            (Target::Function(function), _) => groups.push((*function, mask)),
            (Target::Pointer(_), None) => {}
            (Target::Pointer(among), Some(pointer)) => {
                self.forbid(warp, (File::D, pointer), mask, at, "the address of a call")?;
                for lane in each(mask) {
                    let function = self.pointed(warp, lane, at, (call, among.as_deref()), pointer)?;
                    match groups.iter_mut().find(|(known, _)| *known == function) {
                        Some((_, lanes)) => *lanes |= 1 << lane,
                        None => groups.push((function, 1 << lane)),
                    }
                }
            }
        }
        if self.context.schedule.turns_round() {
            groups.reverse();
        }
        for (function, lanes) in groups {
            for lane in each(lanes) {
                self.enter(warp, lane, (site, function, at))?;
            }
            let block = program.called[function as usize].entry;
            warp.paths.push(Path { block, meet: NOWHERE, mask: lanes, wait: Wait::No });
        }
        Ok(())
    }

    /// Which function a lane's pointer names.
    fn pointed(
        &self,
        warp: &Warp,
        lane: usize,
        at: u32,
        (call, among): (&CallSite, Option<&[u32]>),
        pointer: Slot,
    ) -> Result<u32, Box<Fault>> {
        let address = warp.d[pointer as usize].0[lane];
        let number = function_at(address);
        let called = &self.context.program.called;
        let found = called.iter().position(|function| Some(function.number) == number);
        let convict = |kind, message, hint: &str| {
            let site = self.site_of(warp, lane as u32, at);
            Err(Box::new(Fault {
                kind,
                cause: None,
                message,
                site,
                other: None,
                also: Vec::new(),
                hint: Some(hint.to_string()),
            }))
        };
        let Some(index) = found else {
            let message = format!("call of {address:#x}, which is the address of no function of the module");
            let hint = "is the table of functions filled, and the index within it?";
            return convict(FaultKind::OutOfBounds, message, hint);
        };
        let function = &called[index];
        if among.is_some_and(|among| !among.contains(&function.number)) {
            let message = format!("call of `{}`, which is none of the targets that the call names", function.name);
            return convict(FaultKind::Trap, message, "`.calltargets` names every function that the pointer may be of");
        }
        if function.signature != call.signature {
            let message = format!(
                "call of `{}`, which {}, as of a function that {}",
                function.name,
                in_words(&function.signature),
                in_words(&call.signature)
            );
            return convict(FaultKind::Trap, message, "the pointer's type is that of the function to which it points");
        }
        Ok(index as u32)
    }

    /// Where the frame of the caller of a call ends for a lane.
    fn end_of_caller(&self, warp: &Warp, lane: usize, call: &CallSite) -> u64 {
        let program = self.context.program;
        match call.caller {
            Some(caller) => self.frame(warp, lane) + u64::from(program.called[caller as usize].frame),
            None => u64::from(program.local_bytes).next_multiple_of(FRAME),
        }
    }

    /// A lane enters a function.
    fn enter(&self, warp: &mut Warp, lane: usize, (site, index, at): (u32, u32, u32)) -> Result<(), Box<Fault>> {
        let program = self.context.program;
        let (call, function) = (&program.calls[site as usize], &program.called[index as usize]);
        let outer = self.frame(warp, lane);
        let inner = self.end_of_caller(warp, lane, call);
        let end = inner + u64::from(function.frame);
        let saved = warp.stacks[lane].saved.len() + call.saved.len();
        if end - u64::from(program.local_bytes).next_multiple_of(FRAME) + 8 * saved as u64
            > STACK.max(u64::from(function.frame) + 64)
        {
            return Err(self.convict_depth(warp, lane, at, index));
        }
        warp.grow_local(end as usize);
        let place = lane * warp.local_bytes + inner as usize;
        warp.local[place..][..function.frame as usize].fill(0xff);
        warp.local_written[place..][..function.frame as usize].fill(0);
        let outer = if call.caller.is_some() { outer } else { 0 };
        for Piece { outside, inside, bytes } in &call.arguments {
            warp.move_local(lane, outer + outside, inner + inside, *bytes);
        }
        for register in &call.saved {
            let saved = warp.saved(*register, lane);
            warp.stacks[lane].saved.push(saved);
        }
        warp.stacks[lane].calls.push(Call { site, function: index });
        warp.d[program.frame as usize].0[lane] = inner;
        self.forget_registers(warp, lane, &function.unset);
        Ok(())
    }

    /// Registers that some way through a function reads before it sets them hold zero, and nobody set them.
    fn forget_registers(&self, warp: &mut Warp, lane: usize, unset: &[(File, Slot)]) {
        for (file, slot) in unset {
            warp.restore((*file, *slot), lane, Saved::default());
            if self.context.sanitize {
                let program = self.context.program;
                let taint = warp.taint.get_or_insert_with(|| Box::new(Taint::new(program)));
                let thread = warp.number * LANES as u32 + lane as u32;
                let origin = Origin { place: Place::Register, at: u32::MAX, thread, block: self.state.block };
                let origin = taint.note(origin);
                let bytes = [0xf, 0xff, 1][*file as usize];
                taint.set(*file, *slot, lane, (bytes, false), origin);
            }
        }
    }

    /// Lanes of the present path are at the end of a function: they go on behind its call, where a path below has them.
    #[inline(never)]
    pub(crate) fn leave(&mut self, warp: &mut Warp, mask: u32) {
        let program = self.context.program;
        for lane in each(mask) {
            let Some(Call { site, .. }) = warp.stacks[lane].calls.pop() else { continue };
            let call = &program.calls[site as usize];
            let inner = self.frame(warp, lane);
            let outer = match call.caller {
                Some(caller) => inner - u64::from(program.called[caller as usize].frame),
                None => 0,
            };
            warp.d[program.frame as usize].0[lane] = outer;
            for Piece { outside, inside, bytes } in &call.results {
                warp.move_local(lane, inner + inside, outer + outside, *bytes);
            }
            for register in call.saved.iter().rev() {
                if let Some(saved) = warp.stacks[lane].saved.pop() {
                    warp.restore(*register, lane, saved);
                }
            }
        }
        warp.paths.pop();
    }

    fn convict_depth(&self, warp: &Warp, lane: usize, at: u32, next: u32) -> Box<Fault> {
        let called = &self.context.program.called;
        let calls = &warp.stacks[lane].calls;
        let mut names: Vec<&str> = vec![&called[next as usize].name];
        for call in calls.iter().rev() {
            let name = called[call.function as usize].name.as_str();
            names.push(name);
            if name == names[0] || names.len() > NAMES {
                break;
            }
        }
        names.reverse();
        let message = format!(
            "the calls are {} deep ({}), and need more than {STACK} bytes of stack",
            calls.len() + 1,
            names.join(" calls ")
        );
        let site = self.site_of(warp, lane as u32, at);
        let hint = "does the recursion end for this thread? a GPU gives each 1024 bytes of stack, unless the program sets \
                    cudaLimitStackSize";
        Box::new(Fault {
            kind: FaultKind::OutOfBounds,
            cause: None,
            message,
            site,
            other: None,
            also: Vec::new(),
            hint: Some(hint.to_string()),
        })
    }
}

/// `takes 4 and 8 bytes and gives back 4`.
fn in_words(signature: &Signature) -> String {
    let list = |sizes: &[u64]| match sizes {
        [] => "nothing".to_string(),
        sizes => sizes.iter().map(u64::to_string).collect::<Vec<_>>().join(" and ") + " bytes",
    };
    format!("takes {} and gives back {}", list(&signature.arguments), list(&signature.results))
}
