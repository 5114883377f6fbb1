//! A kernel fits on a page or two, and no source file outgrows its one idea.

use super::tree::{Finding, Tree};

/// Lines of `kernel.cu`, from which level on: the last ones do all that level 6 does, and share K out.
const KERNEL_LIMITS: [(u32, usize); 3] = [(7, 160), (3, 120), (0, 60)];
/// Lines of any source file.
const SOURCE_LIMIT: usize = 500;

pub fn check(tree: &Tree) -> Vec<Finding> {
    let levels = tree.levels();
    let limit = |path: &str| {
        let level = levels.iter().find(|level| path == format!("{}/kernel.cu", level.folder));
        let lines = |number: u32| {
            KERNEL_LIMITS.iter().find(|(from, _)| number >= *from).map_or(SOURCE_LIMIT, |(_, lines)| *lines)
        };
        level.map_or(SOURCE_LIMIT, |level| lines(level.number as u32))
    };
    let over = |(path, text): (&str, &str)| {
        let (lines, limit) = (text.lines().count(), limit(path));
        (lines > limit).then(|| Finding::new(path, limit + 1, format!("has {lines} lines, the limit is {limit}")))
    };
    tree.ending(&[".rs", ".cu"]).filter_map(over).collect()
}

#[cfg(test)]
mod tests {
    use super::super::tree::printed;
    use super::check;

    #[test]
    fn each_limit_is_kept_and_broken() {
        let limits = [
            ("level2-a/kernel.cu", 60),
            ("level3-b/kernel.cu", 120),
            ("level7-d/kernel.cu", 160),
            ("level0-c/src/lib.rs", 500),
            ("x/y.cu", 500),
        ];
        for (path, limit) in limits {
            let text = "\n".repeat(limit);
            assert!(printed(check, [(path, &text)]).is_empty(), "{path}");
            let found = printed(check, [(path, &format!("{text}\n"))]);
            assert_eq!(found, [format!("{path}:{0}: has {0} lines, the limit is {limit}", limit + 1)]);
        }
    }
}
