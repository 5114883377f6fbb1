//! PTX with the lowest `.version` and `.target` that its instructions need, so that older drivers and cards take it.
//!
//! Only these two lines change, and a hint that older versions do not know is left out.

use emulator::isa::{self, Isa, Needed, Target, needs};

/// The lowest that anything is lowered to: the architecture is Pascal's, the oldest of the cards that are served.
const FLOOR: Needed = Needed { sm: 60, ..isa::FLOOR };

/// A hint to ptxas, which bytes of a load are used, and the version that it came with.
const HINT: (&str, &str) = (".pragma \"used_bytes_mask", "8.3");

/// PTX, and what was lowered in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lowered {
    /// The PTX.
    pub ptx: String,
    /// `.version 9.0 -> 7.0`, `.target sm_75 -> sm_60`.
    pub changes: Vec<String>,
}

/// What the module declares: its version and its architecture.
pub fn declared(ptx: &str) -> Option<(Isa, Target)> {
    let value = |name| ptx.lines().find_map(|line| operand(line, name));
    Some((value(".version")?.parse().ok()?, value(".target")?.parse().ok()?))
}

/// What its instructions need; nothing, if one of them is not known.
pub fn needed(ptx: &str) -> Option<Needed> {
    let text = without_comments(ptx);
    let mut most = FLOOR;
    let directives = text.split_whitespace().filter(|word| word.starts_with('.'));
    for directive in directives {
        most = most.and(needs(&[directive.trim_end_matches([',', ';'])])?);
    }
    for statement in text.split(';') {
        if let Some(instruction) = instruction(statement) {
            most = most.and(needs(&words(instruction))?);
        }
    }
    Some(most)
}

/// As low as the instructions allow.
pub fn lowest(ptx: &str) -> Lowered {
    lowered(ptx, |_, needed| needed.isa, |_, needed| needed.sm)
}

/// As low as a driver and a card ask for, and no lower: a driver that is not known asks for the lowest. A card that knows the
/// target leaves it alone, for what the target says of scheduling holds on newer cards too.
pub fn lowered_for(ptx: &str, driver: Option<Isa>, card: u32) -> Lowered {
    let isa = |declared: Isa, needed: &Needed| declared.min(needed.isa.max(driver.unwrap_or(FLOOR.isa)));
    lowered(ptx, isa, |target, needed| if target.runs_on(card) { target.sm } else { needed.sm })
}

fn lowered(ptx: &str, isa: impl Fn(Isa, &Needed) -> Isa, sm: impl Fn(&Target, &Needed) -> u32) -> Lowered {
    let mut lowered = Lowered { ptx: ptx.to_string(), changes: Vec::new() };
    let (Some((version, target)), Some(needed)) = (declared(ptx), needed(ptx)) else { return lowered };
    let to = isa(version, &needed);
    if to < version {
        lowered.change(".version", &version.to_string(), &to.to_string());
        lowered.leave_hints_out(to);
    }
    // What only one architecture has cannot be lowered away from it.
    let to = sm(&target, &needed);
    if needed.suffix.is_empty() && to < target.sm {
        lowered.change(".target", &target.to_string(), &format!("sm_{to}"));
    }
    lowered
}

impl Lowered {
    /// Leaves out what a version does not know, and what means nothing.
    fn leave_hints_out(&mut self, version: Isa) {
        let (hint, since) = HINT;
        let is_hint = |line: &&str| line.trim_start().starts_with(hint);
        if since.parse().is_ok_and(|since: Isa| version < since) && self.ptx.lines().any(|line| is_hint(&line)) {
            self.ptx = self.ptx.split_inclusive('\n').filter(|line| !is_hint(line)).collect();
            self.changes.push("no used_bytes_mask".to_string());
        }
    }

    fn change(&mut self, directive: &str, from: &str, to: &str) {
        let mut lines: Vec<String> = self.ptx.split('\n').map(str::to_string).collect();
        if let Some(line) = lines.iter_mut().find(|line| operand(line, directive) == Some(from)) {
            *line = line.replacen(from, to, 1);
            self.changes.push(format!("{directive} {from} -> {to}"));
        }
        self.ptx = lines.join("\n");
    }
}

/// What stands behind a directive at the beginning of a line, up to a comma or a space.
fn operand<'a>(line: &'a str, directive: &str) -> Option<&'a str> {
    line.trim_start().strip_prefix(directive)?.trim_start().split([',', ' ', '\t', '\r']).next()
}

/// The text without comments, strings, and the directives that have a line of their own and no semicolon.
fn without_comments(ptx: &str) -> String {
    let mut text = String::with_capacity(ptx.len());
    let mut rest = ptx;
    while let Some(at) = rest.find(['/', '"']) {
        text.push_str(&rest[..at]);
        rest = &rest[at..];
        let kinds = [("//", "\n"), ("/*", "*/"), ("\"", "\"")];
        let Some((open, close)) = kinds.iter().find(|(open, _)| rest.starts_with(open)) else {
            text.push('/');
            rest = &rest[1..];
            continue;
        };
        text.push('\n');
        let inside = &rest[open.len()..];
        rest = inside.find(close).map_or("", |end| &inside[end + close.len()..]);
    }
    text.push_str(rest);
    let alone = [".loc", ".file", ".version", ".target", ".address_size"];
    let stays = |line: &&str| !alone.iter().any(|directive| operand(line, directive).is_some());
    text.lines().filter(stays).collect::<Vec<_>>().join("\n")
}

/// The instruction of a statement, without braces, labels and predicate before it; nothing, if it declares.
fn instruction(statement: &str) -> Option<&str> {
    let mut rest = statement.trim_start();
    loop {
        rest = rest.trim_start();
        let end = rest.find(|c: char| c.is_whitespace() || c == ':').unwrap_or(rest.len());
        match rest.chars().next()? {
            '{' | '}' | ')' | '(' => rest = &rest[1..],
            '@' => rest = &rest[end..],
            _ if rest[end..].starts_with(':') && !rest[end..].starts_with("::") => rest = &rest[end + 1..],
            // A declaration ends at a semicolon, a function's head at its body.
            '.' if rest.contains('=') => return None,
            '.' => rest = &rest[rest.rfind('{')? + 1..],
            c if c.is_ascii_lowercase() => return Some(rest),
            _ => return None,
        }
    }
}

/// The words of an instruction: its name's, and the special registers that it reads.
fn words(instruction: &str) -> Vec<&str> {
    let (name, operands) = instruction.split_once(char::is_whitespace).unwrap_or((instruction, ""));
    let separators = |c: char| !(c.is_alphanumeric() || c == '%' || c == '_');
    let registers = operands.split(separators).filter(|word| word.starts_with('%'));
    name.split('.').chain(registers).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "// by a compiler\n.version 9.0\n.target sm_90\n.address_size 64\n\n";

    fn module(body: &str) -> String {
        format!(
            "{HEAD}.visible .entry k(\n.param .u64 k_param_0\n)\n.maxntid 32, 1, 1\n{{\n.reg .b32 %r<9>;\n{body}\nret;\n}}\n"
        )
    }

    fn changes(body: &str) -> String {
        lowest(&module(body)).changes.join(", ")
    }

    #[test]
    fn an_instruction_has_what_it_needs() {
        for (body, expected) in [
            ("fma.rn.f64 %fd1, %fd2, %fd3, %fd4;", ".version 9.0 -> 7.0, .target sm_90 -> sm_60"),
            (".loc 1 7 9\n@%p1 bra $L__BB0_2;\n$L__BB0_2:", ".version 9.0 -> 7.0, .target sm_90 -> sm_60"),
            (
                "// begin inline asm\ncp.async.cg.shared.global [%r1], [%rd1], 16;",
                ".version 9.0 -> 7.0, .target sm_90 -> sm_80",
            ),
            (
                "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {a,b}, {c}, {d}, {a,b};",
                ".version 9.0 -> 7.0, .target sm_90 -> sm_80",
            ),
            ("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64\n {a}, {b}, {c}, {d};", ".version 9.0 -> 7.8"),
            ("{\n@!%p1 mbarrier.try_wait.shared.b64 %p2, [%r1], %rd2;\n}", ".version 9.0 -> 7.8"),
            ("mov.u32 %r1, %cluster_ctarank;", ".version 9.0 -> 7.8"),
            ("L: cp.async.bulk.commit_group;", ".version 9.0 -> 8.0"),
            ("wgmma.fence.sync.aligned;", ".version 9.0 -> 8.0"),
        ] {
            assert_eq!(changes(body), expected, "{body}");
        }
    }

    #[test]
    fn a_hint_that_the_version_does_not_know_is_left_out() {
        let body =
            "ld.param.u32 %r1, [k_param_0];\n.pragma \"used_bytes_mask 15\";\nld.param.v2.u32 {%r2, %r3}, [k_param_0];";
        let lowered = lowest(&module(body));
        assert_eq!(lowered.changes[0], ".version 9.0 -> 7.0");
        assert!(lowered.changes.contains(&"no used_bytes_mask".to_string()), "{:?}", lowered.changes);
        assert!(!lowered.ptx.contains(".pragma") && lowered.ptx.contains("%r2, %r3"), "{}", lowered.ptx);
        let stays = lowered_for(&module(body), "8.3".parse().ok(), 90);
        assert!(stays.ptx.contains(".pragma"), "{}", stays.ptx);
    }

    #[test]
    fn what_is_not_known_stays_as_it_is() {
        let later = module("newmath.sync.f32 %f1, %f2;");
        assert_eq!(lowest(&later), Lowered { ptx: later, changes: Vec::new() });
        for text in ["", ".version", "ret;", ".version 9.x\n.target sm_90\n", "/* open", "\"open", "{{{{;;@", "a:b::c"]
        {
            assert_eq!(lowest(text).ptx, text);
        }
    }

    #[test]
    fn only_two_lines_change() {
        let ptx = module("st.global.f32 [%rd1], %f1;");
        let lowered = lowest(&ptx).ptx;
        let different: Vec<(&str, &str)> = ptx.lines().zip(lowered.lines()).filter(|(a, b)| a != b).collect();
        assert_eq!(different, [(".version 9.0", ".version 7.0"), (".target sm_90", ".target sm_60")]);
        assert_eq!(ptx.lines().count(), lowered.lines().count());
        assert_eq!(lowest(&lowered).changes, [""; 0]);
    }

    #[test]
    fn comments_and_strings_need_nothing() {
        let body = "// wgmma.fence;\n/* setmaxnreg.inc; */ .pragma \"wgmma; tcgen05.mma;\";\nret;";
        assert_eq!(changes(body), ".version 9.0 -> 7.0, .target sm_90 -> sm_60");
    }

    #[test]
    fn a_target_that_the_card_knows_stays() {
        for declared in [60, 70, 75, 80, 90, 100] {
            let ptx = module("ret;").replace("sm_90", &format!("sm_{declared}"));
            for card in [60, 61, 70, 75, 80, 86, 89, 90, 100, 103, 120] {
                for driver in [None, Some(Isa(7, 0)), Some(Isa(9, 2))] {
                    let lowered = super::declared(&lowered_for(&ptx, driver, card).ptx).unwrap().1.sm;
                    assert_eq!(lowered, if card >= declared { declared } else { 60 }, "sm_{declared} on sm_{card}");
                }
            }
        }
    }

    #[test]
    fn text_needs_what_the_decoded_kernel_needs() {
        let archive = concat!(env!("CARGO_MANIFEST_DIR"), "/../emulator/tests/ptx/forms.ptx.zst");
        let mut forms = 0;
        for (name, text) in archive::Texts::read(archive.as_ref()).unwrap().iter() {
            let kernel = emulator::Module::parse(text).unwrap().kernel("form").unwrap();
            let decoded = kernel.oldest_architecture().map_or(FLOOR.sm, |(sm, _)| sm.max(FLOOR.sm));
            let read = needed(text).unwrap_or_else(|| panic!("{name} has what the table does not know"));
            assert_eq!(read.sm, decoded, "{name}");
            forms += 1;
        }
        assert!(forms > 800, "only {forms} forms");
    }

    #[test]
    fn a_driver_and_a_card_get_what_they_know_and_no_less() {
        let changes = |body: &str, driver, card| lowered_for(&module(body), driver, card).changes.join(", ");
        assert_eq!(changes("ret;", Some(Isa(9, 0)), 90), "");
        assert_eq!(changes("ret;", Some(Isa(8, 4)), 100), ".version 9.0 -> 8.4");
        assert_eq!(changes("ret;", Some(Isa(8, 4)), 61), ".version 9.0 -> 8.4, .target sm_90 -> sm_60");
        assert_eq!(changes("ret;", None, 90), ".version 9.0 -> 7.0");
        assert_eq!(changes("elect.sync %r1|%p1, 1;", Some(Isa(7, 8)), 90), ".version 9.0 -> 8.0");
        let special = module("ret;").replace("sm_90", "sm_90a");
        assert_eq!(lowered_for(&special, Some(Isa(9, 0)), 90).changes, [""; 0]);
        assert_eq!(lowered_for(&special, Some(Isa(9, 0)), 120).changes, [".target sm_90a -> sm_60"]);
    }
}
