//! What recorded thread blocks executed, for `Device::record`.

use super::warp::Warp;
use crate::program::{Exit, Extension, File, Op, Program, Role, registers};
use crate::stream::{Code, Executed, Register, Stream, Touch};

fn register(file: File, slot: u32) -> Register {
    Register(slot << 2 | file as u32)
}

/// The instructions, and behind them the ends of the program's blocks.
fn code(program: &Program) -> Vec<Code> {
    let plain = |at: usize| {
        let info = &program.info[at];
        let (mut reads, mut addresses, mut writes) = (Vec::new(), Vec::new(), Vec::new());
        if at < program.code.len() {
            for (n, (file, role, slot)) in registers(program, at as u32).into_iter().enumerate() {
                let guard = n == 0 && program.code[at].guard.is_some();
                match role {
                    Role::Write => writes.push(register(file, slot)),
                    Role::Address => addresses.push(register(file, slot)),
                    Role::Read if guard => addresses.push(register(file, slot)),
                    Role::Read => reads.push(register(file, slot)),
                }
            }
        }
        let count = addresses.len() as u32;
        addresses.append(&mut reads);
        let pending = match program.code.get(at).map(|instruction| instruction.op) {
            Some(Op::Extended(index)) => match program.extended[index as usize].what {
                Extension::WaitCopies(pending) => Some(pending.unwrap_or(0)),
                _ => None,
            },
            _ => None,
        };
        Code {
            opcode: info.opcode.clone(),
            class: info.class,
            line: info.line,
            reads: addresses,
            addresses: count,
            writes,
            pending,
            multiply_adds: info.tensor.map_or(0, |tensor| tensor.multiply_adds),
            back: false,
        }
    };
    let none = || Code {
        opcode: "".into(),
        class: None,
        line: 0,
        reads: Vec::new(),
        addresses: 0,
        writes: Vec::new(),
        pending: None,
        multiply_adds: 0,
        back: false,
    };
    let mut code: Vec<Code> = (0..program.code.len()).map(plain).collect();
    code.extend(program.blocks.iter().enumerate().map(|(number, block)| {
        let mut code = match block.exit_info {
            Some(info) => plain(info as usize),
            None => none(),
        };
        match block.exit {
            Exit::Branch { predicate, target, .. } => {
                code.reads = vec![register(File::P, predicate)];
                code.addresses = 1;
                code.back = target as usize <= number;
            }
            Exit::Jump(target) => code.back = target as usize <= number,
            _ => {}
        }
        code
    }));
    code
}

/// What is noted.
#[derive(Debug, Default)]
pub(crate) struct Recorder {
    pub stream: Stream,
    /// The thread block at hand, among the stream's.
    pub at: usize,
}

impl Recorder {
    pub fn new(program: &Program) -> Recorder {
        Recorder { stream: Stream { code: code(program), ..Stream::default() }, at: 0 }
    }

    pub fn note(&mut self, warp: &Warp, code: u32, touch: u32) {
        if let Some(block) = self.stream.blocks.get_mut(self.at) {
            block.warps[warp.number as usize].push(Executed { code, touch });
        }
    }

    pub fn touch(&mut self, touch: Touch) -> u32 {
        self.stream.touches.push(touch);
        self.stream.touches.len() as u32 - 1
    }
}
