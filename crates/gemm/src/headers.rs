//! Headers that kernels may include by name alone, without a folder: a compiler is given them with the text.

use hmac_sha256::Hash;

use crate::source::Source;

/// The instructions of Hopper, each behind a function.
pub const HOPPER: Source =
    Source { path: "crates/gemm/include/hopper.cuh", text: include_str!("../include/hopper.cuh") };

/// Whole numbers by their remainders.
pub const REMAINDERS: Source =
    Source { path: "crates/gemm/include/remainders.cuh", text: include_str!("../include/remainders.cuh") };

/// What becomes of sums before they are rounded, and batches.
pub const EPILOGUE: Source =
    Source { path: "crates/gemm/include/epilogue.cuh", text: include_str!("../include/epilogue.cuh") };

/// What is on offer: the name as `#include` has it, and the header.
pub const ALL: [(&str, Source); 3] =
    [("hopper.cuh", HOPPER), ("remainders.cuh", REMAINDERS), ("epilogue.cuh", EPILOGUE)];

/// Those that a text includes.
pub fn included(text: &str) -> impl Iterator<Item = (&'static str, Source<'static>)> {
    let asks = |name: &str| {
        let asked = format!("#include \"{name}\"");
        text.lines().any(|line| line.trim() == asked)
    };
    ALL.into_iter().filter(move |(name, _)| asks(name))
}

/// The hash of a source that is compiled with these options: of both, and of the headers that it includes.
pub fn source_hash(source: &str, options: &[String]) -> String {
    let options = options.join(" ");
    let headers = included(source).map(|(_, header)| header.text);
    hash(&[options.as_str(), "\n", source].into_iter().chain(headers).collect::<Vec<_>>())
}

/// The first half of the SHA-256 of the parts, in hexadecimal.
pub fn hash(parts: &[&str]) -> String {
    let mut hasher = Hash::new();
    for part in parts {
        hasher.update(part.as_bytes());
    }
    hasher.finalize()[..16].iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_included_by_a_line_of_its_own() {
        let names = |text: &str| included(text).map(|(name, _)| name).collect::<Vec<_>>();
        assert_eq!(names("int x;\n#include \"hopper.cuh\"\nint y;\n"), ["hopper.cuh"]);
        assert!(names("// as in #include \"hopper.cuh\"\n#include \"other.cuh\"\n").is_empty());
    }
}
