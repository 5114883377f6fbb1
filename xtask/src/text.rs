//! How two texts differ.

use similar::{Algorithm, TextDiff};

/// The unified diff from `old` to `new`, with the names that stand in its head; empty if they are equal.
pub fn diff(old: &str, new: &str, old_name: &str, new_name: &str) -> String {
    let diff = TextDiff::configure().algorithm(Algorithm::Patience).diff_lines(old, new);
    diff.unified_diff().context_radius(3).header(old_name, new_name).to_string()
}

#[cfg(test)]
mod tests {
    use super::diff;

    #[test]
    fn a_diff_is_unified() {
        assert_eq!(diff("a\nb\n", "a\nc\n", "x", "y"), "--- x\n+++ y\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n");
        assert_eq!(diff("a\n", "a\n", "x", "y"), "");
    }
}
