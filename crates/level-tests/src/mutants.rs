//! Wrong versions of a kernel, made from its text by rule.

mod asynchronous;

use std::ops::Range;

/// One wrong version.
#[derive(Debug, Clone, PartialEq)]
pub struct Mutant {
    /// The rule that made it.
    pub rule: &'static str,
    /// The line of the kernel, from 1.
    pub line: usize,
    /// The part that is replaced.
    pub before: String,
    /// What by.
    pub after: String,
    /// The whole text.
    pub source: String,
}

/// A rule: its name, and the replacements that it makes in the code of a line.
type Rule = (&'static str, fn(&str) -> Vec<Edit>);

/// The bytes of a line that are replaced, and what by.
type Edit = (Range<usize>, String);

const RULES: [Rule; 9] = [
    ("drop a barrier", |code| {
        let mut edits = replaced(code, "__syncthreads();", &[";"]);
        edits.extend(replaced(code, "asm volatile(\"cp.async.commit_group;\");", &[";"]));
        edits.extend(asynchronous::left_out(code));
        edits
    }),
    ("drop or loosen a fence or a wait", |code| {
        let mut edits = replaced(code, "__threadfence();", &[";"]);
        edits.extend(replaced(code, "(STAGES - 2)", &["(STAGES - 1)"]));
        if code.contains("cp.async.wait") {
            edits.push((code.len() - code.trim_start().len()..code.trim_end().len(), ";".to_string()));
        }
        edits.extend(asynchronous::waits(code));
        edits
    }),
    ("loosen a comparison", |code| {
        let mut edits = replaced(code, " < ", &[" <= "]);
        edits.extend(replaced(code, " >= ", &[" > "]));
        edits.extend(replaced(code, "left > ", &["left >= "]));
        edits
    }),
    ("drop a condition", drop_conditions),
    ("shift an index", shift_indices),
    ("shrink a shared array", |code| brackets(code, is_shared(code), &[" - 1"])),
    ("start or step off by one", |code| {
        let mut edits = replaced(code, "k0 = 0", &["k0 = 1"]);
        edits.extend(replaced(code, "int k = 0", &["int k = 1"]));
        edits.extend(replaced(code, "k0 += TILE", &["k0 += TILE + 1", "k0 += TILE - 1"]));
        edits.extend(replaced(code, "k0 += BK", &["k0 += BK + 1", "k0 += BK - 1"]));
        edits.extend(replaced(code, "left -= BK", &["left -= BK + 1", "left -= BK - 1"]));
        edits.extend(asynchronous::off_by_one(code));
        edits
    }),
    ("leave the edge unfilled", leave_unfilled),
    ("take one for the other", |code| {
        let pairs = [
            ("blockIdx.x", "blockIdx.y"),
            ("blockIdx.y", "blockIdx.x"),
            ("threadIdx.x", "threadIdx.y"),
            ("threadIdx.y", "threadIdx.x"),
            (" * K + ", " * N + "),
            (" * N + ", " * K + "),
            ("+= A", "= A"),
            ("+= As", "= As"),
            ("now ^ 1", "now"),
            ("now ^= 1", "now ^= 0"),
            ("[now]", "[now ^ 1]"),
            ("a_aligned)", "b_aligned)"),
            ("b_aligned)", "a_aligned)"),
            ("p.lda", "p.ldb"),
            ("p.ldb", "p.lda"),
            ("p.ldc", "p.ldb"),
            ("p.alpha", "p.beta"),
            ("p.beta", "p.alpha"),
        ];
        let mut edits: Vec<Edit> = pairs.iter().flat_map(|(from, to)| replaced(code, from, &[to])).collect();
        edits.extend(asynchronous::mixed_up(code));
        edits
    }),
];

/// The names of the rules, in order.
pub fn rules() -> impl Iterator<Item = &'static str> {
    RULES.iter().map(|(name, _)| *name)
}

/// Every mutant of a kernel, in the order of the rules and of the text.
pub fn mutants(source: &str) -> Vec<Mutant> {
    let lines: Vec<&str> = source.lines().collect();
    let mut mutants = Vec::new();
    for (rule, edits) in RULES {
        for (index, line) in lines.iter().enumerate() {
            for (range, after) in edits(code_of(line)) {
                let text = format!("{}{after}{}", &line[..range.start], &line[range.end..]);
                let mut changed = lines.clone();
                changed[index] = &text;
                let source = changed.join("\n") + "\n";
                mutants.push(Mutant { rule, line: index + 1, before: line[range].to_string(), after, source });
            }
        }
    }
    mutants
}

/// The part of a line that is code: no comment, no assertion, no directive, no type.
fn code_of(line: &str) -> &str {
    let code = line.split("//").next().unwrap_or_default();
    let text = code.trim_start();
    let is_none = ["static_assert", "#", "constexpr", "struct"].iter().any(|start| text.starts_with(start));
    if is_none { "" } else { code }
}

/// Every place where `from` stands, replaced by each of `to`.
fn replaced(code: &str, from: &str, to: &[&str]) -> Vec<Edit> {
    let places = code.match_indices(from).map(|(at, _)| at..at + from.len());
    places.flat_map(|place| to.iter().map(move |to| (place.clone(), to.to_string()))).collect()
}

/// The inside of each pair of square brackets that stands in no string, with something added; none unless `wanted`.
fn brackets(code: &str, wanted: bool, additions: &[&str]) -> Vec<Edit> {
    let mut edits = Vec::new();
    let mut open = Vec::new();
    let mut in_string = false;
    for (at, c) in code.char_indices().filter(|_| wanted) {
        match c {
            '"' => in_string = !in_string,
            _ if in_string => {}
            '[' => open.push(at + 1),
            ']' => {
                let inside = open.pop().unwrap_or(at)..at;
                let text = code[inside.clone()].trim();
                if text != "&" && !text.is_empty() {
                    edits.extend(additions.iter().map(|add| (inside.clone(), format!("({text}){add}"))));
                }
            }
            _ => {}
        }
    }
    edits
}

/// Indices one too high and one too low, but not in declarations.
fn shift_indices(code: &str) -> Vec<Edit> {
    brackets(code, !is_shared(code) && !is_local(code), &[" + 1", " - 1"])
}

/// Whether an array of shared memory is declared, or one that is a member of what lies there.
fn is_shared(code: &str) -> bool {
    let is_member = code.trim_start().starts_with("T ") && code.contains("][") && !code.contains('=');
    let rings = ["Stage stages[", "Barrier full[", "Barrier empty[", "Out c["];
    let is_ring = rings.iter().any(|start| code.trim_start().starts_with(start));
    is_member || is_ring || code.contains("__shared__") && !code.contains("extern")
}

/// Whether another array is declared.
fn is_local(code: &str) -> bool {
    let starts = ["alignas", "Vector ", "T ", "using ", "__device__", "extern", "char ", "Pair parts["];
    starts.iter().any(|start| code.trim_start().starts_with(start)) && !code.contains("](")
}

/// Each side of each `&&` and `||` left out, and each condition of a `?` and of an `if` taken to hold.
fn drop_conditions(code: &str) -> Vec<Edit> {
    let mut edits = Vec::new();
    for operator in [" && ", " || "] {
        for (at, _) in code.match_indices(operator) {
            let (left, right) = (start_of(code, at), end_of(code, at + operator.len()));
            edits.push((left..at + operator.len(), String::new()));
            edits.push((at..right, String::new()));
        }
    }
    for (at, _) in code.match_indices(" ? ") {
        edits.push((start_of(code, at)..at, "true".to_string()));
    }
    for (at, _) in code.match_indices("if (") {
        edits.push((at + 4..end_of(code, at + 4), "true".to_string()));
    }
    edits.extend(asynchronous::conditions(code));
    edits
}

/// Where the operand that ends at `end` begins: after `(`, `=` or another operator.
fn start_of(code: &str, end: usize) -> usize {
    let mut depth = 0;
    for (at, c) in code[..end].char_indices().rev() {
        match c {
            ')' => depth += 1,
            '(' if depth == 0 => return at + 1,
            '(' => depth -= 1,
            '=' if depth == 0 && code[at..].starts_with("= ") && !code[..at].ends_with(['<', '>', '=', '!']) => {
                return at + 2;
            }
            '|' | ';' if depth == 0 => return at + 2,
            _ => {}
        }
    }
    0
}

/// Where the operand that begins at `start` ends: before `)`, `?`, `;` or another operator.
fn end_of(code: &str, start: usize) -> usize {
    let mut depth = 0;
    for (at, c) in code[start..].char_indices() {
        match c {
            '(' => depth += 1,
            ')' if depth == 0 => return start + at,
            ')' => depth -= 1,
            '?' | ';' | '|' if depth == 0 => return start + at - 1,
            _ => {}
        }
    }
    code.len()
}

/// `place = inside ? value : T(0);` without the zero: what lies beyond the edge keeps what it was.
fn leave_unfilled(code: &str) -> Vec<Edit> {
    let Some((head, rest)) = code.split_once(" = ") else { return Vec::new() };
    let Some((condition, rest)) = rest.split_once(" ? ") else { return Vec::new() };
    let Some((value, _)) = rest.split_once(" : T(0);") else { return Vec::new() };
    let place = head.trim_start();
    let start = head.len() - place.len();
    let end = code.find(" : T(0);").map_or(code.len(), |at| at + " : T(0);".len());
    vec![(start..end, format!("if ({condition}) {place} = {value};"))]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(rule: &str, line: &str) -> Vec<String> {
        mutants(line).into_iter().filter(|m| m.rule == rule).map(|m| m.source.trim_end().to_string()).collect()
    }

    #[test]
    fn each_rule_makes_what_it_says() {
        assert_eq!(made("drop a barrier", "__syncthreads();  // full"), [";  // full"]);
        let rule = "drop or loosen a fence or a wait";
        assert_eq!(made(rule, "  __threadfence();"), ["  ;"]);
        assert_eq!(made(rule, "  asm(\"cp.async.wait_all;\" :);"), ["  ;"]);
        assert_eq!(made(rule, "asm(\"cp.async.wait_group %0;\" ::\"n\"(STAGES - 2));").len(), 2);
        assert_eq!(
            made("loosen a comparison", "if (a >= M || b < N) {"),
            ["if (a >= M || b <= N) {", "if (a > M || b < N) {"]
        );
        assert_eq!(made("shift an index", "C[i] = 1;"), ["C[(i) + 1] = 1;", "C[(i) - 1] = 1;"]);
        assert_eq!(made("shift an index", "auto load = [&](int b) {"), [""; 0]);
        assert_eq!(made("shift an index", "asm volatile(\"ld [%0];\");"), [""; 0]);
        assert_eq!(
            made("shrink a shared array", "__shared__ T As[M][N];"),
            ["__shared__ T As[(M) - 1][N];", "__shared__ T As[M][(N) - 1];"]
        );
        assert_eq!(made("shrink a shared array", "    T b[K][N];").len(), 2);
        assert_eq!(made("shrink a shared array", "    T e[V];"), [""; 0]);
        assert_eq!(made("shift an index", "    alignas(16) T a[2][TM];"), [""; 0]);
        assert_eq!(made("leave the edge unfilled", "  As[y] = a && b ? A[i] : T(0);"), ["  if (a && b) As[y] = A[i];"]);
        assert_eq!(made("take one for the other", "A[r * K + k]"), ["A[r * N + k]"]);
        assert_eq!(made("start or step off by one", "for (int k0 = 0; k0 < K; k0 += BK) {").len(), 3);
    }

    #[test]
    fn conditions_are_dropped_whole() {
        assert_eq!(
            made("drop a condition", "As[y] = r < M && k0 + x < K ? A[r] : T(0);"),
            ["As[y] = k0 + x < K ? A[r] : T(0);", "As[y] = r < M ? A[r] : T(0);", "As[y] = true ? A[r] : T(0);"]
        );
        assert_eq!(
            made("drop a condition", "if (f(a) < M && b < N) go();"),
            ["if (b < N) go();", "if (f(a) < M) go();", "if (true) go();"]
        );
    }

    #[test]
    fn comments_and_assertions_stay() {
        assert!(mutants("// a < b && A[i]\nstatic_assert(A < B, \"\");\n#pragma x[1]\n").is_empty());
    }
}
