//! Barriers in shared memory, bulk copies, also by tensor maps, and their fences: which forms there are, on which GPUs, as
//! ptxas has it. Each line of `tests/data/asynchronous-forms.txt` says whether ptxas 13.0 takes an instruction for `sm_80`,
//! and for `sm_90`; the last ones, for `sm_90a`.

use emulator::{Module, PtxError};

const FORMS: &str = include_str!("data/asynchronous-forms.txt");

fn is_taken(target: &str, instruction: &str) -> bool {
    parsed(target, instruction).is_ok()
}

fn parsed(target: &str, instruction: &str) -> Result<(), PtxError> {
    let text = format!(
        ".version 9.0\n.target {target}\n.address_size 64\n.const .align 64 .b8 cmap[128];\n\
         .global .align 64 .b8 gmap[128];\n.visible .entry form(.param .align 64 .b8 in[128])\n{{\n\
         .shared .align 128 .b8 s[1024];\n.reg .pred p<4>; .reg .b16 h<4>; .reg .b32 r<8>; .reg .b64 x<8>; .reg .f32 f<4>; .reg .s32 i<4>;\n\
         .reg .u16 u<4>; .reg .s16 q<4>;\n\
         {instruction}\nret;\n}}\n"
    );
    Module::parse(&text).and_then(|module| module.kernel("form").map(drop))
}

#[test]
fn the_emulator_takes_what_ptxas_takes() {
    let (mut wrong, mut count) = (Vec::new(), 0);
    let mut targets = &["sm_80", "sm_90"][..];
    for line in FORMS.lines().skip(1) {
        if line.starts_with('#') {
            targets = &["sm_90a"];
            continue;
        }
        let columns: Vec<&str> = line.splitn(targets.len() + 1, ' ').collect();
        let (instruction, verdicts) = columns.split_last().expect("columns");
        for (target, takes) in targets.iter().zip(verdicts) {
            count += 1;
            if is_taken(target, instruction) != (*takes == "1") {
                wrong.push(format!("{target}: `{instruction}` is {}", if *takes == "1" { "refused" } else { "taken" }));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {count}:\n{}", wrong.len(), wrong.join("\n"));
    assert!(count > 200, "{count}");
}

#[test]
fn what_is_refused_is_refused_by_name() {
    let coordinates = "[x0, {r1, r2, r3}]";
    for (instruction, why) in [
        (
            format!("cp.async.bulk.tensor.3d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [r0], {coordinates}, [r3], {{h0}};"),
            "only those in tiled mode are",
        ),
        (
            format!("cp.async.bulk.tensor.3d.global.shared::cta.im2col_no_offs.bulk_group {coordinates}, [r0];"),
            "only those in tiled mode are",
        ),
        (
            "cp.async.bulk.tensor.2d.shared::cluster.global.tile::gather4.mbarrier::complete_tx::bytes [r0], [x0, {r1, r2, r3, r4, r5}], [r3];".into(),
            "need .target sm_100",
        ),
        (
            "cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.cta_group::1 [r0], [x0, {r1}], [r3];".into(),
            "needs .target sm_100",
        ),
    ] {
        let said = parsed("sm_90", &instruction).unwrap_err().to_string();
        assert!(said.contains(why) && said.lines().count() == 1, "{instruction}: {said}");
    }
}
