//! What PTX has and the emulator does not run, why, and what to do instead: the book's page on the emulator has the same words.

use crate::PtxError;

/// What is done about an instruction that nobody thought of.
pub(super) const GAP: &str = "if ptxas takes it, the emulator lacks it: please report it, with this line";

/// Why something is not run, and what to do instead.
#[derive(Debug, Clone, Copy)]
pub(super) struct Refused {
    why: &'static str,
    hint: &'static str,
}

impl Refused {
    /// The error for this, which stands in a line.
    pub fn error<T>(self, line: u32, what: String) -> Result<T, PtxError> {
        let message = format!("{what} is not run: {}", self.why);
        Err(PtxError { line, message, hint: Some(self.hint) })
    }
}

/// Words of an opcode, as [`crate::isa::Row`] has them, its first one in the first place; behind `!`, one that it must not have.
type Row = (&'static [&'static str], Refused);

const fn because(why: &'static str, hint: &'static str) -> Refused {
    Refused { why, hint }
}

const BLACKWELL: Refused = because(
    "an instruction of Blackwell",
    "compile for compute_90a or older; what a kernel does on Blackwell alone is beyond the emulator",
);
const SPARSE: Refused =
    because("sparse matrices", "multiply dense ones, with the zeros written out: the sums are the same");
const VIDEO: Refused = because("instructions for video", "plain arithmetic on the bytes, with shifts and masks");
const VIDEO_OF_BYTES: Refused =
    because("instructions for video", "CUDA's `__vadd2()` and its like, for sm_50 and newer");
const TEXTURE: Refused =
    because("textures", "read the array through a plain pointer: texture units round and filter as no manual says");
const SURFACE: Refused = because("surfaces", "read and write the array through a plain pointer");
const CONVOLUTION: Refused = because("boxes for convolutions", "copy tiles, or lay the patches out as a matrix before");
const GPUS: Refused = because("memory of several GPUs", "one GPU's part, in a buffer of its own");
const HEAP: Refused =
    because("memory from the heap of the device", "hand the kernel a buffer, with a part for each thread");
const CHILDREN: Refused = because(
    "kernels that launch kernels (dynamic parallelism)",
    "launch the inner kernel from the host, as a launch of its own",
);
const ENVIRONMENT: Refused = because(
    "what the driver keeps there is not documented",
    "leave it out: of these, `grid.sync()` reads %envreg1 and %envreg2, and has them",
);
const MONITORS: Refused = because("counters of the hardware", "leave it out: the report counts what a kernel does");

/// The first that fits counts.
#[rustfmt::skip]
const ROWS: &[Row] = &[
    // What only later GPUs have
    (&["tcgen05|clusterlaunchcontrol"], BLACKWELL),
    (&["add|sub|mul|fma", "f32x2"], BLACKWELL),
    (&["ld|st", "v8|bulk"], BLACKWELL),
    (&["cvt", "rs|e2m1x2|e2m3x2|e3m2x2|ue8m0x2"], BLACKWELL),
    (&["cp", "cp_mask"], BLACKWELL),
    (&["cp", "tensor", "tile::gather4|tile::scatter4|im2col::w|im2col::w::128|cta_group::1|cta_group::2"], BLACKWELL),
    (&["ldmatrix|stmatrix", "m16n16|m8n16|m16n8"], BLACKWELL),
    (&["mma", "kind::f8f6f4|block_scale"], BLACKWELL),
    (&["redux", "f32"], BLACKWELL),
    // Numbers and registers
    (&["fma", "oob"], because("NaN as a mark of what is out of bounds", "zeros where there is nothing, and a plain `fma`")),
    (&["vadd|vsub|vabsdiff|vmin|vmax|vshl|vshr|vmad|vset"], VIDEO),
    (&["vadd2|vsub2|vavrg2|vabsdiff2|vmin2|vmax2|vset2"], VIDEO_OF_BYTES),
    (&["vadd4|vsub4|vavrg4|vabsdiff4|vmin4|vmax4|vset4"], VIDEO_OF_BYTES),
    // Memory, and what is outside of the GPU
    (&["tex|tld4|txq|istypep"], TEXTURE),
    (&["suld|sust|sured|suq"], SURFACE),
    (&["atom|red", "min|max", "v2|v4|v8"], because("vectors, but in sums", "one `atomicMin` or `atomicMax` for each element")),
    (&["multimem"], GPUS),
    (&["cp", "tensor", "im2col|im2col_no_offs"], CONVOLUTION),
    (&["alloca|stacksave|stackrestore"], because("stack memory of a size that only the run knows", "an array as long as it can get")),
    (&["brkpt"], because("stops for a debugger", "leave `__brkpt()` out, or `printf` what you want to see")),
    // Warps
    (&["shfl|vote", "!sync"], because("lanes without `.sync`, which ended with sm_70", "`__shfl_sync()` and its like, which name the lanes")),
    (&["mma|wgmma", "sp|sp::ordered_metadata"], SPARSE),
];

/// Why the emulator does not run an instruction that PTX has.
pub(super) fn refused(opcode: &[&str]) -> Option<Refused> {
    let fits = |alternatives: &str| match alternatives.strip_prefix('!') {
        Some(word) => !opcode.contains(&word),
        None => alternatives.split('|').any(|word| opcode.contains(&word)),
    };
    let is_first = |words: &[&str]| words[0].split('|').any(|word| opcode.first() == Some(&word));
    ROWS.iter().find(|(words, _)| is_first(words) && words.iter().copied().all(fits)).map(|(_, refused)| *refused)
}

/// The same of a function that the module only announces.
pub(super) fn refused_call(name: &str) -> Option<Refused> {
    match name {
        "malloc" | "free" => Some(HEAP),
        _ if name.starts_with("cuda") || name.starts_with("__cudaCDP") => Some(CHILDREN),
        _ => None,
    }
}

/// The same of a special register.
pub(super) fn refused_register(name: &str) -> Option<Refused> {
    match name {
        _ if name.starts_with("%envreg") => Some(ENVIRONMENT),
        _ if name.starts_with("%pm") => Some(MONITORS),
        _ => None,
    }
}
