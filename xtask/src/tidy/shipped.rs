//! Every level ships PTX, and so does every kernel of the summit; and each file's header says from which kernel and options it was made: these.
//!
//! That the compiler makes this very PTX of them is proven by a test that has the compiler.

use hmac_sha256::Hash;

use super::tree::{Finding, Tree, numbered};

pub fn check(tree: &Tree) -> Vec<Finding> {
    let of_levels = tree.levels().into_iter().map(|level| format!("{}/kernel.cu", level.folder));
    let of_the_summit = tree.ending(&[".cu"]).map(|(path, _)| path).filter(|path| path.starts_with(SUMMIT));
    of_levels.chain(of_the_summit.map(str::to_string)).flat_map(|kernel| shipped(tree, &kernel)).collect()
}

/// Where the summit's kernels lie.
const SUMMIT: &str = "crates/summit/kernels/";

fn shipped(tree: &Tree, kernel: &str) -> Vec<Finding> {
    let archive = kernel.replace(".cu", ".ptx.zst");
    let source = with_headers(tree, tree.text(kernel).unwrap_or_default());
    let files: Vec<(&str, &str)> = tree.ending(&[".ptx"]).filter(|(path, _)| path.starts_with(&archive)).collect();
    if files.is_empty() {
        return vec![Finding::new(&archive, 1, "ships no PTX: run `cargo x ptx`")];
    }
    let mut findings = Vec::new();
    for (path, ptx) in files {
        findings.extend(stale(ptx, &source).map(|what| Finding::new(path, 1, what)));
        let named = numbered(ptx).find(|(_, line)| line.trim_start().starts_with(".file"));
        let (line, named) = named.unwrap_or((1, ""));
        if !named.contains(&format!("\"{kernel}\"")) {
            findings.push(Finding::new(path, line, format!("no `.file` names the source \"{kernel}\"")));
        }
    }
    findings
}

/// Where the headers lie that kernels include by name alone.
const HEADERS: &str = "crates/gemm/include/";

/// A kernel's text, and behind it those of the headers that it includes.
fn with_headers(tree: &Tree, source: &str) -> String {
    let names = source.lines().filter_map(|line| line.trim().strip_prefix("#include \"")?.strip_suffix('"'));
    let headers = names.filter_map(|name| tree.text(&format!("{HEADERS}{name}")));
    std::iter::once(source).chain(headers).collect()
}

/// Why a header does not stand for this source.
fn stale(ptx: &str, source: &str) -> Option<&'static str> {
    let field =
        |name: &str| ptx.lines().map_while(|line| line.strip_prefix("// ")).find_map(|line| line.strip_prefix(name));
    let (Some(options), Some(recorded)) = (field("options: "), field("source: ")) else {
        return Some("the header does not name options and source: run `cargo x ptx`");
    };
    let hash = Hash::hash(format!("{options}\n{source}").as_bytes());
    let hash: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
    let same = recorded.len() >= 32 && hash.starts_with(recorded);
    (!same).then_some("is not made from this kernel.cu: run `cargo x ptx`")
}

#[cfg(test)]
mod tests {
    use super::super::tree::printed;
    use super::check;

    const KERNEL: (&str, &str) = ("level0-a/kernel.cu", "kernel\n");
    // The hash is of "-O\nkernel\n", by `sha256sum`.
    const PTX: &str =
        "// Made.\n// options: -O\n// source: HASH\n// ---\n.version 9.0\n\t.file\t1 \"level0-a/kernel.cu\"\n";
    const HASH: &str = "d4d2c5170b08e5fa5324a9f71db074f7";

    fn on(ptx: &str) -> Vec<String> {
        printed(check, [KERNEL, ("level0-a/kernel.ptx.zst/16-f32.ptx", ptx)])
    }

    #[test]
    fn a_fresh_file_passes() {
        assert!(on(&PTX.replace("HASH", HASH)).is_empty());
    }

    #[test]
    fn nothing_shipped() {
        assert_eq!(printed(check, [KERNEL]), ["level0-a/kernel.ptx.zst:1: ships no PTX: run `cargo x ptx`"]);
    }

    #[test]
    fn a_kernel_of_the_summit_ships_too() {
        let kernel = ("crates/summit/kernels/a.cu", "kernel\n");
        assert_eq!(printed(check, [kernel]), ["crates/summit/kernels/a.ptx.zst:1: ships no PTX: run `cargo x ptx`"]);
        let ptx = PTX.replace("HASH", HASH).replace("level0-a/kernel.cu", "crates/summit/kernels/a.cu");
        assert!(printed(check, [kernel, ("crates/summit/kernels/a.ptx.zst/16-f32.ptx", &*ptx)]).is_empty());
    }

    #[test]
    fn what_a_kernel_includes_is_of_its_source() {
        let kernel = ("level0-a/kernel.cu", "#include \"h.cuh\"\nkernel\n");
        // Of "-O\n", the kernel and the header, one after the other.
        let ptx = PTX.replace("HASH", "2631f86221e71fc1923c5b9ee38281a2");
        let with = |header: &str| {
            printed(
                check,
                [kernel, ("level0-a/kernel.ptx.zst/16-f32.ptx", &*ptx), ("crates/gemm/include/h.cuh", header)],
            )
        };
        assert!(with("header\n").is_empty());
        let stale = "level0-a/kernel.ptx.zst/16-f32.ptx:1: is not made from this kernel.cu: run `cargo x ptx`";
        assert_eq!(with("other\n"), [stale]);
    }

    #[test]
    fn another_source_or_no_header() {
        let fresh = PTX.replace("HASH", HASH);
        for (ptx, what) in [
            (fresh.replace("-O", "-G"), "is not made from this kernel.cu: run `cargo x ptx`"),
            (fresh.replace(HASH, ""), "is not made from this kernel.cu: run `cargo x ptx`"),
            (
                fresh.replace("// options", "// choices"),
                "the header does not name options and source: run `cargo x ptx`",
            ),
        ] {
            assert_eq!(on(&ptx), [format!("level0-a/kernel.ptx.zst/16-f32.ptx:1: {what}")]);
        }
    }

    #[test]
    fn an_absolute_source() {
        let ptx = PTX.replace("HASH", HASH).replace("\"level0", "\"/there/level0");
        assert_eq!(
            on(&ptx),
            ["level0-a/kernel.ptx.zst/16-f32.ptx:6: no `.file` names the source \"level0-a/kernel.cu\""]
        );
    }
}
