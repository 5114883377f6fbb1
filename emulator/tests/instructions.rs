//! Every instruction form gives what the PTX manual says, bit by bit (`ptx/reference.py` computes it).

#[path = "ptx/table.rs"]
mod table;

use emulator::{Argument, Device, Dim3, Launch, Module};
use table::{Form, THREADS};

fn run(form: &Form) -> Result<Vec<u8>, String> {
    let fail = |error: &dyn std::fmt::Display| format!("{}: {error}", form.name);
    let kernel = Module::parse(&form.ptx).and_then(|module| module.kernel("form")).map_err(|e| fail(&e))?;
    let mut device = Device::new();
    let (input, mut output) = (form.input_bytes(), vec![0; form.output_bytes()]);
    let (from, to) = (device.alloc("in", input.len()), device.alloc("out", output.len()));
    device.write(from, &input).map_err(|e| fail(&e))?;
    device.write(to, &output).map_err(|e| fail(&e))?;
    let launch = Launch::new(Dim3::xy(form.blocks(), 1), Dim3::xy(THREADS, 1));
    device.launch(&kernel, launch, &[Argument::Buffer(from), Argument::Buffer(to)]).map_err(|e| fail(&e))?;
    device.read(to, &mut output).map_err(|e| fail(&e))?;
    Ok(output)
}

#[test]
fn every_form_gives_what_the_manual_says() {
    let forms = table::forms();
    let wrong: Vec<String> = forms
        .iter()
        .filter_map(|form| match run(form) {
            Ok(output) => form.first_difference(&output),
            Err(error) => Some(error),
        })
        .collect();
    assert!(wrong.is_empty(), "{} of {} forms are wrong:\n{}", wrong.len(), forms.len(), wrong.join("\n"));
}
