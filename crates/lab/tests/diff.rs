//! `lab diff`: what two kernels do differently, and in which lines.

mod lab;

use lab::{lab, refused};
use serde_json::Value;

#[test]
fn what_differs_is_said_with_its_lines() {
    let output = lab("diff kernels/ladder-baseline.cu kernels/notes-shared.cu --size 64");
    assert_eq!(output.code, 0, "{output:?}");
    insta::assert_snapshot!("diff", output.stdout);
}

#[test]
fn json_has_the_same_rows() {
    let output = lab("diff kernels/ladder-baseline.cu kernels/notes-shared.cu --size 64 --json");
    let said: Value = serde_json::from_str(&output.stdout).unwrap();
    let rows = said["differs"].as_array().unwrap();
    let sectors = rows.iter().find(|row| row["what"] == "sectors of global loads").unwrap();
    let sum = |lines: &Value| lines.as_array().unwrap().iter().map(|line| line["count"].as_f64().unwrap()).sum::<f64>();
    for side in 0..2 {
        assert_eq!(sectors["values"][side].as_f64(), Some(sum(&sectors["lines"][side])), "{sectors}");
    }
    assert!(said["kernels"].as_array().unwrap().iter().all(|kernel| kernel["right"] == true));
}

#[test]
fn a_kernel_differs_from_itself_by_its_flags_alone() {
    let same = lab("diff kernels/ladder-baseline.cu kernels/ladder-baseline.cu --size 64");
    assert!(same.code == 0 && same.stdout.ends_with(": the same\n"), "{same:?}");
    let mut words = lab::command("diff --gpu a100 kernels/count-wavefronts.cu");
    let output = words.args(["--second", "--args A,B,C,34"]).output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.contains("wavefronts of shared loads"), "{said}");
}

#[test]
fn kernels_that_are_no_product_are_compared_by_their_arguments() {
    let file = "kernels/weighted-sum.cu";
    let same = lab(&format!("diff {file} {file} --arg out:f32[64]"));
    assert!(same.code == 0 && same.stdout.ends_with(": the same\n"), "{same:?}");
    assert!(
        same.stdout.contains("weighted_sum: no fault; grid (2,1), block (32,1)  in:f32[66]=range out:f32[64]"),
        "{same:?}"
    );
    let mut words = lab::command(&format!("diff {file} {file} --arg out:f32[64] --json"));
    let output = words.args(["--second", "--block 16"]).output().unwrap();
    let said: Value = serde_json::from_slice(&output.stdout).unwrap();
    let rows = said["differs"].as_array().unwrap();
    let loads = rows.iter().find(|row| row["what"] == "sectors of global loads").unwrap();
    assert!(loads["values"][0].as_f64() > loads["values"][1].as_f64() && said["shape"].is_null(), "{said}");
    refused("diff kernels/block-sum-unsynced.cu kernels/block-sum-unsynced.cu --arg n", "has a fault in every order");
}

#[test]
fn what_cannot_be_compared_is_refused() {
    refused("diff kernels/blas.cu nonesuch.cu", "cannot read nonesuch.cu");
    let mut words = lab::command("diff kernels/ladder-baseline.cu kernels/notes-shared.cu");
    let output = words.args(["--second", "--size 32"]).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(2) && said.contains("the kernels have different problems"), "{said}");
}
