//! Which small change makes a wrong kernel right. Each is made in the PTX, everywhere at one place of the text, and run before it is said.

use std::collections::HashMap;

/// Changes that are tried at most.
const MOST: usize = 96;
/// A name for a parameter's value that no compiler gives.
const OTHER: &str = "%mend";
/// Ways of one change that are said alike, at most.
const WAYS: usize = 2;
/// What a comparison is taken for.
const NEXT_TO: [(&str, &str); 4] = [("lt", "le"), ("le", "lt"), ("gt", "ge"), ("ge", "gt")];

/// A change of a kernel.
struct Change {
    /// Where in the text, what it is, and which of several ways: lines that have all of these change together.
    key: (String, String, usize),
    /// The lines, by their numbers, and what they become.
    lines: Vec<(usize, String)>,
    /// The likelier ones are tried first.
    rank: usize,
    /// Whether it may be right by chance, because of sizes.
    of_sizes: bool,
}

/// What becomes of a statement.
struct Made {
    /// The likelier ones have a lower one.
    rank: usize,
    /// What is said, with `{}` for the place.
    what: String,
    /// Which of several ways that are said alike.
    way: usize,
    new: String,
    /// It changes with all others of the kernel.
    everywhere: bool,
    /// As [`Change::of_sizes`].
    of_sizes: bool,
}

/// A parameter: its name in the PTX, and its type.
type Declared<'a> = (&'a str, &'a str);

/// What is known of the kernel besides a line.
struct Known<'a> {
    parameters: Vec<Declared<'a>>,
    /// The source's names of those that are numbers.
    names: &'a [Option<String>],
    /// The parameter that a register holds.
    held: HashMap<&'a str, usize>,
}

/// In words, the first change by which the kernel is right, of as many as may be tried. `is_right` is told whether sizes may make it so by chance.
pub fn first(
    (ptx, entry, names): (&str, &str, &[Option<String>]),
    tries: usize,
    is_right: &dyn Fn(&str, bool) -> bool,
) -> Option<String> {
    let lines: Vec<&str> = ptx.lines().collect();
    let mut all = changes(&lines, entry, names)?;
    all.sort_by_key(|change| change.rank);
    let made = |change: &Change| {
        let mut lines = lines.clone();
        change.lines.iter().for_each(|(at, text)| lines[*at] = text);
        lines.join("\n") + "\n"
    };
    let found = all.iter().take(tries.min(MOST)).find(|change| is_right(&made(change), change.of_sizes))?;
    let (place, what, _) = &found.key;
    let place = if place.is_empty() { String::new() } else { format!(" at {place}") };
    Some(what.replacen("{}", &place, 1))
}

fn changes(lines: &[&str], entry: &str, names: &[Option<String>]) -> Option<Vec<Change>> {
    let is_head = |line: &&str| {
        let mut words = line.split([' ', '\t', '(']).skip_while(|word| *word != ".entry");
        words.nth(1) == Some(entry)
    };
    let from = lines.iter().position(is_head)?;
    let begin = from + lines[from..].iter().position(|line| line.trim() == "{")?;
    let end = begin + lines[begin..].iter().position(|line| *line == "}")?;
    let parameter = |line: &&'_ str| line.trim().starts_with(".param");
    let declared = lines[from..begin].iter().copied().filter(parameter).map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        (words.last().map_or("", |word| word.trim_end_matches([',', ')'])), words.get(1).copied().unwrap_or_default())
    });
    let mut known = Known { parameters: declared.collect(), names, held: HashMap::new() };
    let files: HashMap<&str, &str> = lines.iter().filter_map(|line| file(line)).collect();
    let (mut all, mut place, mut column): (Vec<Change>, String, usize) = (Vec::new(), String::new(), 0);
    for (at, line) in lines[begin..end].iter().enumerate() {
        let text = line.trim();
        if let Some(here) = text.strip_prefix(".loc") {
            // What the compiler has merged is of no line.
            if let Some(known) = placed(here, &files) {
                (place, column) = known;
            }
            continue;
        }
        let Some(statement) = text.strip_suffix(';').filter(|text| !text.starts_with(['.', '/', '$'])) else {
            continue;
        };
        for Made { rank, what, way, new, everywhere, of_sizes } in known.of(statement) {
            // Of several conditions in a line each has a column of its own.
            let key = if everywhere { (String::new(), what, way) } else { (place.clone(), what, WAYS * column + way) };
            match all.iter_mut().find(|change| change.key == key) {
                Some(change) => change.lines.push((begin + at, new)),
                None => all.push(Change { key, lines: vec![(begin + at, new)], rank, of_sizes }),
            }
        }
        known.note(statement);
    }
    Some(all)
}

/// `.file 1 "/path/kernel.cu"`.
fn file(line: &str) -> Option<(&str, &str)> {
    let (number, path) = line.trim().strip_prefix(".file")?.trim().split_once(' ')?;
    Some((number, path.split('"').nth(1)?.rsplit('/').next()?))
}

/// Where the text has it, in the function that the kernel's own text calls; and the column. Nothing of line 0.
fn placed(text: &str, files: &HashMap<&str, &str>) -> Option<(String, usize)> {
    let outer = text.rsplit("inlined_at").next().unwrap_or(text);
    let mut words = outer.split([' ', '\t', ',']).filter(|word| !word.is_empty());
    let (file, line) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let column = words.next().and_then(|word| word.parse().ok()).unwrap_or(0);
    (line != "0").then(|| (format!("{}:{line}", files.get(file).copied().unwrap_or("the kernel")), column))
}

/// The operands, with what stands in braces as one.
fn operands(text: &str) -> Vec<&str> {
    let (mut depth, mut from, mut all) = (0, 0, Vec::new());
    for (at, letter) in text.char_indices() {
        match letter {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                all.push(text[from..at].trim());
                from = at + 1;
            }
            _ => (),
        }
    }
    all.push(text[from..].trim());
    all
}

/// A list in braces with two of its registers exchanged.
fn exchanged(list: &str, [one, other]: [usize; 2]) -> Option<String> {
    let mut all: Vec<&str> = list.trim().strip_prefix('{')?.strip_suffix('}')?.split(',').map(str::trim).collect();
    (all.len() > other).then(|| all.swap(one, other))?;
    Some(format!("{{{}}}", all.join(", ")))
}

impl<'a> Known<'a> {
    /// Notes what a statement puts into a register.
    fn note(&mut self, statement: &'a str) {
        let (opcode, rest) = statement.split_once([' ', '\t']).unwrap_or((statement, ""));
        let Some((register, from)) = rest.split_once(',').map(|(to, from)| (to.trim(), from.trim())) else { return };
        if opcode.starts_with("ld.param") {
            let name = from.trim_matches(['[', ']']);
            let found = self.parameters.iter().position(|(other, _)| *other == name);
            found.map(|index| self.held.insert(register, index));
        }
    }

    /// The changes of a statement.
    fn of(&self, statement: &str) -> Vec<Made> {
        let (guard, rest) = match statement.starts_with('@') {
            true => statement.split_once(' ').unwrap_or((statement, "")),
            false => ("", statement),
        };
        let (opcode, list) = rest.trim().split_once([' ', '\t']).unwrap_or((rest, ""));
        let all = operands(list);
        let made = |opcode: &str, all: &[&str]| format!("{guard} {opcode} {};", all.join(", "));
        let mut found = Vec::new();
        let mut add = |rank, what: &str, way, new: String| {
            let everywhere = !what.contains("{}");
            let of_sizes = opcode.starts_with("setp");
            found.push(Made { rank, what: what.to_string(), way, new, everywhere, of_sizes });
        };
        if let Some(kind) = opcode.strip_prefix("shfl.sync.down") {
            let what = "with `__shfl_xor_sync` in the place of `__shfl_down_sync` every element is right: by the latter the value is in lane 0 alone, and \
                        others use theirs. Lane 0 may hand it on as well, `__shfl_sync(mask, value, 0)`";
            add(0, what, 0, made(&format!("shfl.sync.bfly{kind}"), &all));
        }
        if opcode.starts_with("ldmatrix") {
            let (what, new) = match opcode.contains(".trans") {
                true => ("without `.trans` of the `ldmatrix`{}", opcode.replace(".trans", "")),
                false => ("with `.trans` of the `ldmatrix`{}", opcode.replacen(".shared", ".trans.shared", 1)),
            };
            add(1, &format!("{what} every element is right"), 0, made(&new, &all));
        }
        if let (true, [to, a, b, more @ ..]) = (opcode.starts_with("mma.sync"), all.as_slice()) {
            for (index, pair, which) in
                [(1, [1, 2], "the second and third register of A"), (2, [0, 1], "the two registers of B")]
            {
                let Some(new) = exchanged([a, b][index - 1], pair) else { continue };
                let mut other = vec![*to, *a, *b];
                other[index] = &new;
                other.extend(more);
                let order = "of A they are [row][k], [row + 8][k], [row][k + half], [row + 8][k + half], of B [k] and [k + half] of its column";
                let what = format!("with {which} of each `mma` exchanged every element is right: {order}");
                add(2, &what, 0, made(opcode, &other));
            }
        }
        if let (Some(compared), [_, _, _]) = (opcode.strip_prefix("setp."), all.as_slice()) {
            let next = NEXT_TO.iter().find_map(|(one, other)| Some((one, other, compared.strip_prefix(one)?)));
            if let Some((_, other, kind)) = next.filter(|(.., kind)| !kind.contains('f')) {
                let what = "with the other of `<` and `<=` (`>=` and `>`) in the comparison{} every element is right";
                add(4, what, 0, made(&format!("setp.{other}{kind}"), &all));
            }
        }
        match all.as_slice() {
            [to, from, number]
                if matches!(opcode, "max.f32" | "min.f32" | "max.s32" | "min.s32") && !number.contains("%r") =>
            {
                let what = format!(
                    "without the `{}`{{}} every element is right: it cuts what is still to be added to, or what is to come as it is",
                    &opcode[..3]
                );
                add(5, &what, 0, made(&format!("mov.{}", opcode.rsplit('.').next().unwrap_or("b32")), &[to, from]));
            }
            [to, one, other] if matches!(opcode, "mul.f32" | "mul.f64") => {
                for (way, kept) in [one, other].into_iter().enumerate() {
                    let what = "without the multiplication{} every element is right: is it done twice?";
                    add(5, what, way, made(&opcode.replace("mul", "mov"), &[to, kept]));
                }
            }
            _ => (),
        }
        found.extend(self.other_parameters(guard, opcode, &all));
        found
    }

    /// Another parameter in the place of one that a statement takes.
    fn other_parameters(&self, guard: &str, opcode: &str, all: &[&str]) -> Vec<Made> {
        let mut found = Vec::new();
        if opcode.starts_with("ld.param") || opcode.starts_with("cvta") {
            return found;
        }
        for (at, word) in all.iter().enumerate().skip(1) {
            let Some((own, name)) = self.held.get(word).and_then(|own| Some((*own, self.names.get(*own)?.as_ref()?)))
            else {
                continue;
            };
            let kind = self.parameters[own].1;
            for (other, (register, _)) in self.parameters.iter().enumerate().filter(|(_, declared)| declared.1 == kind)
            {
                let Some(instead) = self.names.get(other).and_then(Option::as_ref).filter(|_| other != own) else {
                    continue;
                };
                let mut operands = all.to_vec();
                operands[at] = OTHER;
                let new = format!(
                    "{{ .reg {kind} {OTHER}; ld.param{kind} {OTHER}, [{register}]; {guard} {opcode} {}; }}",
                    operands.join(", ")
                );
                let what = format!("with `{instead}` in the place of `{name}`{{}} every element is right");
                found.push(Made { rank: 3, what, way: 0, new, everywhere: false, of_sizes: true });
            }
        }
        found
    }
}
