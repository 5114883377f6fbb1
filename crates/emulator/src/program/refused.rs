//! What PTX has and the emulator does not run, and why: the book's page on the emulator has the same words.

/// Words of an opcode, as [`crate::isa::Row`] has them, its first one in the first place; behind `!`, one that it must not have.
type Row = (&'static [&'static str], &'static str);

const BLACKWELL: &str = "an instruction of Blackwell";
const SPARSE: &str = "sparse matrices";
const WIDE: &str = "registers of 128 bits";

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
    (&["mov|ld|st|atom", "b128"], WIDE),
    (&["rcp|rsqrt", "approx", "f64"], "coarse results in f64"),
    (&["fma", "oob"], "NaN as a mark of what is out of bounds"),
    (&["vadd|vsub|vabsdiff|vmin|vmax|vshl|vshr|vmad|vset"], "instructions for video"),
    (&["vadd2|vsub2|vavrg2|vabsdiff2|vmin2|vmax2|vset2"], "instructions for video"),
    (&["vadd4|vsub4|vavrg4|vabsdiff4|vmin4|vmax4|vset4"], "instructions for video"),
    // Memory, and what is outside of the GPU
    (&["tex|tld4|txq|istypep"], "textures"),
    (&["suld|sust|sured|suq"], "surfaces"),
    (&["atom|red", "min|max", "v2|v4|v8"], "vectors, but in sums"),
    (&["multimem"], "memory of several GPUs"),
    (&["cp", "tensor", "im2col|im2col_no_offs"], "boxes for convolutions"),
    (&["fence", "async::generic"], "proxy fences of one direction"),
    (&["alloca|stacksave|stackrestore"], "stack memory of a size that only the run knows"),
    (&["brkpt"], "stops for a debugger"),
    // Warps
    (&["shfl|vote", "!sync"], "lanes without `.sync`, which ended with sm_70"),
    (&["mma|wgmma", "sp|sp::ordered_metadata"], SPARSE),
    (&["movmatrix"], "a matrix transposed between lanes"),
];

/// Why the emulator does not run an instruction that PTX has.
pub(super) fn refused(opcode: &[&str]) -> Option<&'static str> {
    let fits = |alternatives: &str| match alternatives.strip_prefix('!') {
        Some(word) => !opcode.contains(&word),
        None => alternatives.split('|').any(|word| opcode.contains(&word)),
    };
    let is_first = |words: &[&str]| words[0].split('|').any(|word| opcode.first() == Some(&word));
    ROWS.iter().find(|(words, _)| is_first(words) && words.iter().copied().all(fits)).map(|(_, why)| *why)
}
