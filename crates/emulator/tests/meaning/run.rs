//! Runs the body of a kernel.

use emulator::{Argument, Device, DeviceError, Dim3, Fault, Launch, LaunchError, Module, Report};

/// Bytes of shared memory, `tile`, and of the local array `mine`.
pub const TILE: usize = 4096;
pub const MINE: usize = 64;

/// A kernel: `%in` and `%out` are the addresses of its buffers, `%t` is the thread's number within its block, `%block` the
/// block's within the grid. There are many registers `%p` (predicates), `%h` (16 bits), `%r`, `%f` (32), `%d` and `%e` (64).
#[derive(Clone)]
pub struct Kernel {
    pub text: String,
    pub launch: Launch,
    pub input: Vec<u8>,
    pub output_bytes: usize,
    /// So many bytes of `out` are zeros before the launch.
    pub zeros: usize,
}

/// What came out: the bytes of `out`, none where nobody wrote.
pub struct Outcome {
    pub bytes: Vec<Option<u8>>,
    pub report: Report,
}

impl Kernel {
    /// By one block of so many threads.
    pub fn new(threads: u32, body: &str) -> Kernel {
        let text = format!(
            ".version 8.6\n.target sm_90\n.address_size 64\n.shared .align 128 .b8 tile[{TILE}];\n\
             .visible .entry k(.param .u64 a, .param .u64 b)\n{{\n.reg .pred %p<16>; .reg .b16 %h<32>; .reg .b32 %r<128>, %t, %block;\n\
             .reg .f32 %f<64>; .reg .b64 %d<128>, %in, %out; .reg .f64 %e<64>;\n.local .align 16 .b8 mine[{MINE}];\n\
             ld.param.u64 %in, [a];\nld.param.u64 %out, [b];\nmov.u32 %t, %tid.y;\nmov.u32 %block, %ntid.x;\n\
             mov.u32 %r0, %tid.x;\nmad.lo.u32 %t, %t, %block, %r0;\nmov.u32 %block, %ctaid.x;\n{body}\nret;\n}}\n.file 1 \"k.cu\"\n"
        );
        let launch = Launch::new(1, threads);
        Kernel { text, launch, input: vec![0; 4096], output_bytes: 4096, zeros: 0 }
    }

    pub fn launch(self, launch: Launch) -> Kernel {
        Kernel { launch, ..self }
    }

    pub fn input(self, input: Vec<u8>) -> Kernel {
        Kernel { input, ..self }
    }

    pub fn output(self, bytes: usize) -> Kernel {
        Kernel { output_bytes: bytes, ..self }
    }

    pub fn run(&self) -> Result<Outcome, Box<Fault>> {
        let parsed = Module::parse(&self.text).and_then(|module| module.kernel("k"));
        let kernel = parsed.unwrap_or_else(|error| panic!("{error}\n{}", self.text));
        let mut device = Device::new();
        let (from, to) = (device.alloc("in", self.input.len()), device.alloc("out", self.output_bytes));
        device.write(from, &self.input).expect("it has this size");
        device.write(to, &vec![0; self.zeros]).expect("it has this size");
        let report = match device.launch(&kernel, self.launch, &[Argument::Buffer(from), Argument::Buffer(to)]) {
            Ok(report) => report,
            Err(LaunchError::Fault(fault)) => return Err(fault),
            Err(error) => panic!("{error}\n{}", self.text),
        };
        let mut all = vec![0; self.output_bytes];
        let bytes = match device.read(to, &mut all) {
            Ok(()) => all.into_iter().map(Some).collect(),
            Err(DeviceError::Unwritten { .. }) => (0..self.output_bytes)
                .map(|at| {
                    let mut byte = [0];
                    device.read_at(to, at, &mut byte).ok().map(|()| byte[0])
                })
                .collect(),
            Err(error) => panic!("{error}"),
        };
        Ok(Outcome { bytes, report })
    }

    /// The first words of `out`, all of which were written.
    pub fn words(&self, count: usize) -> Vec<u32> {
        let outcome = self.run().unwrap_or_else(|fault| panic!("{fault}\n{}", self.text));
        outcome.words(count)
    }

    pub fn fault(&self) -> Box<Fault> {
        match self.run() {
            Err(fault) => fault,
            Ok(_) => panic!("it is wrong:\n{}", self.text),
        }
    }
}

impl Outcome {
    pub fn words(&self, count: usize) -> Vec<u32> {
        let byte = |at: usize| self.bytes[at].unwrap_or_else(|| panic!("byte {at} is unwritten"));
        (0..count).map(|n| u32::from_le_bytes(std::array::from_fn(|byte_of| byte(4 * n + byte_of)))).collect()
    }
}

/// The coordinates of a thread of a block, as messages name it.
pub fn thread_at(block: Dim3, thread: u32) -> Dim3 {
    Dim3 { x: thread % block.x, y: thread / block.x % block.y, z: thread / block.x / block.y }
}
