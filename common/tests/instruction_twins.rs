//! Every instruction form gives the same bits on a GPU as on the emulator, or where the manual lets it err, those within its
//! bound: for the cases of the table, and if it is exact, for many more inputs from its generator.

#[allow(dead_code)]
#[path = "../../crates/emulator/tests/ptx/table.rs"]
mod table;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use archive::Texts;
use device::cuda::Gpu;
use hmac_sha256::Hash;
use table::{Form, THREADS};

/// Thread blocks of generated inputs.
const BLOCKS: u32 = 64;

/// What the run on a GPU said, and of which cases.
const RECORD: &str = include_str!("data/twins.txt");

#[test]
fn the_record_is_of_these_cases() {
    assert!(
        RECORD.contains(&digest()),
        "cases or forms have changed since the GPU saw them: run this test there, and record what it prints; now {}",
        digest()
    );
    assert!(RECORD.contains("every_form_gives_the_same_bits_on_a_gpu ... ok"), "the record is of a run that failed");
}

#[test]
fn the_forms_and_their_cases_are_what_the_reference_writes() {
    let python = || Command::new("python3");
    if python().arg("--version").stdout(Stdio::null()).status().is_err() {
        return level_tests::skipped("needs python3");
    }
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/emulator/tests/ptx");
    let fresh = Path::new(env!("CARGO_TARGET_TMPDIR")).join("forms");
    fs::create_dir_all(&fresh).unwrap();
    assert!(python().arg(kept.join("reference.py")).arg(&fresh).status().unwrap().success());
    let text = |path: PathBuf| fs::read_to_string(path).unwrap();
    let cases = Texts::parse(text(fresh.join("cases.txt"))).unwrap();
    assert_eq!(table::cases(), cases, "run reference.py, then `cargo x pack` on its cases.txt");
    let (kept, fresh) = (table::texts(), Texts::parse(text(fresh.join("forms.ptx"))).unwrap());
    assert!(kept.len() > 800, "{} forms", kept.len());
    let stale: Vec<&str> =
        fresh.iter().filter(|(name, text)| kept.get(name) != Some(text)).map(|(name, _)| name).collect();
    let left: Vec<&str> = kept.iter().map(|(name, _)| name).filter(|name| fresh.get(name).is_none()).collect();
    let how = "run reference.py, then `cargo x pack` on its forms.ptx";
    assert!(stale.is_empty() && left.is_empty(), "{how}: stale are {stale:?}, no form has {left:?}");
}

#[test]
fn every_form_gives_the_same_bits_on_a_gpu() {
    let gpu = match Gpu::find() {
        Ok(gpu) => gpu,
        Err(why) => {
            println!("skipped: no CUDA device ({why})");
            return;
        }
    };
    let mut differ = Vec::new();
    let mut compared = 0;
    for form in table::forms() {
        if newer_than(&form.ptx, gpu.architecture()) {
            println!("skipped: {} is for a newer GPU than {}", form.name, gpu.name());
            continue;
        }
        compared += 1;
        differ.extend(difference(&gpu, &form, form.blocks(), &form.input_bytes()));
        // Far from the table's inputs, an instruction that may err errs more.
        if form.within == 0 {
            differ.extend(difference(&gpu, &form, BLOCKS, &form.generated_bytes(BLOCKS)));
        }
    }
    assert!(differ.is_empty(), "{} of {compared} forms differ:\n{}", differ.len(), differ.join("\n"));
    println!("{compared} forms agree with {}", gpu.name());
    println!("sha256 of cases.txt and of the forms' PTX: {}", digest());
}

/// Of all that the run depends on: the cases, and the PTX of each form.
fn digest() -> String {
    let mut hash = Hash::new();
    hash.update(table::cases().get("cases.txt").expect("the archive has them"));
    for form in table::forms() {
        hash.update(&form.name);
        hash.update(&form.ptx);
    }
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

fn newer_than(ptx: &str, architecture: u32) -> bool {
    let target = ptx.lines().find_map(|line| line.strip_prefix(".target sm_")).unwrap_or("0");
    target.trim().parse::<u32>().is_ok_and(|target| target > architecture)
}

/// How many results differ between GPU and emulator, and the first that does.
fn difference(gpu: &Gpu, form: &Form, blocks: u32, input: &[u8]) -> Option<String> {
    let emulated = match form.emulate(blocks, input) {
        Ok(output) => output,
        Err(error) => return Some(error),
    };
    let measured = match gpu.run_form(&form.ptx, (blocks, THREADS), input, form.output_bytes(blocks)) {
        Ok(output) => output,
        Err(error) => return Some(format!("{}: {error}", form.name)),
    };
    let words =
        |bytes: &[u8]| bytes.chunks_exact(8).map(|w| u64::from_le_bytes(w.try_into().unwrap())).collect::<Vec<_>>();
    let (emulated, measured, input) = (words(&emulated), words(&measured), words(input));
    let places: Vec<usize> = (0..emulated.len()).filter(|&n| !form.agree(emulated[n], measured[n])).collect();
    let first = *places.first()?;
    let (thread, result) = (first / form.outputs, first % form.outputs);
    let inputs = &input[thread * form.inputs.len()..][..form.inputs.len()];
    Some(format!(
        "{}: {} of {} results, the first: {inputs:x?} gives {:x} as result {result} on the GPU, {:x} on the emulator",
        form.name,
        places.len(),
        emulated.len(),
        measured[first],
        emulated[first],
    ))
}
