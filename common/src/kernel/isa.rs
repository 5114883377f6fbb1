//! What instructions need: the PTX version and the architecture that have them first, by a table.
//!
//! A driver refuses PTX of a version that it does not know, whatever stands in it, and a compiler writes its own version.
//! So the version is lowered to what the instructions need ([`super::lower`]). The table has a row for each that needs
//! more than [`FLOOR`]. Instructions of the floor are known by their first word; one that is in neither list may need
//! anything, and then nothing is lowered.

use std::fmt;
use std::str::FromStr;

/// A version of PTX: 7.8 is that of CUDA 11.8.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Isa(pub u32, pub u32);

impl fmt::Display for Isa {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.0, self.1)
    }
}

impl FromStr for Isa {
    type Err = ();

    fn from_str(text: &str) -> Result<Isa, ()> {
        let (major, minor) = text.split_once('.').ok_or(())?;
        Ok(Isa(major.parse().map_err(|_| ())?, minor.parse().map_err(|_| ())?))
    }
}

/// A `.target`: `sm_75`, or `sm_90a`, whose instructions only this architecture has.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Target {
    /// 75 is `sm_75`.
    pub sm: u32,
    /// `a` or `f`, or nothing.
    pub suffix: String,
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sm_{}{}", self.sm, self.suffix)
    }
}

impl FromStr for Target {
    type Err = ();

    fn from_str(text: &str) -> Result<Target, ()> {
        let name = text.strip_prefix("sm_").ok_or(())?;
        let digits = name.len() - name.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        Ok(Target { sm: name[..digits].parse().map_err(|_| ())?, suffix: name[digits..].to_string() })
    }
}

/// The lowest version and architecture that anything is lowered to: CUDA 11.0, Pascal. Line information of inlined
/// functions needs the version.
pub const FLOOR: Needed = Needed { isa: Isa(7, 0), sm: 60, suffix: "" };

/// What an instruction needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Needed {
    /// The first version that has it.
    pub isa: Isa,
    /// The first architecture that has it.
    pub sm: u32,
    /// `a`, if no later architecture need have it.
    pub suffix: &'static str,
}

/// A row of the table: instructions that have all of `words`, in any order, among the words between their dots, the
/// special registers that they read (`%clusterid`), and their first word (a directive keeps its dot).
#[derive(Debug, Clone, Copy)]
pub struct Row {
    /// What an instruction must have; `a|b` is either.
    pub words: &'static [&'static str],
    /// What it then needs.
    pub needed: Needed,
    /// One such instruction, in registers that [`probe`] declares: a test asks ptxas about it.
    pub example: &'static str,
}

const fn row(words: &'static [&'static str], isa: Isa, sm: u32, example: &'static str) -> Row {
    Row { words, needed: Needed { isa, sm, suffix: "" }, example }
}

/// The same, for an instruction of this one architecture.
const fn only(words: &'static [&'static str], isa: Isa, sm: u32, example: &'static str) -> Row {
    Row { words, needed: Needed { isa, sm, suffix: "a" }, example }
}

/// What needs more than the floor, by architecture. A later instruction is one more row.
#[rustfmt::skip]
pub const ROWS: &[Row] = &[
    // Volta
    row(&["acquire|release|relaxed|acq_rel", "ld|st|atom|red|fence"], Isa(7, 0), 70, "ld.acquire.gpu.global.u32 r0, [g0];"),
    row(&["fence"], Isa(7, 0), 70, "fence.sc.gpu;"),
    row(&["match"], Isa(7, 0), 70, "match.any.sync.b32 r0, r1, 0xffffffff;"),
    row(&["nanosleep"], Isa(7, 0), 70, "nanosleep.u32 100;"),
    row(&["wmma"], Isa(7, 0), 70, ""),
    row(&["dp4a|dp2a"], Isa(7, 0), 61, "dp4a.s32.s32 r0, r1, r2, r3;"),
    row(&["L1::no_allocate|L1::evict_first|L1::evict_last|L1::evict_unchanged|L1::evict_normal"], Isa(7, 4), 70, "ld.global.L1::no_allocate.u32 r0, [g0];"),
    row(&["atom|red", "f16"], Isa(7, 0), 70, "atom.global.add.noftz.f16 h0, [g0], h1;"),
    // Turing
    row(&["mma"], Isa(7, 0), 75, ""),
    row(&["ldmatrix"], Isa(7, 0), 75, "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {r0}, [a0];"),
    row(&["tanh"], Isa(7, 0), 75, "tanh.approx.f32 f0, f1;"),
    row(&["ex2", "f16|f16x2"], Isa(7, 0), 75, ""),
    row(&["L2::64B|L2::128B"], Isa(7, 4), 75, "ld.global.L2::128B.u32 r0, [g0];"),
    // Ampere
    row(&["cp", "async"], Isa(7, 0), 80, "cp.async.ca.shared.global [a0], [g0], 16;"),
    row(&["mma", "m16n8k4|m16n8k8|m16n8k16|m16n8k32|m16n8k64|m16n8k128|m16n8k256|f64"], Isa(7, 0), 80,
        "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {d0, d1}, {d2}, {d3}, {d0, d1};"),
    row(&["mma", "sp"], Isa(7, 1), 80, ""),
    row(&["wmma", "f64|bf16|tf32"], Isa(7, 0), 80, ""),
    row(&["redux"], Isa(7, 0), 80, "redux.sync.add.s32 r0, r1, 0xffffffff;"),
    row(&["mbarrier"], Isa(7, 0), 80, "mbarrier.init.shared.b64 [a0], 1;"),
    row(&["tf32"], Isa(7, 0), 80, "cvt.rna.tf32.f32 r0, f0;"),
    row(&["bf16|bf16x2"], Isa(7, 0), 80, "cvt.rn.bf16x2.f32 r0, f0, f1;"),
    row(&["min|max", "f16|f16x2|NaN"], Isa(7, 0), 80, "max.NaN.f32 f0, f1, f2;"),
    row(&["relu"], Isa(7, 0), 80, "cvt.rn.relu.f16.f32 h0, f0;"),
    row(&["cvt", "f16x2"], Isa(7, 0), 80, "cvt.rn.f16x2.f32 r0, f0, f1;"),
    row(&["xorsign"], Isa(7, 2), 86, "max.xorsign.abs.f32 f0, f1, f2;"),
    row(&["cvt", "f32", "bf16"], Isa(7, 1), 80, "cvt.f32.bf16 f0, h0;"),
    row(&["createpolicy"], Isa(7, 4), 80, "createpolicy.fractional.L2::evict_last.b64 x0, 1.0;"),
    row(&["L2::cache_hint"], Isa(7, 4), 80, "ld.global.L2::cache_hint.u32 r0, [g0], x0;"),
    row(&["L2::256B"], Isa(7, 4), 80, "ld.global.L2::256B.u32 r0, [g0];"),
    row(&["discard|applypriority"], Isa(7, 4), 80, "discard.global.L2 [g0], 128;"),
    row(&["noinc"], Isa(7, 0), 80, ""),
    // Ada
    row(&["e4m3x2|e5m2x2"], Isa(8, 1), 89, "cvt.rn.satfinite.e4m3x2.f32 h0, f0, f1;"),
    row(&["mma", "e4m3|e5m2"], Isa(8, 4), 89, ""),
    // Hopper
    row(&["mma", "f64", "m16n8k4|m16n8k8|m16n8k16"], Isa(7, 8), 90,
        "mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 {d0, d1, d2, d3}, {d0, d1}, {d2}, {d0, d1, d2, d3};"),
    row(&["add|sub|mul|atom|red|tanh|ex2", "bf16|bf16x2"], Isa(7, 8), 90, "add.bf16x2 r0, r1, r2;"),
    row(&["atom|red", "v2|v4|v8"], Isa(8, 1), 90, "red.global.add.v2.f32 [g0], {f0, f1};"),
    row(&["cvt", "tf32", "rn|rz"], Isa(7, 8), 90, "cvt.rn.tf32.f32 r0, f0;"),
    row(&["cvt", "bf16", "f16|s8|u8|s16|u16|s32|u32|s64|u64|f64"], Isa(7, 8), 90, "cvt.rn.bf16.s32 h0, r0;"),
    row(&["stmatrix"], Isa(7, 8), 90, "stmatrix.sync.aligned.m8n8.x1.shared.b16 [a0], {r0};"),
    row(&["mapa|getctarank"], Isa(7, 8), 90, "mapa.shared::cluster.u32 r0, a0, r1;"),
    row(&["shared::cta"], Isa(7, 8), 60, "ld.shared::cta.u32 r0, [a0];"),
    row(&["shared::cluster|cluster"], Isa(7, 8), 90, "ld.shared::cluster.u32 r0, [a0];"),
    row(&["barrier", "cluster"], Isa(7, 8), 90, "barrier.cluster.arrive.aligned;"),
    row(&["mbarrier", "try_wait"], Isa(7, 8), 90, "mbarrier.try_wait.shared.b64 p0, [a0], x0;"),
    row(&["mbarrier", "expect_tx|complete_tx"], Isa(8, 0), 90, "mbarrier.arrive.expect_tx.shared.b64 x0, [a0], 64;"),
    row(&["griddepcontrol"], Isa(7, 8), 90, "griddepcontrol.wait;"),
    row(&["%clusterid|%nclusterid|%cluster_ctaid|%cluster_nctaid|%cluster_ctarank|%cluster_nctarank|%is_explicit_cluster"],
        Isa(7, 8), 90, "mov.u32 r0, %cluster_ctarank;"),
    row(&[".reqnctapercluster|.explicitcluster|.maxclusterrank"], Isa(7, 8), 90, ""),
    row(&["elect"], Isa(8, 0), 90, "elect.sync r0|p0, 0xffffffff;"),
    row(&["cp", "async", "bulk"], Isa(8, 0), 90, "cp.async.bulk.commit_group;"),
    row(&["proxy"], Isa(8, 0), 90, ""),
    row(&["fence", "proxy|async|mbarrier_init"], Isa(8, 0), 90, "fence.proxy.async;"),
    row(&["prefetch", "tensormap"], Isa(8, 0), 90, "prefetch.tensormap [g0];"),
    row(&["st|red", "async"], Isa(8, 1), 90, ""),
    row(&["multimem"], Isa(8, 1), 90, "multimem.ld_reduce.relaxed.gpu.global.add.u32 r0, [g0];"),
    only(&["setmaxnreg"], Isa(8, 0), 90, "setmaxnreg.inc.sync.aligned.u32 240;"),
    only(&["wgmma"], Isa(8, 0), 90, "wgmma.fence.sync.aligned;"),
    only(&["tensormap", "replace"], Isa(8, 3), 90, ""),
    // Blackwell
    row(&["f32x2"], Isa(8, 6), 100, "add.f32x2 x0, x1, x2;"),
    row(&["ld|st", "v8"], Isa(8, 8), 100, "ld.global.v8.b32 {r0, r1, r2, r3, r4, r5, r6, r7}, [g0];"),
    row(&["st", "bulk"], Isa(8, 6), 100, ""),
    only(&["e2m1x2|e2m3x2|e3m2x2|ue8m0x2"], Isa(8, 6), 100, ""),
    row(&["clusterlaunchcontrol"], Isa(8, 6), 100, ""),
    only(&["tcgen05"], Isa(8, 6), 100, "tcgen05.wait::ld.sync.aligned;"),
    // Any architecture
    row(&["bmsk|szext"], Isa(7, 6), 70, "szext.wrap.s32 r0, r1, r2;"),
    row(&["cvta", "param"], Isa(7, 7), 70, "cvta.param.u64 x0, x1;"),
    row(&["param::entry|param::func"], Isa(8, 3), 60, "ld.param::entry.u64 x0, [p];"),
    row(&["b128"], Isa(8, 3), 70, ""),
];

/// First words of what the floor has already, as far as no row says more.
#[rustfmt::skip]
pub const KNOWN: &[&str] = &[
    "abs", "activemask", "add", "addc", "and", "atom", "bar", "barrier", "bfe", "bfi", "bfind", "bra", "brev",
    "brkpt", "brx", "call", "clz", "cnot", "copysign", "cos", "cvt", "cvta", "div", "ex2", "exit", "fma", "fns",
    "isspacep", "istypep", "ld", "ldu", "lg2", "lop3", "mad", "mad24", "madc", "max", "membar", "min", "mov", "mul",
    "mul24", "neg", "not", "or", "pmevent", "popc", "prefetch", "prefetchu", "prmt", "rcp", "red", "rem", "ret",
    "rsqrt", "sad", "selp", "set", "setp", "shf", "shfl", "shl", "shr", "sin", "slct", "sqrt", "st", "sub", "subc",
    "testp", "trap", "vote", "xor", "tex", "tld4", "txq", "suld", "sust", "sured", "suq",
];

/// What an instruction needs, by its words; nothing, if it is in neither list. A directive, whose word has a dot before
/// it, is of the floor unless a row says more.
pub fn needs(words: &[&str]) -> Option<Needed> {
    let has = |alternatives: &str| alternatives.split('|').any(|word| words.contains(&word));
    let mut rows = ROWS.iter().filter(|row| row.words.iter().all(|alternatives| has(alternatives))).peekable();
    let known = |word: &&str| word.starts_with('.') || KNOWN.contains(word);
    if rows.peek().is_none() && !words.first().is_some_and(known) {
        return None;
    }
    Some(rows.fold(FLOOR, |most, row| most.and(row.needed)))
}

impl Needed {
    /// What two need together.
    pub fn and(self, other: Needed) -> Needed {
        // An architecture's own instructions bind to it, whatever the other needs of an earlier one.
        let suffix = if other.suffix.is_empty() { self.suffix } else { other.suffix };
        Needed { isa: self.isa.max(other.isa), sm: self.sm.max(other.sm), suffix }
    }
}

/// A module whose one kernel has this instruction, for ptxas to judge.
pub fn probe(instruction: &str, isa: Isa, target: &str) -> String {
    format!(
        ".version {isa}\n.target {target}\n.address_size 64\n.visible .entry probe(.param .u64 p)\n{{\n.reg .pred p<4>;\n\
         .reg .b16 h<4>;\n.reg .b32 r<8>;\n.reg .f32 f<4>;\n.reg .b64 x<4>;\n.reg .b64 g<2>;\n.reg .b32 a<2>;\n\
         .reg .f64 d<8>;\n.shared .align 16 .b8 s[1024];\nld.param.u64 g0, [p];\nmov.u32 a0, s;\nmov.b64 x1, p;\n\
         {instruction}\nret;\n}}\n"
    )
}

/// The PTX version of each CUDA version from 11.0 on; between them it is that of the one before.
#[rustfmt::skip]
const BY_CUDA: &[(u32, Isa)] = &[
    (11000, Isa(7, 0)), (11010, Isa(7, 1)), (11020, Isa(7, 2)), (11030, Isa(7, 3)), (11040, Isa(7, 4)), (11050, Isa(7, 5)),
    (11060, Isa(7, 6)), (11070, Isa(7, 7)), (11080, Isa(7, 8)), (12000, Isa(8, 0)), (12010, Isa(8, 1)), (12020, Isa(8, 2)),
    (12030, Isa(8, 3)), (12040, Isa(8, 4)), (12050, Isa(8, 5)), (12070, Isa(8, 6)), (12080, Isa(8, 7)), (12090, Isa(8, 8)),
    (13000, Isa(9, 0)), (13010, Isa(9, 1)), (13020, Isa(9, 2)),
];

/// The newest PTX version that a driver of this CUDA version (12040 is 12.4) is known to take. Of a driver newer than the
/// table, it is the table's last.
pub fn of_cuda(version: u32) -> Option<Isa> {
    BY_CUDA.iter().rev().find(|(cuda, _)| *cuda <= version).map(|(_, isa)| *isa)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_and_targets_are_read_as_they_are_written() {
        for text in ["sm_75", "sm_90a", "sm_100f"] {
            assert_eq!(text.parse::<Target>().unwrap().to_string(), text);
        }
        assert!("7.10".parse::<Isa>().unwrap() > "7.8".parse().unwrap());
        for text in ["", "7", "7.", "7.x", "-1.0"] {
            assert!(text.parse::<Isa>().is_err(), "{text}");
        }
        assert!("compute_75".parse::<Target>().is_err() && "sm_".parse::<Target>().is_err());
    }

    #[test]
    fn a_driver_takes_the_version_of_its_cuda_and_of_those_before() {
        assert_eq!(of_cuda(12040), Some(Isa(8, 4)));
        assert_eq!(of_cuda(12065), Some(Isa(8, 5)));
        assert_eq!(of_cuda(99000), BY_CUDA.last().map(|(_, isa)| *isa));
        assert_eq!(of_cuda(10020), None);
        assert!(BY_CUDA.is_sorted_by(|a, b| a.0 < b.0 && a.1 < b.1));
    }
}
