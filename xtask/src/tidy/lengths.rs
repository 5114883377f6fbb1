//! A kernel fits on a page or two, and no source file outgrows its one idea.

use super::tree::{Finding, Tree};

/// Lines of `kernel.cu` up to level 2, up to level 6, and from level 7 on.
const KERNEL_LIMITS: [usize; 3] = [60, 120, 150];
/// Lines of any source file.
const SOURCE_LIMIT: usize = 500;

pub fn check(tree: &Tree) -> Vec<Finding> {
    let levels = tree.levels();
    let limit = |path: &str| {
        let level = levels.iter().find(|level| path == format!("{}/kernel.cu", level.folder));
        level.map_or(SOURCE_LIMIT, |level| KERNEL_LIMITS[usize::from(level.number > 2) + usize::from(level.number > 6)])
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
            ("level7-c/kernel.cu", 150),
            ("level0-d/src/lib.rs", 500),
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
