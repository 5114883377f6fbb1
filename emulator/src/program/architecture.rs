//! The oldest GPU that has an instruction: the notes on targets in the manual of the PTX ISA.

/// The oldest architecture (80 is `sm_80`) that has the instruction of this opcode; 0 where every GPU that is modelled has it.
pub(crate) fn oldest(opcode: &str) -> u32 {
    let parts: Vec<&str> = opcode.split('.').collect();
    let has = |word: &str| parts.contains(&word);
    let any = |words: &[&str]| words.iter().any(|word| has(word));
    let of_its_own = match parts[0] {
        "cp" if has("bulk") => 90,
        "cp" | "mbarrier" | "redux" | "discard" | "applypriority" | "createpolicy" => 80,
        "ldmatrix" | "tanh" => 75,
        "match" | "nanosleep" | "fence" | "szext" | "bmsk" => 70,
        "dp2a" | "dp4a" => 61,
        "lop3" => 50,
        "stmatrix" | "elect" | "griddepcontrol" | "mapa" | "getctarank" | "wgmma" | "setmaxnreg" => 90,
        "barrier" if has("cluster") => 90,
        "mma" => multiply(&parts),
        "cvt" => convert(&parts),
        "atom" | "red" => atomic(&parts),
        "ld" | "st" if any(&["relaxed", "acquire", "release"]) => 70,
        "add" | "sub" | "mul" | "set" | "setp" if any(&["bf16", "bf16x2"]) => 90,
        "fma" | "abs" | "neg" if any(&["bf16", "bf16x2", "relu"]) => 80,
        "add" | "sub" | "mul" | "set" | "setp" | "fma" | "abs" | "neg" if any(&["f16", "f16x2"]) => 53,
        "min" | "max" if has("xorsign") => 86,
        "min" | "max" if any(&["f16", "f16x2", "bf16", "bf16x2", "NaN"]) => 80,
        "ex2" if any(&["bf16", "bf16x2"]) => 90,
        "ex2" if any(&["f16", "f16x2"]) => 75,
        _ => 0,
    };
    // What an access asks of the caches.
    let cached = match () {
        () if any(&["L2::cache_hint", "L2::256B"]) => 80,
        () if any(&["L2::64B", "L2::128B"]) => 75,
        _ => 0,
    };
    of_its_own.max(cached)
}

/// `mma.sync`: by shape and type of the operands.
fn multiply(parts: &[&str]) -> u32 {
    let has = |word: &str| parts.contains(&word);
    match () {
        () if has("f64") => {
            if has("m8n8k4") {
                80
            } else {
                90
            }
        }
        () if has("e4m3") || has("e5m2") => 89,
        () if has("m8n8k4") => 70,
        () if has("m16n8k8") && !has("bf16") && !has("tf32") => 75,
        () if has("m8n8k16") || has("m8n8k32") || has("m8n8k128") => 75,
        _ => 80,
    }
}

/// `cvt`: f16 is as old as any, what came later is not.
fn convert(parts: &[&str]) -> u32 {
    let has = |word: &str| parts.contains(&word);
    match () {
        () if has("e4m3x2") || has("e5m2x2") => 89,
        () if has("tf32") => {
            if has("rna") {
                80
            } else {
                90
            }
        }
        () if has("bf16") => {
            if has("f32") {
                80
            } else {
                90
            }
        }
        () if has("bf16x2") || has("f16x2") || has("relu") => 80,
        _ => 0,
    }
}

/// `atom` and `red`: by type, and by what they say of order and scope.
fn atomic(parts: &[&str]) -> u32 {
    let has = |word: &str| parts.contains(&word);
    match () {
        () if has("bf16") || has("bf16x2") || has("v2") || has("v4") || has("v8") || has("b128") => 90,
        () if has("f16") || has("b16") => 70,
        () if has("relaxed") || has("acquire") || has("release") || has("acq_rel") => 70,
        () if has("f64") || has("f16x2") || has("cta") || has("sys") => 60,
        _ => 0,
    }
}
