//! Where NVIDIA's libraries may lie: on the loader's path, under CUDA's folders, those of the active Python, and the system's.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

/// Folders below a toolkit's root, or a conda environment's, that may hold a library: Linux's, then Windows'.
const BELOW: [&str; 8] = [
    "lib64",
    "lib",
    "targets/x86_64-linux/lib",
    "targets/sbsa-linux/lib",
    "bin",
    "bin/x64",
    "Library/bin",
    "Library/bin/x64",
];

/// Folders of the system's own packages.
const SYSTEM: [&str; 5] =
    ["/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib", "/usr/local/lib"];

/// How the names of a library's files begin: Linux's, then Windows'.
#[derive(Debug)]
pub(crate) struct Names(&'static [&'static str]);

/// What cuBLAS needs beside it.
pub(crate) const CUBLAS_LT: Names = Names(&["libcublasLt.so"]);
/// What NVRTC asks for beside it.
pub(crate) const BUILTINS: Names = Names(&["libnvrtc-builtins.so", "nvrtc-builtins64_"]);

impl Names {
    /// Those of a folder, of each beginning the newest first.
    pub(crate) fn files_in(&self, folder: &Path) -> impl Iterator<Item = PathBuf> + use<> {
        let folder = folder.to_path_buf();
        self.0.iter().flat_map(move |start| files_starting_with(&folder, start)).filter(|file| is_library(file))
    }
}

/// A library of NVIDIA's, which is looked for while a program runs.
#[derive(Debug)]
pub struct Library {
    /// What it is called.
    name: &'static str,
    /// The Python package that installs it.
    pip: &'static str,
    /// The folder that its Python package of CUDA 12 uses.
    folder: &'static str,
    /// What the loader knows it by, the newest first.
    loaded: &'static [&'static str],
    files: Names,
}

/// cuBLAS. cuBLASLt lies beside it.
pub const CUBLAS: Library = Library {
    name: "cuBLAS",
    pip: "nvidia-cublas",
    folder: "cublas",
    loaded: &["libcublas.so.13", "libcublas.so.12", "libcublas.so"],
    files: Names(&["libcublas.so"]),
};

/// NCCL.
pub const NCCL: Library = Library {
    name: "NCCL",
    pip: "nvidia-nccl-cu13",
    folder: "nccl",
    loaded: &["libnccl.so.2", "libnccl.so"],
    files: Names(&["libnccl.so"]),
};

/// NVIDIA's run-time compiler.
pub(crate) const NVRTC: Library = Library {
    name: "NVRTC",
    pip: "nvidia-cuda-nvrtc",
    folder: "cuda_nvrtc",
    loaded: &["libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"],
    files: Names(&["libnvrtc.so", "nvrtc64_"]),
};

impl Library {
    /// Its files, of each folder the newest first. Nothing is loaded: whether one answers, only a call shows.
    pub fn files(&self) -> impl Iterator<Item = PathBuf> {
        let folders = folders(self.folder).into_iter().chain(SYSTEM.map(PathBuf::from));
        folders.flat_map(|folder| self.files.files_in(&folder))
    }

    /// What to load, the first that answers: names that the loader's path may have, then files.
    pub(crate) fn places(&self) -> impl Iterator<Item = PathBuf> {
        self.loaded.iter().map(PathBuf::from).chain(self.files())
    }

    /// The first that opens. An error is whether it was loaded, and why not more.
    pub(crate) fn find<T>(&self, open: impl Fn(&Path) -> Result<T, (bool, String)>) -> Result<T, String> {
        let mut refusal = None;
        for place in self.places() {
            match open(&place) {
                Ok(opened) => return Ok(opened),
                // A library that loads and then refuses says more than one that is not there.
                Err((true, why)) => refusal = Some(format!("{}: {why}", place.display())),
                Err((false, _)) => (),
            }
        }
        Err(refusal.unwrap_or_else(|| format!("{} (`pip install {}` installs it)", self.nowhere(), self.pip)))
    }

    /// Where it was looked for in vain.
    pub(crate) fn nowhere(&self) -> String {
        let name = self.name;
        format!("{name} is neither on the loader's path nor under CUDA_HOME, CUDA_PATH or Python's site-packages")
    }
}

/// Folders of CUDA's and of Python that may hold a library. `package` is the folder that its Python package of CUDA 12 uses, for
/// instance `cuda_nvrtc`.
fn folders(package: &str) -> Vec<PathBuf> {
    let named = |names: &[&str]| names.iter().filter_map(env::var_os).map(PathBuf::from).collect::<Vec<_>>();
    let toolkits = named(&["CUDA_HOME", "CUDA_PATH"]).into_iter().chain([PathBuf::from("/usr/local/cuda")]);
    folders_below(&toolkits.collect::<Vec<_>>(), &python_prefixes(), &named(&["CONDA_PREFIX"]), package)
}

/// Folders of headers that exist: beside a library of CUDA's, then those of the Python packages of its release, then of toolkits.
pub(crate) fn headers(library: &Path, release: i32) -> Vec<PathBuf> {
    let named = |names: &[&str]| names.iter().filter_map(env::var_os).map(PathBuf::from).collect::<Vec<_>>();
    let beside = library.parent().filter(|folder| folder.is_absolute()).into_iter().flat_map(|folder| {
        let up = [folder.join("../include"), folder.join("../../include"), folder.join("../../../include")];
        up.into_iter().find(|folder| folder.join("cuda_fp16.h").is_file())
    });
    let sites = python_prefixes().into_iter().flat_map(|prefix| site_packages(&prefix));
    let packages: &[&str] = match release {
        12 => &["cuda_runtime", "cuda_nvcc", "cuda_cccl", "curand"],
        _ => &["cu13"],
    };
    let of_python =
        sites.flat_map(|site| packages.iter().map(move |name| site.join("nvidia").join(name).join("include")));
    let roots = named(&["CUDA_HOME", "CUDA_PATH"]).into_iter().chain([PathBuf::from("/usr/local/cuda")]);
    let roots = roots.chain(named(&["CONDA_PREFIX"]));
    let of_toolkits = roots.flat_map(|root| ["include", "targets/x86_64-linux/include"].map(|below| root.join(below)));
    existing(beside.chain(of_python).chain(of_toolkits))
}

/// Those that exist, each once, with the folder of CUDA's C++ library inside.
fn existing(folders: impl Iterator<Item = PathBuf>) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = Vec::new();
    for folder in folders.filter_map(|folder| folder.canonicalize().ok()).filter(|folder| folder.is_dir()) {
        let cccl = Some(folder.join("cccl")).filter(|cccl| cccl.is_dir());
        for folder in std::iter::once(folder).chain(cccl) {
            if !found.contains(&folder) {
                found.push(folder);
            }
        }
    }
    found
}

/// The folders of these toolkits, then those of the Python packages below these prefixes, then conda's own.
fn folders_below(toolkits: &[PathBuf], pythons: &[PathBuf], condas: &[PathBuf], package: &str) -> Vec<PathBuf> {
    let below = |root: &PathBuf| BELOW.map(|folder| root.join(folder));
    let mut folders: Vec<PathBuf> = toolkits.iter().flat_map(below).collect();
    for site in pythons.iter().flat_map(|prefix| site_packages(prefix)) {
        for nvidia in [Path::new("nvidia/cu13"), &Path::new("nvidia").join(package)] {
            folders.extend(["lib", "bin", "bin/x86_64"].map(|folder| site.join(nvidia).join(folder)));
        }
    }
    folders.extend(condas.iter().flat_map(below));
    folders
}

/// Where Python packages may be installed: the virtual environment, the `python3` on the path, the user's own.
fn python_prefixes() -> Vec<PathBuf> {
    let mut prefixes: Vec<PathBuf> =
        ["VIRTUAL_ENV", "CONDA_PREFIX"].iter().filter_map(env::var_os).map(PathBuf::from).collect();
    let path = env::var_os("PATH").unwrap_or_default();
    for bin in env::split_paths(&path) {
        if bin.join("python3").exists() {
            prefixes.extend(bin.parent().map(Path::to_path_buf));
        }
        // Windows has the program beside its `Lib`, or in `Scripts` in a virtual environment.
        if bin.join("python.exe").exists() {
            prefixes.extend(bin.parent().filter(|_| bin.ends_with("Scripts")).or(Some(&bin)).map(Path::to_path_buf));
        }
    }
    prefixes.extend(env::var_os("HOME").map(|home| Path::new(&home).join(".local")));
    prefixes
}

fn site_packages(prefix: &Path) -> Vec<PathBuf> {
    let pythons = files_starting_with(&prefix.join("lib"), "python3");
    let mut sites: Vec<PathBuf> =
        pythons.iter().flat_map(|python| [python.join("site-packages"), python.join("dist-packages")]).collect();
    sites.push(prefix.join("Lib/site-packages"));
    sites
}

/// The entries of a folder whose names start so, sorted, the last first: the newest version.
fn files_starting_with(folder: &Path, start: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> =
        entries.filter(|e| e.file_name().to_string_lossy().starts_with(start)).map(|e| e.path()).collect();
    files.sort();
    files.reverse();
    files
}

/// `libnvrtc.so.12` or `nvrtc64_120_0.dll`, and not what only begins so; `nvrtc64_120_0.alt.dll` is a second form of the same.
fn is_library(file: &Path) -> bool {
    let name = file.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    match name.split_once(".so") {
        Some((_, version)) => version.chars().all(|c| c == '.' || c.is_ascii_digit()),
        None => name.ends_with(".dll") && !name.contains(".alt."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every way in which NVIDIA ships a library is a folder that is looked at.
    #[test]
    fn every_layout_is_looked_at() {
        let root = env::temp_dir().join(format!("ladder-folders-{}", std::process::id()));
        let path = |name: &str| root.join(name);
        let layouts = [
            "toolkit/lib64",
            "toolkit/targets/x86_64-linux/lib",
            "windows-toolkit/bin",
            "windows-toolkit/bin/x64",
            "venv/lib/python3.11/site-packages/nvidia/cuda_nvrtc/lib",
            "venv/lib/python3.12/site-packages/nvidia/cu13/lib",
            "windows-venv/Lib/site-packages/nvidia/cuda_nvrtc/bin",
            "windows-venv/Lib/site-packages/nvidia/cu13/bin/x86_64",
            "conda/lib",
            "conda/targets/x86_64-linux/lib",
            "windows-conda/Library/bin",
        ];
        layouts.iter().for_each(|layout| fs::create_dir_all(path(layout)).unwrap());
        let toolkits = ["toolkit", "windows-toolkit"].map(path);
        let (pythons, condas) = (["venv", "windows-venv"].map(path), ["conda", "windows-conda"].map(path));
        let folders = folders_below(&toolkits, &pythons, &condas, "cuda_nvrtc");
        for layout in layouts {
            assert!(folders.contains(&path(layout)), "{layout} is not looked at");
        }
        let place = |layout: &str| folders.iter().position(|folder| *folder == path(layout));
        assert!(place("toolkit/lib64") < place(layouts[4]) && place(layouts[4]) < place("conda/lib"));
        fs::remove_dir_all(&root).unwrap();
    }

    #[test]
    fn libraries_have_the_names_of_linux_and_of_windows() {
        let folder = env::temp_dir().join(format!("ladder-libraries-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        for name in [
            "libnvrtc.so.12",
            "libnvrtc.so.13",
            "libnvrtc.so.13.0.88",
            "libnvrtc.so.bak",
            "libnvrtc_static.a",
            "libnvrtc-builtins.so.13.0",
            "nvrtc64_120_0.dll",
            "nvrtc64_120_0.alt.dll",
            "nvrtc64_120_0.lib",
            "nvrtc-builtins64_129.dll",
        ] {
            fs::write(folder.join(name), "").unwrap();
        }
        let found = |names: &Names| -> Vec<String> {
            names.files_in(&folder).map(|file| file.file_name().unwrap().to_string_lossy().into_owned()).collect()
        };
        assert_eq!(
            found(&NVRTC.files),
            ["libnvrtc.so.13.0.88", "libnvrtc.so.13", "libnvrtc.so.12", "nvrtc64_120_0.dll"]
        );
        assert_eq!(found(&BUILTINS), ["libnvrtc-builtins.so.13.0", "nvrtc-builtins64_129.dll"]);
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn what_refuses_is_said_and_what_is_not_there_is_not() {
        let opened = |place: &Path| Err::<(), _>((place == Path::new("libnccl.so"), "too old".to_string()));
        assert_eq!(NCCL.find(opened).unwrap_err(), "libnccl.so: too old");
        let missing = NCCL.find(|_| Err::<(), _>((false, "no such file".to_string()))).unwrap_err();
        assert!(
            missing.starts_with("NCCL is neither") && missing.ends_with("(`pip install nvidia-nccl-cu13` installs it)")
        );
        assert_eq!(NCCL.find(|place| Ok(place.to_path_buf())).unwrap(), Path::new("libnccl.so.2"));
    }
}
