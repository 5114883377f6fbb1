//! From PTX to what an SM issues: a guess at what the assembler makes of it.
//!
//! Machine code is not what PTX says, instruction by instruction. What is known to differ is done here, and no more:
//!
//! - Moves, casts of addresses and loads of parameters cost nothing: the assembler renames registers and reads
//!   constants in place.
//! - A product or shift that only an addition needs is one instruction with it; so are comparisons that are combined.
//! - A branch over a few instructions becomes a guard of these. Under a guard, a pointer that is a parameter is loaded anew;
//!   guards that were decided before the loop wait as bits of a register, and come back through one predicate.
//! - Between two barriers, or two turns of a loop, instructions come in the order that hides latencies the best, as
//!   far as the
//!   registers reach: loads first, then what needs them. Addresses that are computed before the loop keep registers.

use std::collections::HashMap;

use emulator::Class;
use emulator::stream::{Code, Executed, Register, Stream};

use crate::figures::Figures;
use crate::ops::Node;
pub use crate::ops::{Kind, Op};
use crate::place::{ends_region, place};

/// What comes of an instruction of PTX.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Made {
    /// Nothing: its result is what it reads.
    Nothing,
    /// So many instructions.
    Some(Kind, u32),
    /// One that an addition takes in.
    Factor(Kind),
}

fn made(code: &Code) -> Made {
    use Kind::*;
    let op = &*code.opcode;
    let starts = |word: &str| op.starts_with(word);
    match code.class {
        _ if op.ends_with(".pred") && !starts("mov") && !starts("setp") => Made::Nothing,
        _ if starts("cp.async.commit") => Made::Some(Commit, 1),
        _ if starts("cp.async.wait") => Made::Some(Wait(code.pending.unwrap_or(0)), 1),
        _ if starts("cp.async") => Made::Some(Copy, 1),
        Some(Class::FmaF32) => Made::Some(Fma, 1),
        Some(Class::FloatF32) => match starts("div") || starts("rcp") || starts("sqrt") || starts("ex2") {
            true => Made::Some(Special, 1),
            false => Made::Some(Fma, 1),
        },
        Some(Class::FmaF64 | Class::FloatF64) => Made::Some(Fp64, 1),
        Some(Class::Tensor) => Made::Some(Tensor, 1),
        Some(Class::Integer) => match op {
            _ if starts("mul.wide") || starts("shl.b32") || starts("mul.lo.s32") => Made::Factor(Alu),
            _ if starts("div") || starts("rem") => Made::Some(Alu, 16),
            _ => Made::Some(Alu, 1),
        },
        Some(Class::Compare) => Made::Some(Alu, 1),
        Some(Class::Convert) => match op.contains("f64") || op.contains("f32") {
            true => Made::Some(Special, 1),
            false => Made::Nothing,
        },
        Some(Class::Move) => match starts("shfl") || starts("vote") {
            true => Made::Some(Special, 1),
            false => Made::Nothing,
        },
        Some(Class::GlobalLoad) => Made::Some(GlobalLoad, 1),
        Some(Class::GlobalStore | Class::Atomic) => Made::Some(GlobalStore, 1),
        Some(Class::SharedLoad) => Made::Some(SharedLoad, 1),
        Some(Class::SharedStore) => Made::Some(SharedStore, 1),
        Some(Class::OtherMemory) => Made::Nothing,
        Some(Class::Branch) if starts("ret") || starts("exit") => Made::Some(Branch, 1),
        Some(Class::Branch) => {
            if code.back {
                Made::Some(Branch, 1)
            } else {
                Made::Nothing
            }
        }
        Some(Class::Barrier) if starts("bar") => Made::Some(Barrier, 1),
        Some(Class::Barrier) => Made::Nothing,
        Some(_) | None => Made::Nothing,
    }
}

/// What one warp issues, in order.
pub fn assemble(stream: &Stream, warp: &[Executed], registers: u32, figures: &Figures) -> Vec<Op> {
    let made: Vec<Made> = stream.code.iter().map(made).collect();
    let mut nodes: Vec<Node> = Vec::with_capacity(warp.len());
    let mut uses: Vec<u32> = Vec::with_capacity(warp.len());
    let mut writers: HashMap<Register, Vec<u32>> = HashMap::new();
    // The predicates of the last branch that became a guard.
    let mut guard: Vec<u32> = Vec::new();
    // Where the region begins, and the last access under a guard from another one.
    let (mut region, mut unpacked, mut bits) = (0, None, false);
    for executed in warp {
        let code = &stream.code[executed.code as usize];
        let mut needs: Vec<u32> = Vec::new();
        // It reads what is known from the start, for instance a parameter.
        let mut constant = false;
        for register in &code.reads {
            let from = writers.get(register).map(Vec::as_slice);
            constant |= from.is_some_and(<[u32]>::is_empty);
            for &writer in from.unwrap_or_default() {
                if !needs.contains(&writer) {
                    needs.push(writer);
                }
            }
        }
        let (kind, times, factor) = match made[executed.code as usize] {
            Made::Nothing => {
                if code.class == Some(Class::Branch) {
                    // What was decided in another region waits as a bit of a register, and all bits come back through one
                    // predicate.
                    let old = |need: &u32| (*need as usize) < region && nodes[*need as usize].predicates > 0;
                    if needs.iter().any(old) {
                        let bit =
                            Node { needs, after: unpacked, predicates: 1, ..Node::new(Kind::Guard, executed.code) };
                        nodes.push(bit);
                        uses.push(1);
                        needs = vec![nodes.len() as u32 - 1];
                        bits = true;
                    } else {
                        bits = false;
                    }
                    for &need in &needs {
                        if nodes[need as usize].predicates > 0 {
                            nodes[need as usize].kind = Kind::Guard;
                        }
                    }
                    guard = needs;
                    continue;
                }
                for register in &code.writes {
                    writers.insert(*register, needs.clone());
                }
                continue;
            }
            Made::Some(kind, times) => (kind, times, false),
            Made::Factor(kind) => (kind, 1, true),
        };
        let adds =
            code.opcode.starts_with("add.s") || code.opcode.starts_with("mad.") || code.opcode.starts_with("add.u");
        let (mut times, mut taken, mut guarded) = (times, false, false);
        // What an addition takes in.
        if adds {
            let factor = needs.iter().copied().find(|&n| nodes[n as usize].factor && uses[n as usize] == 0);
            if let Some(factor) = factor {
                taken = true;
                nodes[factor as usize].dropped = true;
                needs.retain(|n| *n != factor);
                let more = nodes[factor as usize].needs.clone();
                needs.extend(more);
                times = 1;
            }
        }
        // Under a guard, a pointer that is a parameter is loaded anew, and takes the factor in.
        if adds && times == 1 && taken && !guard.is_empty() && constant {
            nodes.push(Node { needs: guard.clone(), width: 2, ..Node::new(Kind::Parameter, executed.code) });
            uses.push(0);
            needs.push(nodes.len() as u32 - 1);
        }
        if matches!(kind, Kind::GlobalLoad | Kind::GlobalStore | Kind::Copy | Kind::SharedStore) {
            guarded = !guard.is_empty();
            needs.append(&mut guard);
        }
        needs.sort_unstable();
        needs.dedup();
        for &need in &needs {
            uses[need as usize] += 1;
        }
        let wide = |register: &Register| if register.0 & 3 == 1 { 2 } else { u32::from(register.0 & 3 == 0) };
        let data = matches!(kind, Kind::Fma | Kind::Fp64 | Kind::Tensor | Kind::GlobalLoad | Kind::SharedLoad);
        let address = kind == Kind::Alu && code.writes.iter().all(|register| wide(register) == 2);
        let width = if data || address { code.writes.iter().map(wide).sum() } else { 0 };
        let predicates = code.writes.iter().filter(|register| register.0 & 3 == 2).count() as u32;
        for n in 0..times {
            let last = n + 1 == times;
            let number = nodes.len() as u32;
            let needs = if n == 0 { needs.clone() } else { vec![number - 1] };
            nodes.push(Node {
                needs,
                touch: if last { executed.touch } else { Executed::NOTHING },
                width: if last { width } else { 0 },
                factor,
                predicates: if last { predicates } else { 0 },
                ..Node::new(kind, executed.code)
            });
            uses.push(0);
        }
        if guarded && bits {
            unpacked = Some(nodes.len() as u32 - 1);
        }
        if ends_region(kind) {
            (region, unpacked) = (nodes.len(), None);
        }
        for register in &code.writes {
            writers.insert(*register, vec![nodes.len() as u32 - 1]);
        }
    }
    for (node, uses) in nodes.iter_mut().zip(uses) {
        if uses == 0 {
            (node.width, node.predicates) = (0, 0);
        }
    }
    unroll(&mut nodes);
    place(&nodes, registers, figures)
}

/// Turns of a short loop that become one.
const UNROLLED: usize = 4;
/// Instructions of a loop that is short.
const SHORT: usize = 48;

/// Takes the branches between turns of short loops away.
fn unroll(nodes: &mut [Node]) {
    let (mut since, mut turns) = (0, 1);
    for node in nodes {
        match node.kind {
            Kind::Barrier => (since, turns) = (0, 1),
            Kind::Branch if since <= SHORT && turns < UNROLLED => {
                node.dropped = true;
                (since, turns) = (0, turns + 1);
            }
            Kind::Branch => (since, turns) = (0, 1),
            _ if node.dropped => {}
            _ => since += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::H200;
    use emulator::{Argument, Device, Launch, Module};

    /// What a warp issues of a kernel that copies an element for each thread, with `lines` before the copy.
    fn copied(lines: &str) -> Vec<Kind> {
        let ptx = format!(
            ".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry copy(.param .u64 p, .param .u32 n) {{\n\
             .reg .pred %p<3>;\n.reg .b32 %r<4>;\n.reg .f32 %f<2>;\n.reg .b64 %rd<5>;\n\
             ld.param.u64 %rd1, [p];\nld.param.u32 %r1, [n];\ncvta.to.global.u64 %rd2, %rd1;\nmov.u32 %r2, %tid.x;\n{lines}\
             mul.wide.s32 %rd3, %r2, 4;\nadd.s64 %rd4, %rd2, %rd3;\nld.global.f32 %f1, [%rd4];\nst.global.f32 [%rd4], %f1;\n\
             L:\nret;\n}}\n"
        );
        let kernel = Module::parse(&ptx).unwrap().kernel("copy").unwrap();
        let mut device = Device::new();
        let buffer = device.alloc("p", 128);
        device.write(buffer, &[0; 128]).unwrap();
        let arguments = [Argument::Buffer(buffer), Argument::U32(32)];
        let stream = device.record(&kernel, Launch::new(1, 32), &arguments, |_| true).unwrap();
        assemble(&stream, &stream.blocks[0].warps[0], 64, &H200).iter().map(|op| op.kind).collect()
    }

    #[test]
    fn under_a_guard_a_pointer_is_loaded_anew() {
        let always = copied("");
        assert_eq!(always, [Kind::Alu, Kind::GlobalLoad, Kind::GlobalStore]);
        let guard = "setp.ge.s32 %p1, %r2, %r1;\n@%p1 bra L;\n";
        let guarded = [Kind::Guard, Kind::Parameter, Kind::Alu, Kind::GlobalLoad, Kind::GlobalStore];
        assert_eq!(copied(guard), guarded);
        // A condition of another region comes back as a bit of a register.
        let (condition, branch) = guard.split_at(guard.find('@').unwrap());
        let back = copied(&format!("{condition}bar.sync 0;\n{branch}"));
        assert_eq!(back, [[Kind::Alu, Kind::Barrier].as_slice(), guarded.as_slice()].concat());
    }
}
