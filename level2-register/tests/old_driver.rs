//! What a run does beside a driver that is older than its kernel, step by step.

use std::path::Path;

use device::nvrtc;
use level_tests::old_driver::{OldDriver, Said};
use level_tests::skipped;

const PROGRAM: &str = env!("CARGO_BIN_EXE_level2-register");
const SIZES: &str = "--m 40 --n 30 --k 20";
const PICKED: &str = "running on Fake card, because it answers";

fn run(driver: &OldDriver, words: &str, answers: &str, nvrtc: bool) -> Said {
    driver.run(Path::new(PROGRAM), &format!("{SIZES} {words}"), answers, nvrtc)
}

/// The `.version` and `.target` that the driver was asked for, each time.
fn asked(said: &Said) -> Vec<&str> {
    said.notes.iter().filter_map(|line| line.strip_prefix("driver: asked for ")).collect()
}

#[test]
fn what_is_shipped_runs_beside_every_driver_since_cuda_11() {
    let Some(driver) = OldDriver::build("shipped") else { return };
    for (cuda, isa, sm) in
        [("11080", "7.8", "60"), ("12000", "8.0", "70"), ("12040", "8.4", "75"), ("13000", "9.0", "90")]
    {
        let answers = format!("FAKE_CUDA={cuda} FAKE_ISA={isa} FAKE_SM={sm}");
        let said = run(&driver, "--backend cuda", &answers, false);
        said.notes_are(&[]);
        assert_eq!(asked(&said), [".version 7.0 .target sm_60"]);
        assert!(said.code == Some(0) && said.out.contains("check       right"), "{said:?}");
        assert!(said.out.contains("the driver's, CUDA 1"), "{}", said.out);
    }
}

#[test]
fn what_is_compiled_now_is_lowered_as_far_as_needed() {
    let Some(driver) = OldDriver::build("compiled") else { return };
    let Ok(compiler) = nvrtc::find() else { return skipped("no NVRTC") };
    let compiled = "--backend cuda --define BM=32 --define BN=16 --define BK=16 --define TM=4 --define TN=2";
    for (cuda, isa, sm, expected) in
        [("11080", "7.8", "75", "7.8 .target sm_75"), ("11000", "7.0", "60", "7.0 .target sm_60")]
    {
        let said = run(&driver, compiled, &format!("FAKE_CUDA={cuda} FAKE_ISA={isa} FAKE_SM={sm}"), true);
        said.notes_are(&["compiled level2-register/kernel.cu", "get the PTX lowered: .version"]);
        assert_eq!(asked(&said), [format!(".version {expected}")], "NVRTC {}", compiler.version());
        assert_eq!(said.code, Some(0), "{said:?}");
    }
}

#[test]
fn a_driver_that_refuses_gets_other_forms_and_then_the_emulator_runs() {
    let Some(driver) = OldDriver::build("refusing") else { return };
    let Ok(_) = nvrtc::find() else { return skipped("no NVRTC") };
    let refuses = "FAKE_CUDA=10020 FAKE_ISA=6.5 FAKE_SM=90";
    let steps = ["to the shipped PTX: compiling by NVRTC", "to PTX: making machine code for sm_90 by NVRTC"];

    let cubin = format!("{refuses} FAKE_CUBIN=1");
    let said = run(&driver, "--backend cuda", &cubin, true);
    said.notes_are(&steps);
    assert!(said.code == Some(0) && said.out.contains("machine code: NVRTC"), "{said:?}");

    let said = run(&driver, "", refuses, true);
    said.notes_are(&[PICKED, steps[0], steps[1], "running on the emulator, because the CUDA driver (10.2) answers"]);
    assert!(said.code == Some(0) && said.out.contains("device      emulator"), "{said:?}");

    let said = run(&driver, "--backend cuda", refuses, true);
    said.notes_are(&steps);
    let last = said.notes.iter().find(|line| line.starts_with("error: ")).expect("an error");
    assert!(said.code == Some(2) && last.contains("CUDA_ERROR_NO_BINARY_FOR_GPU to the machine code"), "{said:?}");
    assert!(said.notes.iter().any(|line| line.starts_with("hint: update the driver")), "{said:?}");
}

#[test]
fn without_a_compiler_the_emulator_is_next() {
    let Some(driver) = OldDriver::build("alone") else { return };
    let refuses = "FAKE_CUDA=10020 FAKE_ISA=6.5";
    let why = "because the CUDA driver (10.2) answers CUDA_ERROR_UNSUPPORTED_PTX_VERSION to the PTX, and there is no compiler";
    let said = run(&driver, "", refuses, false);
    said.notes_are(&[PICKED, why]);
    assert!(said.code == Some(0) && said.out.contains("device      emulator"), "{said:?}");
    assert_eq!(run(&driver, "--backend cuda", refuses, false).code, Some(2));
}
