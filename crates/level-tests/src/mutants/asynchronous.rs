//! What each rule makes of a line of asynchronous code: bulk copies, barriers in shared memory, products of a warpgroup, rings.
//! A line that has a statement of its own is a statement here; a kernel's helpers are told by their names.

use super::{Edit, replaced};

/// Arrivals, commits and barriers left out, each a statement that is a line.
pub fn left_out(code: &str) -> Vec<Edit> {
    const CALLS: [&str; 11] = [
        "arrive(",
        "arrive_at(",
        "arrive_and_expect(",
        "give_back(",
        "meet();",
        "meet_group(",
        "meet<",
        "meet_cluster();",
        "sync_cluster();",
        "commit_products();",
        "commit_stores();",
    ];
    const COMMITS: [&str; 2] = ["wgmma.commit_group", "cp.async.bulk.commit_group"];
    let text = code.trim();
    let is_it = CALLS.iter().any(|call| text.starts_with(call)) || is_asm_of(text, &COMMITS);
    if is_it { whole(code) } else { Vec::new() }
}

/// Fences and waits left out, and waits that leave one group more under way.
pub fn waits(code: &str) -> Vec<Edit> {
    const ASM: [&str; 6] = [
        "fence.proxy",
        "fence.mbarrier_init",
        "wgmma.fence",
        "wgmma.wait_group",
        "cp.async.bulk.wait_group",
        "setmaxnreg",
    ];
    const CALLS: [&str; 8] = [
        "wait(",
        "show_barriers();",
        "show_writes();",
        "begin_products();",
        "await_products<",
        "await_stores<",
        "keep_registers<",
        "get_registers<",
    ];
    let text = code.trim();
    let mut edits = Vec::new();
    if CALLS.iter().any(|call| text.starts_with(call)) || is_asm_of(text, &ASM) {
        edits.extend(whole(code));
    }
    for call in ["await_products", "await_stores"] {
        edits.extend(replaced(code, &format!("{call}<0>"), &[&format!("{call}<1>")]));
        edits.extend(replaced(code, &format!("{call}<1>"), &[&format!("{call}<2>")]));
    }
    if text.contains("wait_group") {
        edits.extend(replaced(code, " 0;\"", &[" 1;\""]));
        edits.extend(replaced(code, " 1;\"", &[" 2;\""]));
    }
    edits
}

/// Counts of arrivals and of bytes, places of boxes, strides of operands and numbers of registers that are a little off.
pub fn off_by_one(code: &str) -> Vec<Edit> {
    let mut edits = Vec::new();
    let mut off = |call: &str, which: &[usize], by: &[&str]| {
        let found = arguments(code, call);
        for range in which.iter().filter_map(|&place| found.get(place)) {
            edits.extend(by.iter().map(|by| (range.clone(), format!("({}){by}", &code[range.clone()]))));
        }
    };
    off("init(", &[1], &[" + 1", " - 1"]);
    off("arrive_and_expect(", &[1], &[" + 16", " - 16"]);
    off("load_box(", &[2, 3], &[" + 1"]);
    off("load_box_for_all(", &[2, 3], &[" + 1"]);
    off("load_box_for_all<CLUSTER>(", &[2, 3], &[" + 1"]);
    off("store_box(", &[2, 3], &[" + 1"]);
    off("descriptor(", &[1, 2], &[" + 16", " - 16"]);
    if is_asm_of(code.trim(), &["setmaxnreg"]) {
        edits.extend(replaced(code, "(KEPT)", &["(KEPT + 8)"]));
        edits.extend(replaced(code, "(GOT)", &["(GOT + 8)"]));
    }
    edits.extend(replaced(code, "keep_registers<KEPT>", &["keep_registers<KEPT + 8>"]));
    edits.extend(replaced(code, "get_registers<GOT>", &["get_registers<GOT + 8>"]));
    if code.contains("multiply(") || code.contains("multiply<") {
        edits.extend(replaced(code, "k * 2,", &["k * 2 + 1,"]));
        edits.extend(replaced(code, "128, ", &["128 + 1, "]));
        edits.extend(replaced(code, "128), ", &["128) + 1, "]));
    }
    edits.extend(replaced(code, "%0, 128;\"", &["%0, 256;\""]));
    edits
}

/// Conditions that hold always: in an argument, and before the end of a statement.
pub fn conditions(code: &str) -> Vec<Edit> {
    const PAIRS: [(&str, &str); 3] =
        [("1024, TRANSPOSED ?", "1024, true ?"), (" && tid > 0;", ";"), (" && !idle;", ";")];
    PAIRS.iter().flat_map(|(from, to)| replaced(code, from, &[to])).collect()
}

/// One phase, barrier, matrix or coordinate taken for the other.
pub fn mixed_up(code: &str) -> Vec<Edit> {
    const PAIRS: [(&str, &str); 24] = [
        ("parity ^= 1", "parity ^= 0"),
        ("parity ^ 1)", "parity)"),
        (".parity);", ".parity ^ 1);"),
        (", parity);", ", parity ^ 1);"),
        ("buffer ^= 1", "buffer ^= 0"),
        ("wait(s.full[", "wait(s.empty["),
        ("wait(s.empty[", "wait(s.full["),
        ("(s.empty[before]", "(s.full[before]"),
        ("(s.empty[at]", "(s.full[at]"),
        ("before = ring.at", "before = 0"),
        (" map_a, ", " map_b, "),
        (" map_b, ", " map_a, "),
        ("(group + 1)", "(1)"),
        ("step + k)", "step)"),
        ("step + k)", "1)"),
        ("1 << CLUSTER) - 1", "1 << CLUSTER) - 2"),
        ("load_box_for_all<CLUSTER>", "load_box_for_all<1>"),
        ("n = 64 * rank", "n = 64"),
        ("K, lda)", "K, ldb)"),
        (", K, ldb)", ", K, lda)"),
        (", N, ldb)", ", N, lda)"),
        ("[row * ldc", "[row * ldb"),
        (" *= alpha", " *= beta"),
        ("beta * number", "alpha * number"),
    ];
    if code.contains("__grid_constant__") {
        return Vec::new();
    }
    let mut edits: Vec<Edit> = PAIRS.iter().flat_map(|(from, to)| replaced(code, from, &[to])).collect();
    for (call, one, other) in [
        ("load_box(", 2, 3),
        ("load_box_for_all(", 2, 3),
        ("load_box_for_all<CLUSTER>(", 2, 3),
        ("store_box(", 2, 3),
        ("descriptor(", 1, 2),
    ] {
        let found = arguments(code, call);
        if let (Some(one), Some(other)) = (found.get(one), found.get(other)) {
            edits.push((one.start..other.end, format!("{}, {}", &code[other.clone()], &code[one.clone()])));
        }
    }
    edits
}

/// Whether a statement is inline assembly of one of these instructions.
fn is_asm_of(text: &str, instructions: &[&str]) -> bool {
    let Some(body) = text.strip_prefix("asm volatile(\"") else { return false };
    text.ends_with(';') && instructions.iter().any(|name| body.starts_with(name))
}

/// The whole statement left out.
fn whole(code: &str) -> Vec<Edit> {
    vec![(code.len() - code.trim_start().len()..code.trim_end().len(), ";".to_string())]
}

/// The arguments of a call in a line that ends with the statement; none of a declaration.
fn arguments(code: &str, call: &str) -> Vec<std::ops::Range<usize>> {
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    let Some(open) = code.find(call).filter(|&at| !code[..at].ends_with(is_name)) else { return Vec::new() };
    if code.contains("__device__") || !code.trim_end().ends_with(';') {
        return Vec::new();
    }
    let (mut start, mut depth, mut found) = (open + call.len(), 0, Vec::new());
    for (at, c) in code.char_indices().filter(|(at, _)| *at >= open + call.len()) {
        match c {
            '(' | '[' => depth += 1,
            ')' if depth == 0 => {
                found.push(start..at);
                break;
            }
            ')' | ']' => depth -= 1,
            ',' if depth == 0 => {
                found.push(start..at);
                start = at + 2;
            }
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(edits: fn(&str) -> Vec<Edit>, line: &str) -> Vec<String> {
        let put = |(range, after): Edit| format!("{}{after}{}", &line[..range.start], &line[range.end..]);
        edits(line).into_iter().map(put).collect()
    }

    #[test]
    fn a_statement_is_left_out_and_a_declaration_stays() {
        for line in ["  arrive(full);", "meet();", "asm volatile(\"wgmma.commit_group.sync.aligned;\" ::: \"memory\");"]
        {
            assert_eq!(made(left_out, line).concat().trim(), ";", "{line}");
        }
        for line in ["meet<128>(group + 1);", "  commit_products();"] {
            assert_eq!(made(left_out, line).concat().trim(), ";", "{line}");
        }
        for line in [
            "wait(s.full[now], parity);",
            "show_writes();",
            "get_registers<GOT>();",
            "asm volatile(\"fence.proxy.async;\" ::: \"memory\");",
        ] {
            assert_eq!(made(waits, line), [";"], "{line}");
        }
        for line in
            ["__device__ void arrive(Barrier& b) {", "__device__ void wait(Barrier& b, int parity) {", "int wait;"]
        {
            assert!(left_out(line).is_empty() && waits(line).is_empty() && off_by_one(line).is_empty(), "{line}");
        }
    }

    #[test]
    fn a_wait_leaves_one_group_more() {
        let line = "asm volatile(\"cp.async.bulk.wait_group.read 1;\" ::: \"memory\");";
        assert_eq!(made(waits, line), [";", &line.replace(" 1;", " 2;")]);
        let line = "asm volatile(\"wgmma.wait_group.sync.aligned 0;\" ::: \"memory\");";
        assert_eq!(made(waits, line), [";", &line.replace(" 0;", " 1;")]);
        assert_eq!(made(waits, "await_products<1>();"), [";", "await_products<2>();"]);
    }

    #[test]
    fn counts_and_places_are_shifted() {
        assert_eq!(
            made(off_by_one, "init(s.full[i], maps ? 1 : 2);"),
            ["init(s.full[i], (maps ? 1 : 2) + 1);", "init(s.full[i], (maps ? 1 : 2) - 1);"]
        );
        assert_eq!(
            made(off_by_one, "arrive_and_expect(full, sizeof(Stage));"),
            ["arrive_and_expect(full, (sizeof(Stage)) + 16);", "arrive_and_expect(full, (sizeof(Stage)) - 16);"]
        );
        assert_eq!(
            made(off_by_one, "load_box(a, map, r, k * 2, full);"),
            ["load_box(a, map, (r) + 1, k * 2, full);", "load_box(a, map, r, (k * 2) + 1, full);"]
        );
        assert_eq!(made(off_by_one, "x = descriptor(p, 1024, 16);").len(), 4);
        assert_eq!(made(off_by_one, "asm volatile(\"setmaxnreg.inc %0;\" ::\"n\"(GOT));").len(), 1);
    }

    #[test]
    fn one_is_taken_for_the_other() {
        assert_eq!(made(mixed_up, "load_box(a, map, r, k, full);"), ["load_box(a, map, k, r, full);"]);
        assert_eq!(
            made(mixed_up, "wait(s.empty[ring.at], ring.parity ^ 1);"),
            ["wait(s.empty[ring.at], ring.parity);", "wait(s.full[ring.at], ring.parity ^ 1);"]
        );
        assert_eq!(made(mixed_up, "parity ^= 1;"), ["parity ^= 0;"]);
        assert_eq!(
            made(mixed_up, "load_box_for_all<CLUSTER>(b, map, r, k, full);"),
            ["load_box_for_all<1>(b, map, r, k, full);", "load_box_for_all<CLUSTER>(b, map, k, r, full);"]
        );
    }
}
