//! Barriers in shared memory, bulk copies, also by tensor maps, their fences, and what blocks of a cluster do together: which
//! forms there are, on which GPUs, as ptxas has it. Each line of `tests/data/asynchronous-forms.txt` and of
//! `cluster-forms.txt` says whether ptxas 13.0 takes an instruction for `sm_80`, and for `sm_90`; the last ones of the
//! former, for `sm_90a`.

use emulator::{Module, PtxError};

const FORMS: [&str; 2] = [include_str!("data/asynchronous-forms.txt"), include_str!("data/cluster-forms.txt")];

fn is_taken(target: &str, instruction: &str) -> bool {
    parsed(target, instruction).is_ok()
}

fn parsed(target: &str, instruction: &str) -> Result<(), PtxError> {
    let text = format!(
        ".version 9.0\n.target {target}\n.address_size 64\n.const .align 64 .b8 cmap[128];\n\
         .global .align 64 .b8 gmap[128];\n.visible .entry form(.param .align 64 .b8 in[128])\n{{\n\
         .shared .align 128 .b8 s[1024];\n.reg .pred p<4>; .reg .b16 h<4>; .reg .b32 r<8>; .reg .b64 x<8>; .reg .f32 f<4>; .reg .s32 i<4>;\n\
         .reg .f64 d<4>; .reg .u16 u<4>; .reg .s16 q<4>;\n\
         {instruction}\nret;\n}}\n"
    );
    Module::parse(&text).and_then(|module| module.kernel("form").map(drop))
}

#[test]
fn the_emulator_takes_what_ptxas_takes() {
    let (mut wrong, mut count) = (Vec::new(), 0);
    for table in FORMS {
        let mut targets = &["sm_80", "sm_90"][..];
        for line in table.lines().skip(1) {
            if line.starts_with('#') {
                targets = &["sm_90a"];
                continue;
            }
            let columns: Vec<&str> = line.splitn(targets.len() + 1, ' ').collect();
            let (instruction, verdicts) = columns.split_last().expect("columns");
            for (target, takes) in targets.iter().zip(verdicts) {
                count += 1;
                if is_taken(target, instruction) != (*takes == "1") {
                    wrong.push(format!(
                        "{target}: `{instruction}` is {}",
                        if *takes == "1" { "refused" } else { "taken" }
                    ));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {count}:\n{}", wrong.len(), wrong.join("\n"));
    assert!(count > 600, "{count}");
}

#[test]
fn what_is_refused_is_refused_by_name() {
    let coordinates = "[x0, {r1, r2, r3}]";
    for (instruction, why) in [
        (
            format!("cp.async.bulk.tensor.3d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [r0], {coordinates}, [r3], {{h0}};"),
            "boxes for convolutions",
        ),
        (
            format!("cp.async.bulk.tensor.3d.global.shared::cta.im2col_no_offs.bulk_group {coordinates}, [r0];"),
            "boxes for convolutions",
        ),
        (
            "cp.async.bulk.tensor.2d.shared::cluster.global.tile::gather4.mbarrier::complete_tx::bytes [r0], [x0, {r1, r2, r3, r4, r5}], [r3];".into(),
            "an instruction of Blackwell",
        ),
        (
            "cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.cta_group::1 [r0], [x0, {r1}], [r3];".into(),
            "an instruction of Blackwell",
        ),
    ] {
        let said = parsed("sm_90", &instruction).unwrap_err().to_string();
        assert!(said.contains(why) && said.lines().count() == 1, "{instruction}: {said}");
    }
}

const GROUPS: &str = include_str!("data/group-forms.txt");

/// `{f*8+0}` as eight registers from `f0` on.
fn spelt_out(instruction: &str) -> String {
    let mut words = String::new();
    for (n, part) in instruction.split(['{', '}']).enumerate() {
        let numbers = part.split_once('*').and_then(|(letter, rest)| Some((letter, rest.split_once('+')?)));
        words += &match numbers.filter(|_| n % 2 == 1) {
            Some((letter, (count, first))) => {
                let (count, first): (u32, u32) = (count.parse().unwrap(), first.parse().unwrap());
                let names: Vec<String> = (first..first + count).map(|number| format!("{letter}{number}")).collect();
                format!("{{{}}}", names.join(", "))
            }
            None if n % 2 == 1 => format!("{{{part}}}"),
            None => part.to_string(),
        };
    }
    words
}

fn is_group_form_taken(target: &str, instruction: &str) -> bool {
    let text = format!(
        ".version 9.0\n.target {target}\n.address_size 64\n.visible .entry form()\n{{\n\
         .reg .pred p<4>; .reg .b32 r<256>; .reg .b64 x<8>; .reg .f32 f<256>; .reg .f16x2 m<8>; .reg .s32 i<256>;\n\
         .reg .f64 d<4>;\n{instruction}\nret;\n}}\n"
    );
    Module::parse(&text).and_then(|module| module.kernel("form").map(drop)).is_ok()
}

#[test]
fn the_emulator_takes_the_products_of_warpgroups_that_ptxas_takes() {
    let (mut wrong, mut count) = (Vec::new(), 0);
    for line in GROUPS.lines().filter(|line| !line.starts_with('#')) {
        let Some((takes, instruction)) = line.split_once(' ') else { panic!("{line}") };
        count += 1;
        if is_group_form_taken("sm_90a", &spelt_out(instruction)) != (takes == "1") {
            wrong.push(format!("`{instruction}` is {}", if takes == "1" { "refused" } else { "taken" }));
        }
        for other in ["sm_90", "sm_100a"] {
            if is_group_form_taken(other, &spelt_out(instruction)) {
                wrong.push(format!("`{instruction}` is taken for {other}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {count}:\n{}", wrong.len(), wrong.join("\n"));
    assert!(count > 400, "{count}");
}
