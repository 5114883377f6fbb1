//! In which type a kernel's instructions sum products. A product that is right within its tolerance does not show it.

use std::fmt;

use serde::Serialize;

/// One kind of product instruction in a kernel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Summed {
    /// The type of the sums, as PTX names it: `f16`.
    pub accumulator: String,
    /// The instruction: `mma m16n8k16`, or `fma`.
    pub instruction: String,
    /// The type of what is multiplied, as PTX names it.
    pub input: String,
    /// The lines of the text that it is made from, as far as PTX names them; of what is inlined, the line of the call.
    pub lines: Vec<u32>,
}

impl fmt::Display for Summed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Summed { accumulator, instruction, input, lines } = self;
        write!(f, "in {accumulator}: {instruction} of {input}")?;
        let numbers: Vec<String> = lines.iter().take(4).map(u32::to_string).collect();
        let more = if lines.len() > numbers.len() { ", …" } else { "" };
        match lines.len() {
            0 => Ok(()),
            1 => write!(f, " (line {})", numbers[0]),
            _ => write!(f, " (lines {}{more})", numbers.join(", ")),
        }
    }
}

/// The types in which the kernel of this name sums: of every product instruction of tensor cores; and where there is none, of
/// multiply-adds that are narrower than 32 bits, unless wider ones are there.
pub fn sums(ptx: &str, entry: &str) -> Vec<Summed> {
    let (mut of_cores, mut narrow, mut wide) = (Vec::new(), Vec::new(), false);
    let mut line = None;
    for text in body(ptx, entry).into_iter().flat_map(|line| line.split(';')) {
        if let Some(place) = text.strip_prefix(".loc") {
            line = place_of(place);
            continue;
        }
        // Assembly that is written into the text may stand in braces of its own.
        let text = text.trim_start_matches(['{', ' ', '\t']);
        let instruction = text.split_once(' ').filter(|_| text.starts_with('@')).map_or(text, |(_, rest)| rest.trim());
        let opcode = instruction.split_whitespace().next().unwrap_or_default().trim_end_matches(';');
        if let Some(found) = product(opcode) {
            add(&mut of_cores, found, line);
        } else if let Some(kind) = opcode.strip_prefix("fma.").and_then(|rest| rest.rsplit('.').next()) {
            match kind.strip_suffix("x2").filter(|kind| *kind != "f32").unwrap_or(kind) {
                kind @ ("f16" | "bf16") => add(&mut narrow, ["fma", kind, kind].map(String::from), line),
                _ => wide = true,
            }
        }
    }
    match of_cores.is_empty() && !wide {
        true => narrow,
        false => of_cores,
    }
}

fn add(all: &mut Vec<Summed>, [instruction, accumulator, input]: [String; 3], line: Option<u32>) {
    let mut summed = Summed { accumulator, instruction, input, lines: Vec::new() };
    let is_same = |known: &Summed| Summed { lines: Vec::new(), ..known.clone() } == summed;
    match all.iter_mut().find(|known| is_same(known)) {
        Some(known) => {
            known.lines.extend(line);
            known.lines.sort_unstable();
            known.lines.dedup();
        }
        None => {
            summed.lines.extend(line);
            all.push(summed);
        }
    }
}

/// A product instruction of tensor cores, its sums' type and that of its operands.
fn product(opcode: &str) -> Option<[String; 3]> {
    let name = [("wgmma.mma_async.", "wgmma"), ("wmma.mma.", "wmma"), ("mma.", "mma")];
    let (_, name) = name.into_iter().find(|(prefix, _)| opcode.starts_with(prefix))?;
    let words: Vec<&str> = opcode.split('.').collect();
    let is_shape = |word: &&&str| word.starts_with('m') && word.contains('n') && word.contains('k');
    let shape =
        words.iter().skip(1).find(is_shape).filter(|word| word[1..].starts_with(|c: char| c.is_ascii_digit()))?;
    let types: Vec<&str> = words.iter().copied().filter(|word| is_type(word)).collect();
    // The result comes first. A `wmma` with two types multiplies f16, as PTX has it.
    let input = match types.as_slice() {
        [_, _] if name == "wmma" => "f16",
        [_, input, ..] => input,
        _ => return None,
    };
    Some([format!("{name} {shape}"), types[0].to_string(), input.to_string()])
}

fn is_type(word: &str) -> bool {
    matches!(word, "f16" | "bf16" | "tf32" | "f32" | "f64" | "s32" | "s8" | "u8" | "s4" | "u4" | "b1" | "e4m3" | "e5m2")
        || matches!(word, "e2m1" | "e2m3" | "e3m2")
}

/// The lines of a kernel, and of all functions if it calls any.
fn body<'a>(ptx: &'a str, entry: &str) -> Vec<&'a str> {
    let mut parts: Vec<(bool, Vec<&str>)> = Vec::new();
    let mut depth = 0i32;
    let mut inside = false;
    for line in ptx.lines().map(str::trim) {
        if depth == 0 && (line.contains(".entry ") || line.contains(".func ")) {
            let name = line.split(".entry ").nth(1).map(|rest| rest.split('(').next().unwrap_or_default().trim());
            parts.push((name == Some(entry), Vec::new()));
            inside = true;
        }
        if let (true, Some((_, lines))) = (inside && depth > 0, parts.last_mut()) {
            lines.push(line);
        }
        depth += line.matches('{').count() as i32 - line.matches('}').count() as i32;
    }
    let own = parts.iter().position(|(is_own, _)| *is_own);
    let Some(own) = own else { return Vec::new() };
    let calls = parts[own].1.iter().any(|line| line.starts_with("call"));
    let kept = parts.into_iter().enumerate().filter(|(at, _)| calls || *at == own);
    kept.flat_map(|(_, (_, lines))| lines).collect()
}

/// The line that a `.loc` names: `1 12 5`, or of what is inlined that of the call.
fn place_of(text: &str) -> Option<u32> {
    let place = text.rsplit_once("inlined_at").map_or(text, |(_, place)| place);
    place.split_whitespace().nth(1)?.parse().ok().filter(|line| *line > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(code: &str) -> Vec<String> {
        let ptx = format!(
            ".visible .entry other(\n)\n{{\nmma.sync.m8n8k4.row.col.f64.f64.f64.f64 a;\n}}\n.visible .entry k(\n)\n{{\n{code}\n}}\n"
        );
        sums(&ptx, "k").iter().map(Summed::to_string).collect()
    }

    #[test]
    fn products_of_tensor_cores_say_their_sums() {
        let code = ".loc 1 7 3\n@%p1 mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%r1}, {%r2};\n\
                    .loc 2 90 1, function_name f, inlined_at 1 12 5\nwmma.mma.sync.aligned.row.col.m16n16k16.f32.f32 {%f1};\n\
                    wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {%f1};\nfma.rn.f16x2 %r1, %r2, %r3;";
        let expected = [
            "in f16: mma m16n8k16 of f16 (line 7)",
            "in f32: wmma m16n16k16 of f16 (line 12)",
            "in f32: wgmma m64n128k16 of bf16 (line 12)",
        ];
        assert_eq!(said(code), expected);
    }

    #[test]
    fn narrow_multiply_adds_count_where_no_wider_one_is() {
        let narrow = ".loc 1 7 3\nfma.rn.f16x2 %r1, %r2, %r3;\n.loc 1 8 3\n{fma.rn.f16 %rs1, %rs2, %rs3, %rs4;\n}";
        assert_eq!(said(narrow), ["in f16: fma of f16 (lines 7, 8)"]);
        assert!(said(&format!("{narrow}\nfma.rn.f32 %f1, %f2, %f3, %f4;")).is_empty());
    }
}
