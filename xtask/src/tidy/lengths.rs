//! A kernel is easy to read: no long lines, one statement in each. No source file outgrows its one idea, and no map its page.

use super::tree::{Finding, Tree, numbered};

/// Columns of `kernel.cu`.
const KERNEL_COLUMNS: usize = 100;
/// Lines of a level's `kernel.cu`: of those before level 9, and of all.
const KERNEL_LIMITS: [usize; 2] = [200, 250];
/// Lines of any source file.
const SOURCE_LIMIT: usize = 500;
/// Lines of the texts with which a reader begins.
const MAPS: [(&str, usize); 3] = [("README.md", 90), ("ARCHITECTURE.md", 130), ("CONTRIBUTING.md", 130)];

pub fn check(tree: &Tree) -> Vec<Finding> {
    let over = |path: &str, text: &str, limit: usize| {
        let lines = text.lines().count();
        let message = format!("has {lines} lines, the limit is {limit}");
        (lines > limit).then(|| Finding::new(path, limit + 1, message))
    };
    let maps = MAPS.iter().filter_map(|&(path, limit)| Some((path, tree.text(path)?, limit)));
    let sources = tree.ending(&[".rs", ".cu"]).map(|(path, text)| (path, text, limit(path)));
    let mut findings: Vec<Finding> =
        maps.chain(sources).filter_map(|(path, text, limit)| over(path, text, limit)).collect();
    for (path, text) in tree.ending(&["/kernel.cu"]) {
        findings.extend(numbered(text).flat_map(|(number, line)| {
            let columns = line.chars().count();
            let wide =
                (columns > KERNEL_COLUMNS).then(|| format!("has {columns} columns, the limit is {KERNEL_COLUMNS}"));
            let crowded = (statements(line) > 1).then(|| "has more than one statement".to_string());
            wide.into_iter().chain(crowded).map(move |message| Finding::new(path, number, message))
        }));
    }
    findings
}

/// The most lines of a source file.
fn limit(path: &str) -> usize {
    let level = path.strip_suffix("/kernel.cu").and_then(|folder| folder.rsplit('/').next()?.strip_prefix("level"));
    match level.and_then(|name| name.split('-').next()?.parse::<u32>().ok()) {
        Some(number) => KERNEL_LIMITS[usize::from(number >= 9)],
        None => SOURCE_LIMIT,
    }
}

/// Statements and declarations that end or are parted in a line: semicolons and commas outside of brackets, strings and comments.
fn statements(line: &str) -> usize {
    let code = line.split("//").next().unwrap_or_default();
    let (mut depth, mut quoted, mut semicolons, mut commas) = (0i32, false, 0, 0);
    for character in code.chars() {
        match character {
            '"' => quoted = !quoted,
            _ if quoted => (),
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            ';' if depth <= 0 => semicolons += 1,
            ',' if depth == 0 => commas += 1,
            _ => (),
        }
    }
    let body = code.split(" = ").next().unwrap_or_default();
    // Several declarations in one: the first begins with a type.
    let declares = semicolons == 1 && commas > 0 && code.contains(" = ") && body.trim().contains(' ');
    semicolons + usize::from(declares)
}

#[cfg(test)]
mod tests {
    use super::super::tree::printed;
    use super::{check, statements};

    #[test]
    fn the_limit_of_lines_is_kept_and_broken() {
        for path in ["level0-c/src/lib.rs", "x/y.cu"] {
            let text = "\n".repeat(500);
            assert!(printed(check, [(path, &text)]).is_empty(), "{path}");
            let found = printed(check, [(path, &format!("{text}\n"))]);
            assert_eq!(found, [format!("{path}:501: has 501 lines, the limit is 500")]);
        }
    }

    #[test]
    fn a_levels_kernel_is_as_long_as_one_idea() {
        for (path, limit) in
            [("level3-c/kernel.cu", 200), ("further/level8-c/kernel.cu", 200), ("further/level12-c/kernel.cu", 250)]
        {
            let text = "\n".repeat(limit);
            assert!(printed(check, [(path, &text)]).is_empty(), "{path}");
            let found = printed(check, [(path, &format!("{text}\n"))]);
            assert_eq!(found, [format!("{path}:{}: has {} lines, the limit is {limit}", limit + 1, limit + 1)]);
        }
    }

    #[test]
    fn a_map_is_as_long_as_its_limit_and_no_longer() {
        for (path, limit) in super::MAPS {
            let text = "\n".repeat(limit);
            assert!(printed(check, [(path, &text)]).is_empty(), "{path}");
            let found = printed(check, [(path, &format!("{text}\n"))]);
            assert_eq!(found, [format!("{path}:{}: has {} lines, the limit is {limit}", limit + 1, limit + 1)]);
        }
        // A room's own README is no map of the house.
        assert!(printed(check, [("crates/lab/README.md", &"\n".repeat(200))]).is_empty());
    }

    #[test]
    fn a_kernels_lines_are_narrow_and_have_a_statement_each() {
        let line = "x".repeat(100);
        assert!(printed(check, [("level2-a/kernel.cu", &line)]).is_empty());
        let found = printed(check, [("level2-a/kernel.cu", &format!("{line}y"))]);
        assert_eq!(found, ["level2-a/kernel.cu:1: has 101 columns, the limit is 100"]);
        let found = printed(check, [("level2-a/kernel.cu", "a = b; c = d;\n")]);
        assert_eq!(found, ["level2-a/kernel.cu:1: has more than one statement"]);
    }

    #[test]
    fn statements_are_counted() {
        for one in [
            "int a = f(b, c);",
            "for (int i = 0; i < n; ++i)",
            "auto at = [&](int m) { return m; };",
            "int M, N, K;",
            "asm(\"a; b;\" ::\"r\"(x), \"r\"(y));",
            "Product p = {A, B, C};",
            "x = 1;  // y; z",
        ] {
            assert!(statements(one) <= 1, "{one}");
        }
        for two in ["a = b; c = d;", "int a = 1, b = 2;", "return; }  ;", "for (int i = 0; i < n; ++i) a = i; b = n;"] {
            assert!(statements(two) > 1, "{two}");
        }
    }
}
