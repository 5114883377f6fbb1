//! Every instruction form gives what the PTX manual says, bit by bit (`ptx/reference.py` computes it).

#[allow(dead_code)]
#[path = "ptx/table.rs"]
mod table;

#[test]
fn every_form_gives_what_the_manual_says() {
    let forms = table::forms();
    let wrong: Vec<String> = forms
        .iter()
        .filter_map(|form| match form.emulate(form.blocks(), &form.input_bytes()) {
            Ok(output) => form.first_difference(&output),
            Err(error) => Some(error),
        })
        .collect();
    assert!(wrong.is_empty(), "{} of {} forms are wrong:\n{}", wrong.len(), forms.len(), wrong.join("\n"));
}

#[test]
fn every_form_runs_on_whatever_it_is_given() {
    let broken: Vec<String> =
        table::forms().iter().filter_map(|form| form.emulate(8, &form.generated_bytes(8)).err()).collect();
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}
