//! What the variable `PTXAS` names (`cargo x matrix` sets it) assembles every shipped file, refuses an instruction that needs more
//! than is declared, and agrees with the table of what instructions need.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Once;
use std::sync::atomic::{AtomicU32, Ordering};

use device::ptxas::Ptxas;
use emulator::isa::{Isa, ROWS, Row, Target};
use gemm::kernel::lower::declared;
use gemm::kernel::{Header, Judge};
use level_tests::skipped;
use rayon::prelude::*;

#[allow(dead_code)]
#[path = "../../crates/emulator/tests/isa/table.rs"]
mod table;

const ARCHITECTURES: [u32; 11] = [60, 61, 70, 75, 80, 86, 89, 90, 100, 103, 120];

/// A ptxas, and what it knows.
struct Known {
    ptxas: Ptxas,
    isa: Isa,
    architectures: Vec<u32>,
}

fn all() -> Vec<Known> {
    let all = Ptxas::all().expect("PTXAS names what answers");
    if all.is_empty() {
        skipped("PTXAS names no ptxas: `cargo x matrix` does");
    }
    all.into_iter().map(Known::of).collect()
}

impl Known {
    fn of(ptxas: Ptxas) -> Known {
        let assembles = |isa, sm: u32| assembled(&ptxas, &probe("ret;", isa, "sm_60"), &format!("sm_{sm}")).is_ok();
        let architectures: Vec<u32> = ARCHITECTURES.into_iter().filter(|&sm| assembles(Isa(7, 0), sm)).collect();
        let one = architectures.iter().copied().find(|&sm| sm >= 75).expect("it knows an architecture");
        let isas = (7..=9).rev().flat_map(|major| (0..=9).rev().map(move |minor| Isa(major, minor)));
        let isa = isas.into_iter().find(|&isa| assembles(isa, one)).expect("it knows a version");
        Known { ptxas, isa, architectures }
    }
}

fn assembled(ptxas: &Ptxas, ptx: &str, architecture: &str) -> Result<String, String> {
    static FILES: AtomicU32 = AtomicU32::new(0);
    let number = FILES.fetch_add(1, Ordering::Relaxed);
    let file = std::env::temp_dir().join(format!("ladder-{}-{number}.ptx", std::process::id()));
    fs::write(&file, ptx).expect("the folder for temporary files is writable");
    let said = ptxas.assemble(&file, architecture, &[]);
    let _ = fs::remove_file(&file);
    said
}

/// A module whose one kernel has this instruction, in the registers that [`Row::example`] may name.
fn probe(instruction: &str, isa: Isa, target: &str) -> String {
    format!(
        ".version {isa}\n.target {target}\n.address_size 64\n.visible .entry probe(.param .u64 p)\n{{\n.reg .pred p<4>;\n\
         .reg .b16 h<4>;\n.reg .b32 r<8>;\n.reg .f32 f<4>;\n.reg .b64 x<4>;\n.reg .b64 g<2>;\n.reg .b32 a<2>;\n\
         .reg .f64 d<8>;\n.shared .align 16 .b8 s[1024];\nld.param.u64 g0, [p];\nmov.u32 a0, s;\nmov.b64 x1, p;\n\
         {instruction}\nret;\n}}\n"
    )
}

/// The shipped files: of the levels, each in a file of its own below a folder for tests, and of the lab's kernels.
fn shipped() -> Vec<(PathBuf, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the crate lies in the repository");
    let unpacked = Path::new(env!("CARGO_TARGET_TMPDIR")).join("shipped");
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let _ = fs::remove_dir_all(&unpacked);
        for kernel in levels::LEVELS.into_iter().chain(summit::KERNELS) {
            let texts = kernel.ptx.texts().expect("it is an archive");
            texts.write_below(&unpacked.join(kernel.name)).expect("the folder for tests is writable");
        }
    });
    let folders = fs::read_dir(&unpacked).expect("it was written").flatten().map(|entry| entry.path());
    let folders = folders.chain([root.join("kernels/ptx")]);
    let files = folders.flat_map(|folder| fs::read_dir(folder).expect("it can be listed")).flatten().map(|e| e.path());
    let mut files: Vec<PathBuf> = files.filter(|file| file.extension().is_some_and(|e| e == "ptx")).collect();
    files.sort();
    assert!(files.len() > 250, "only {} files: are they where they were?", files.len());
    files.into_iter().map(|file| (file.clone(), fs::read_to_string(file).expect("it can be read"))).collect()
}

/// The kernel that a file is shipped for, where a level or the summit ships it.
fn entry(file: &Path) -> Option<&'static str> {
    let of = |name: &str| levels::LEVELS.into_iter().chain(summit::KERNELS).find(|kernel| kernel.name == name);
    Some(of(file.parent()?.file_name()?.to_str()?)?.entry)
}

#[test]
fn every_shipped_file_assembles() {
    let files = shipped();
    for Known { ptxas, isa, architectures } in all() {
        let cases: Vec<(&PathBuf, Target)> = files
            .iter()
            .filter_map(|(file, ptx)| Some((file, declared(ptx)?)))
            .filter(|(_, (version, _))| *version <= isa)
            .flat_map(|(file, (_, target))| {
                let targets = architectures.iter().filter(move |&&sm| target.runs_on(sm));
                targets.map(move |&sm| (file, target.machine(sm)))
            })
            .collect();
        assert!(cases.len() > 80, "ptxas {} knows too little", ptxas.version);
        let refused: Vec<String> = cases
            .par_iter()
            .filter_map(|(file, target)| {
                let error = ptxas.assemble(file, &target.to_string(), &[]).err()?;
                Some(format!("{} for {target}: {error}", file.display()))
            })
            .collect();
        assert!(refused.is_empty(), "ptxas {}:\n{}", ptxas.version, refused.join("\n"));
        eprintln!("ptxas {}: {} assembled, sm_{:?}", ptxas.version, cases.len(), architectures);
    }
}

/// What ptxas says when a kernel gets less than it asks for: products one after the other, `setmaxnreg` ignored, a wait put in.
fn complaints(said: &str) -> Vec<&str> {
    let words = ["Potential Performance Loss", "ignored", "injected", "serialized", "warning"];
    said.lines().filter(|line| words.iter().any(|word| line.contains(word))).collect()
}

#[test]
fn kernels_for_hopper_alone_get_what_they_ask_for() {
    let files = shipped();
    let of_hopper: Vec<(&PathBuf, &str, Target)> = files
        .iter()
        .filter_map(|(file, ptx)| Some((file, ptx.as_str(), declared(ptx)?.1)))
        .filter(|(_, _, target)| !target.suffix.is_empty())
        .collect();
    assert!(of_hopper.len() > 20, "only {} files: are they where they were?", of_hopper.len());
    // Without its number of threads, a kernel's registers are not known at its entry.
    let (_, moves, target) = of_hopper.iter().find(|(_, ptx, _)| ptx.contains("setmaxnreg")).expect("level 13 has it");
    let lines: Vec<&str> = moves.lines().filter(|line| !line.starts_with(".maxntid")).collect();
    let unbounded = lines.join("\n");
    for Known { ptxas, .. } in all() {
        // An older one may not know better; what is shipped has registers by the compiler's own.
        let own: Vec<_> = of_hopper.iter().filter(|(_, ptx, _)| compiler(ptx) == ptxas.version).collect();
        if own.is_empty() {
            continue;
        }
        let says = |ptx: &str, target: &Target| assembled(&ptxas, ptx, &target.to_string()).expect("it assembles");
        let found = says(&unbounded, target);
        assert!(!complaints(&found).is_empty(), "ptxas {} would say nothing: {found}", ptxas.version);
        let slow: Vec<String> = own
            .par_iter()
            .flat_map_iter(|(file, ptx, target)| {
                let said = says(ptx, target);
                let lines = complaints(&said).into_iter().map(|line| format!("{}: {line}", file.display()));
                lines.collect::<Vec<_>>()
            })
            .collect();
        assert!(slow.is_empty(), "ptxas {}:\n{}", ptxas.version, slow.join("\n"));
        eprintln!("ptxas {}: {} kernels for Hopper alone", ptxas.version, own.len());
    }
}

/// The version of the compiler that made a shipped file.
fn compiler(ptx: &str) -> String {
    Header::of(ptx).expect("what is shipped has a header").compiler.to_string()
}

#[test]
fn headers_say_what_the_compilers_own_ptxas_says() {
    for Known { ptxas, .. } in all() {
        let wrong: Vec<String> = shipped()
            .par_iter()
            .filter_map(|(file, text)| {
                let header = Header::of(text).expect("what is shipped has a header");
                let optimization = header.options.iter().find_map(|option| option.strip_prefix("--ptxas-options=-O"));
                let optimization = optimization.and_then(|level| level.parse().ok());
                let architectures: Vec<u32> = header.resources.keys().copied().collect();
                let name = format!("{}-{}", header.source, header.body);
                let entry = entry(file);
                let needs =
                    || ptxas.needs(text, entry, &architectures, optimization, &name).expect("a file can be written");
                let own = header.compiler == ptxas.version;
                (own && (header.judge != Judge::Ptxas || needs() != header.resources))
                    .then(|| file.display().to_string())
            })
            .collect();
        assert!(wrong.is_empty(), "run `cargo x ptx`: ptxas {} says else of\n{}", ptxas.version, wrong.join("\n"));
    }
}

#[test]
fn a_file_with_a_newer_instruction_is_refused() {
    let (_, ptx) = shipped().swap_remove(0);
    let at = ptx.rfind("ret;").expect("a kernel returns");
    let plant = |instruction: &str| format!("{}{instruction}\n{}", &ptx[..at], &ptx[at..]);
    for Known { ptxas, .. } in all() {
        let says = |instruction: &str| assembled(&ptxas, &plant(instruction), "sm_90");
        says("membar.gl;").expect("what the declared version has is taken");
        for newer in ["barrier.cluster.arrive.aligned;", "cp.async.wait_all;"] {
            let error = says(newer).expect_err("the declared version does not have it");
            assert!(error.contains("requires"), "ptxas {}: {error}", ptxas.version);
        }
    }
}

#[test]
fn the_table_says_what_ptxas_says() {
    let mut wrong = Vec::new();
    for known in all() {
        let rows: Vec<&Row> =
            ROWS.iter().filter(|row| !row.example.is_empty() && row.needed.isa <= known.isa).collect();
        wrong.extend(rows.par_iter().filter_map(|row| disagreement(&known, row)).collect::<Vec<_>>());
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What ptxas says of a row's example that the row does not.
fn disagreement(known: &Known, row: &Row) -> Option<String> {
    let Known { ptxas, architectures, .. } = known;
    let needed = row.needed;
    let sm = *architectures.iter().find(|&&sm| sm >= needed.sm)?;
    if !needed.suffix.is_empty() && sm != needed.sm {
        return None;
    }
    let target = format!("sm_{}{}", needed.sm.max(ARCHITECTURES[0]), needed.suffix);
    let architecture = if needed.suffix.is_empty() { format!("sm_{sm}") } else { target.clone() };
    let says = |isa: Isa, target: &str| assembled(ptxas, &probe(row.example, isa, target), &architecture);
    let what = |how: &str| Some(format!("ptxas {}: `{}` {how}", ptxas.version, row.example));
    if let Err(error) = says(needed.isa, &target) {
        return what(&format!("is refused in {} for {target}: {error}", needed.isa));
    }
    let before = match needed.isa {
        Isa(7, 0) => None,
        Isa(major, 0) => Some(Isa(major - 1, 8)),
        Isa(major, minor) => Some(Isa(major, minor - 1)),
    };
    if before.is_some_and(|before| says(before, &target).is_ok()) {
        return what(&format!("needs no {}", needed.isa));
    }
    let lower = ARCHITECTURES.into_iter().rev().find(|&sm| sm < needed.sm).map(|sm| format!("sm_{sm}"));
    let lower = if needed.suffix.is_empty() { lower } else { Some(format!("sm_{}", needed.sm)) };
    match lower.is_some_and(|lower| says(needed.isa, &lower).is_ok()) {
        true => what(&format!("needs no {target}")),
        false => None,
    }
}

#[test]
fn the_samples_of_all_instructions_are_what_ptxas_has() {
    let before = |sm: u32| ARCHITECTURES.into_iter().rev().find(|&lower| lower < sm);
    for Known { ptxas, isa, .. } in all() {
        if isa < Isa(9, 0) {
            continue;
        }
        let says = |target: Target, samples: &str| {
            let machine = target.machine(target.sm.max(75)).to_string();
            assembled(&ptxas, &table::module(target, samples), &machine)
        };
        let wrong: Vec<String> = table::rows()
            .par_iter()
            .filter_map(|row| {
                let Target { sm, suffix } = row.target;
                if let Err(error) = says(row.target, row.samples) {
                    return Some(format!("{} for {}: {error}", row.samples, row.target));
                }
                // The row's target is the oldest one, above that of the oldest GPU that the newest ptxas knows.
                let lower = if suffix.is_empty() { before(sm).filter(|_| sm > 75) } else { Some(sm) };
                let taken = lower.is_some_and(|lower| says(Target::since(lower), row.samples).is_ok());
                taken.then(|| format!("{} needs no {}", row.samples, row.target))
            })
            .collect();
        assert!(wrong.is_empty(), "ptxas {}:\n{}", ptxas.version, wrong.join("\n"));
    }
}
