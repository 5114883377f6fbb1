//! The emulator's corpus of wrong and of correct kernels is what NVRTC makes of its sources.
//!
//! The test lives here, and not beside the corpus, because the emulator knows no compiler. With
//! `UPDATE_CORPUS=1` it writes the PTX instead of comparing it.

use std::fs;
use std::path::{Path, PathBuf};

use archive::Texts;
use device::nvrtc;
use gemm::Source;
use gemm::kernel::Compiler;
use level_tests::skipped;

/// The compiler that the committed PTX is by.
const VERSION: &str = "13.0.88";
const OPTIONS: [&str; 2] = ["-lineinfo", "--std=c++17"];
/// What a source has that needs `sm_90`.
const HOPPER: [&str; 7] =
    ["try_wait", "_tx", "cp.async.bulk", "fence.proxy", "fence.mbarrier", "relaxed.cta.shared", "cluster"];
/// Products for sm_90a: of each a file for every type of [`TYPES`], from this source with these macros.
const HOPPER_FORMS: [(&str, &str, &[&str]); 4] = [
    ("warpgroup", "warpgroup", &[]),
    ("ring", "specialised", &["-DCLUSTER=1", "-DPERSISTENT=0"]),
    ("cluster", "specialised", &["-DCLUSTER=2", "-DPERSISTENT=0"]),
    ("persistent", "specialised", &["-DCLUSTER=1", "-DPERSISTENT=1"]),
];
const TYPES: [&str; 4] = ["bf16", "f16", "tf32", "e4m3"];
const HEADER: &str = "// Made by `UPDATE_CORPUS=1 cargo test -p common --test emulator_corpus`: do not edit.\n";

#[test]
fn the_corpus_is_what_the_compiler_makes_of_it() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the crate lies in the repository");
    let tests = root.join("crates/emulator/tests");
    let mut files = Vec::new();
    for folder in ["faults", "correct", "warned", "exam/right", "exam/wrong", "gemm"] {
        files.extend(files_below(&tests.join(folder)));
    }
    let sources: Vec<&PathBuf> = files.iter().filter(|file| has_extension(file, "cu")).collect();
    assert!(sources.len() > 50, "only {} sources: is the corpus where it was?", sources.len());
    let compiler = match nvrtc::find() {
        Ok(compiler) => compiler,
        Err(why) => return skipped(&why),
    };
    let hopper = tests.join("hopper");
    let forms = HOPPER_FORMS.iter().flat_map(|form| TYPES.map(|of| (form, of))).map(|(&(name, source, macros), of)| {
        let macros = macros.iter().map(|macro_| macro_.to_string()).chain([format!("-DTYPE_{of}")]);
        (hopper.join(format!("{source}.cu")), format!("hopper/{name}-{of}.ptx"), macros.collect())
    });
    let alone = sources.into_iter().map(|source| {
        let name = source.strip_prefix(&tests).expect("it lies there").with_extension("ptx");
        (source.clone(), name.to_str().expect("names are plain").to_string(), Vec::new())
    });
    let mut made = Vec::new();
    for (source, name, macros) in alone.chain(forms) {
        let ptx = compile(compiler, root, &source, &macros);
        if nvrtc::version_in(&ptx).as_deref() != Some(VERSION) {
            return skipped(&format!("NVRTC is {}, and the corpus is by {VERSION}", compiler.version()));
        }
        made.push((name, ptx));
    }
    let made = Texts::of(made.iter().map(|(name, ptx)| (name.as_str(), ptx.as_str())));
    let file = tests.join("corpus/kernels.ptx");
    if std::env::var_os("UPDATE_CORPUS").is_some() {
        fs::write(&file, made.joined()).expect("the corpus can be written");
        eprintln!("{} is written: `cargo x pack` packs it", file.display());
        return;
    }
    let kept = Texts::read(&file.with_extension("ptx.zst")).expect("the corpus has an archive");
    let stale: Vec<&str> =
        made.iter().filter(|(name, ptx)| kept.get(name) != Some(ptx)).map(|(name, _)| name).collect();
    let left: Vec<&str> = kept.iter().map(|(name, _)| name).filter(|name| made.get(name).is_none()).collect();
    let how = "run `UPDATE_CORPUS=1 cargo test -p common --test emulator_corpus`, then `cargo x pack` on its file";
    assert!(stale.is_empty() && left.is_empty(), "{how}: stale are {stale:?}, no kernel has {left:?}");
}

fn compile(compiler: &dyn Compiler, root: &Path, source: &Path, macros: &[String]) -> String {
    let text = fs::read_to_string(source).expect("the source can be read");
    let path = source.strip_prefix(root).expect("it lies in the repository").to_str().expect("names are plain");
    let options = [architecture(&text)].into_iter().chain(OPTIONS.map(String::from)).chain(macros.iter().cloned());
    let options: Vec<String> = options.collect();
    match compiler.ptx(&Source { path, text: &text }, &options) {
        Ok(ptx) => format!("{HEADER}{ptx}"),
        Err(log) => panic!("{path} does not compile:\n{log}"),
    }
}

/// The oldest architecture that has what the source uses: the one that its head names as `sm=`, in a kernel of the exam.
fn architecture(text: &str) -> String {
    let named = text.lines().find_map(|line| line.strip_prefix("// exam: ")?.split_once(" sm=")).map(|(_, rest)| rest);
    let number = match named {
        Some(rest) => rest.split(' ').next().unwrap_or(rest),
        None if text.contains("// exam: ") => "75",
        None if ["setmaxnreg", "wgmma", "tensormap.replace"].iter().any(|words| text.contains(words)) => "90a",
        None if HOPPER.iter().any(|words| text.contains(words)) => "90",
        None if text.contains("cp.async") || text.contains("mbarrier") => "80",
        None => "75",
    };
    format!("--gpu-architecture=compute_{number}")
}

fn has_extension(file: &Path, extension: &str) -> bool {
    file.extension().is_some_and(|found| found == extension)
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut files = Vec::new();
    for path in entries.map(|entry| entry.expect("the folder can be listed").path()) {
        if path.is_dir() {
            files.extend(files_below(&path));
        } else {
            files.push(path);
        }
    }
    files.sort();
    files
}
