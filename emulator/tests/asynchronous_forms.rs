//! Barriers in shared memory, bulk copies and their fences, and what blocks of a cluster do together: which forms there are, on
//! which GPUs, as ptxas has it. Each line of `tests/data/asynchronous-forms.txt` and of `cluster-forms.txt` says whether ptxas 13.0 takes an instruction for `sm_80`, and for `sm_90`.

use emulator::Module;

const FORMS: [&str; 2] = [include_str!("data/asynchronous-forms.txt"), include_str!("data/cluster-forms.txt")];

fn is_taken(target: &str, instruction: &str) -> bool {
    let text = format!(
        ".version 9.0\n.target {target}\n.address_size 64\n.visible .entry form(.param .align 64 .b8 in[128])\n{{\n\
         .shared .align 128 .b8 s[1024];\n.reg .pred p<4>; .reg .b16 h<4>; .reg .b32 r<8>; .reg .b64 x<8>; .reg .f32 f<4>; .reg .f64 d<4>;\n\
         {instruction}\nret;\n}}\n"
    );
    Module::parse(&text).and_then(|module| module.kernel("form").map(drop)).is_ok()
}

#[test]
fn the_emulator_takes_what_ptxas_takes() {
    let (mut wrong, mut count) = (Vec::new(), 0);
    for line in FORMS.iter().flat_map(|table| table.lines()).filter(|line| !line.starts_with('#')) {
        let [ampere, hopper, instruction] = line.splitn(3, ' ').collect::<Vec<_>>()[..] else { panic!("{line}") };
        for (target, takes) in [("sm_80", ampere), ("sm_90", hopper)] {
            count += 1;
            if is_taken(target, instruction) != (takes == "1") {
                wrong.push(format!("{target}: `{instruction}` is {}", if takes == "1" { "refused" } else { "taken" }));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {count}:\n{}", wrong.len(), wrong.join("\n"));
    assert!(count > 600, "{count}");
}
