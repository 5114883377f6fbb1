//! Choices that many rows of forms have, by the names that stand for them there.

/// Choices that many rows have.
pub(super) const SETS: &[(&str, &str)] = &[
    ("INT", "u16/s16/u32/s32/u64/s64"),
    ("ROUND", "rn/rz/rm/rp"),
    ("WHOLE", "rni/rzi/rmi/rpi"),
    ("BOOL", "and/or/xor"),
    ("ORDERED", "eq/ne/lt/le/gt/ge"),
    ("UNSIGNED", "eq/ne/lt/le/gt/ge/lo/ls/hi/hs"),
    ("FLOAT", "eq/ne/lt/le/gt/ge/equ/neu/ltu/leu/gtu/geu/num/nan"),
    ("NARROW", "f16/f16x2"),
    ("BRAIN", "bf16/bf16x2"),
    ("SHARED", "shared/shared::cta"),
    ("OWN", "shared/shared::cta/shared::cluster"),
    ("SCOPE", "cta/cluster/gpu/sys"),
    ("PREFETCH", "L2::64B/L2::128B/L2::256B"),
    ("EVICT", "L1::evict_normal/L1::evict_unchanged/L1::evict_first/L1::evict_last/L1::no_allocate"),
    ("POLICY", "L2::evict_last/L2::evict_normal/L2::evict_first/L2::evict_unchanged"),
    ("RANK", "1d/2d/3d/4d/5d"),
    ("REDUCE", "add/min/max/inc/dec/and/or/xor"),
    ("HINT", "L2::cache_hint"),
    ("ANY", "b8/u8/s8/b16/u16/s16/b32/u32/s32/f32/b64/u64/s64/f64/b128"),
    (
        "GROUP16",
        concat!(
            "m64n8k16/m64n16k16/m64n24k16/m64n32k16/m64n40k16/m64n48k16/m64n56k16/m64n64k16/m64n72k16/",
            "m64n80k16/m64n88k16/m64n96k16/m64n104k16/m64n112k16/m64n120k16/m64n128k16/m64n136k16/m64n144k16/",
            "m64n152k16/m64n160k16/m64n168k16/m64n176k16/m64n184k16/m64n192k16/m64n200k16/m64n208k16/",
            "m64n216k16/m64n224k16/m64n232k16/m64n240k16/m64n248k16/m64n256k16",
        ),
    ),
    (
        "GROUP8",
        concat!(
            "m64n8k8/m64n16k8/m64n24k8/m64n32k8/m64n40k8/m64n48k8/m64n56k8/m64n64k8/m64n72k8/m64n80k8/",
            "m64n88k8/m64n96k8/m64n104k8/m64n112k8/m64n120k8/m64n128k8/m64n136k8/m64n144k8/m64n152k8/",
            "m64n160k8/m64n168k8/m64n176k8/m64n184k8/m64n192k8/m64n200k8/m64n208k8/m64n216k8/m64n224k8/",
            "m64n232k8/m64n240k8/m64n248k8/m64n256k8",
        ),
    ),
    (
        "GROUP32",
        concat!(
            "m64n8k32/m64n16k32/m64n24k32/m64n32k32/m64n40k32/m64n48k32/m64n56k32/m64n64k32/m64n72k32/",
            "m64n80k32/m64n88k32/m64n96k32/m64n104k32/m64n112k32/m64n120k32/m64n128k32/m64n136k32/m64n144k32/",
            "m64n152k32/m64n160k32/m64n168k32/m64n176k32/m64n184k32/m64n192k32/m64n200k32/m64n208k32/",
            "m64n216k32/m64n224k32/m64n232k32/m64n240k32/m64n248k32/m64n256k32",
        ),
    ),
    (
        "GROUP_INT",
        concat!(
            "m64n8k32/m64n16k32/m64n24k32/m64n32k32/m64n48k32/m64n64k32/m64n80k32/m64n96k32/m64n112k32/",
            "m64n128k32/m64n144k32/m64n160k32/m64n176k32/m64n192k32/m64n208k32/m64n224k32/m64n240k32/",
            "m64n256k32",
        ),
    ),
    (
        "GROUP_BIT",
        concat!(
            "m64n8k256/m64n16k256/m64n24k256/m64n32k256/m64n48k256/m64n64k256/m64n80k256/m64n96k256/",
            "m64n112k256/m64n128k256/m64n144k256/m64n160k256/m64n176k256/m64n192k256/m64n208k256/m64n224k256/",
            "m64n240k256/m64n256k256",
        ),
    ),
];
