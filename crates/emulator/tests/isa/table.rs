//! The rows of `data/isa-9.0.txt`: the instructions of PTX by family. The emulator's test and that of what ptxas says read them here.

use emulator::isa::Target;

/// A row.
pub struct Row {
    /// `runs`, `no effect` or `refused`.
    pub status: &'static str,
    /// The oldest that has the samples.
    pub target: Target,
    pub names: Vec<&'static str>,
    /// Statements, with what they need around them.
    pub samples: &'static str,
    /// Why it is refused, if it is.
    pub why: &'static str,
}

/// All rows, in their order.
pub fn rows() -> Vec<Row> {
    let lines = include_str!("../data/isa-9.0.txt").lines();
    let rows: Vec<Row> = lines.filter(|line| !line.is_empty() && !line.starts_with('#')).map(row).collect();
    assert!(rows.len() > 140, "{} rows", rows.len());
    rows
}

fn row(line: &'static str) -> Row {
    let [status, target, names, samples, ref word @ ..] = line.split(" | ").collect::<Vec<_>>()[..] else {
        panic!("`{line}` has too few columns");
    };
    assert!(["runs", "no effect", "refused"].contains(&status) && word.len() <= 1, "{line}");
    Row {
        status,
        target: target.parse().unwrap_or_else(|()| panic!("`{target}` is no target: {line}")),
        names: names.split(", ").collect(),
        samples,
        why: word.first().map_or("", |word| word.rsplit(": ").next().unwrap_or(word)),
    }
}

impl Row {
    /// The samples one by one, without label, guard and brackets.
    pub fn statements(&self) -> Vec<&'static str> {
        let bare = |statement: &'static str| {
            let mut rest = statement.trim().trim_start_matches("{ ");
            while let Some((label, behind)) = rest.split_once(':')
                && label.chars().all(|c| c.is_ascii_uppercase())
            {
                rest = behind.trim();
            }
            rest
        };
        self.samples.split(';').map(bare).filter(|statement| !["", "}"].contains(statement)).collect()
    }
}

/// A module for a GPU, with a kernel of these statements among the registers that the samples name.
pub fn module(target: Target, statements: &str) -> String {
    let wide = if statements.contains("q0") { ".reg .b128 q<2>;" } else { "" };
    format!(
        ".version 9.0\n.target {target}\n.address_size 64\n.func callee()\n{{\nret;\n}}\n\
         .visible .entry sample(.param .align 64 .b8 in[128])\n{{\n.reg .pred p<4>; .reg .b16 h<4>; .reg .b32 r<16>; .reg .b32 a<4>;\n\
         .reg .b64 x<8>; .reg .b64 g<4>; .reg .f32 f<16>; .reg .f64 d<8>; {wide}\n{statements}\nret;\n}}\n"
    )
}
