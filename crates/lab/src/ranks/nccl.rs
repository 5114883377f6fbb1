//! NCCL for a rank of its own process.
//!
//! cudarc opens it as `libnccl.so`, and Python's package has `libnccl.so.2` alone. The loader reads where to look when a program starts: so a
//! rank starts itself once more, with a folder in which the library has the name that is asked for.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use device::inventory::NCCL;
use gemm::Error;
use ranks::gpus::member::there;

/// The variable that names the folder.
const FOLDER: &str = "LADDER_NCCL_FOLDER";

/// The library's file, if there is one.
fn file() -> Option<PathBuf> {
    let named = env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    let on_path = env::split_paths(&named).map(|folder| folder.join("libnccl.so.2")).find(|file| file.is_file());
    on_path.or_else(|| NCCL.files().next())
}

/// NCCL's file, if there is a GPU as well.
fn present() -> Result<PathBuf, Error> {
    there()?;
    let hint = "`pip install nvidia-nccl-cu13` installs it, and `lab doctor` says where it is looked for";
    file().ok_or_else(|| Error::usage("processes send each other panels by NCCL, and it is not here", hint))
}

/// Returns where the loader finds the library; starts this process once more where it does not yet.
#[cfg(unix)]
pub fn reachable() -> Result<(), Error> {
    use std::os::unix::fs::symlink;
    use std::os::unix::process::CommandExt;
    use std::process::{Command, id};

    if env::var_os(FOLDER).is_some() {
        return Ok(());
    }
    let library = present()?;
    let folder = env::temp_dir().join(format!("ladder-nccl-{}", id()));
    let refused = |error: std::io::Error| {
        Error::usage(format!("cannot link NCCL in {}: {error}", folder.display()), "set TMPDIR")
    };
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).map_err(refused)?;
    symlink(fs::canonicalize(&library).map_err(refused)?, folder.join("libnccl.so")).map_err(refused)?;
    let named = env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    let paths = [folder.clone()].into_iter().chain(env::split_paths(&named).filter(|path| path != Path::new("")));
    let paths = env::join_paths(paths).map_err(|error| refused(std::io::Error::other(error)))?;
    let program = env::current_exe().map_err(refused)?;
    let again =
        Command::new(program).args(env::args_os().skip(1)).env("LD_LIBRARY_PATH", paths).env(FOLDER, &folder).exec();
    Err(refused(again))
}

/// NCCL is there for Unix.
#[cfg(not(unix))]
pub fn reachable() -> Result<(), Error> {
    Err(Error::usage(
        "processes on GPUs need NCCL, which is there for Linux alone",
        "without `--backend cuda`, ranks are emulated",
    ))
}

/// The library is loaded: the folder has served.
pub fn loaded() {
    if let Some(folder) = env::var_os(FOLDER) {
        // It is in the folder for temporary files, if it stays.
        let _ = fs::remove_dir_all(folder);
    }
}
