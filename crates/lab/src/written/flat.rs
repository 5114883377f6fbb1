//! Kernels that take each matrix as a structure, by value: the same with all members as parameters of their own.
//!
//! The kernel becomes a function of the device, in its place, and a kernel of its name behind the last line calls it. So the lines of
//! faults are those of the file.

use cuda_source::roles::{Role, pointer_named};

const GLOBAL: &str = "__global__";
const DEVICE: &str = "__device__";
/// Behind the name of what was the kernel.
const INNER: &str = "_of_structures";

/// A structure that is nothing but its members: their types and names.
struct Structure {
    name: String,
    members: Vec<(String, String)>,
}

/// A kernel's head: where it begins and its name ends, its name and parameters, and whether a body follows.
struct Head {
    start: usize,
    end: usize,
    name: String,
    parameters: Vec<(String, String)>,
    has_body: bool,
}

/// The text with kernels that take structures of matrices made flat; nothing, where there are none, or it is not clear which matrix
/// one stands for.
pub fn flattened(text: &str) -> Option<String> {
    let code = blanked(text);
    let structures = structures(&code);
    let (mut flat, mut behind) = (text.to_string(), String::new());
    // From the last one on, so that places stay what they are.
    for Head { start, end, name, parameters, has_body } in heads(&code).into_iter().rev() {
        let structure = |of: &str| structures.iter().find(|structure| structure.name == bare(of));
        // A declaration may leave names out.
        if !parameters.iter().any(|(of, own)| structure(of).or(structure(own)).is_some()) {
            continue;
        }
        flat.insert_str(end, INNER);
        flat.replace_range(start..start + GLOBAL.len(), DEVICE);
        if !has_body {
            continue;
        }
        let (mut taken, mut made, mut passed) = (Vec::new(), String::new(), Vec::new());
        for (of, own) in &parameters {
            passed.push(own.clone());
            let Some(Structure { name, members }) = structure(of) else {
                taken.push(format!("{of} {own}"));
                continue;
            };
            let is_matrix = members.iter().any(|(of, _)| of.contains('*'));
            let named = pointer_named(own).filter(|role| matches!(role, Role::A | Role::B | Role::C));
            let matrix = named.filter(|_| is_matrix)?;
            let names: Vec<String> = members.iter().map(|member| format!("{}_{matrix:?}", meaning(member))).collect();
            taken.extend(members.iter().zip(&names).map(|((of, _), name)| format!("{of} {name}")));
            made += &format!("    {name} {own}{{{}}};\n", names.join(", "));
        }
        // The line of the call is shown where a fault is.
        let (taken, passed) = (taken.join(", "), passed.join(", "));
        behind += &format!("\n{GLOBAL} void {name}({taken}) {{\n{made}    {name}{INNER}({passed});\n}}\n");
    }
    (!behind.is_empty()).then(|| flat + &behind)
}

/// What a member says of its matrix, in words that stand for a parameter's role beside the matrix's letter.
fn meaning((of, name): &(String, String)) -> String {
    match name.to_ascii_lowercase().as_str() {
        _ if of.ends_with('*') => "data".to_string(),
        "height" | "rows" | "row" | "nrows" | "numrows" | "num_rows" | "m" | "h" => "rows".to_string(),
        "width" | "cols" | "col" | "columns" | "ncols" | "numcols" | "num_cols" | "n" | "k" | "w" => "cols".to_string(),
        "stride" | "pitch" | "ld" => "stride".to_string(),
        other => other.to_string(),
    }
}

/// A type without `const`, and without `struct`.
fn bare(of: &str) -> &str {
    let trimmed = of.trim_start_matches("const ").trim_start_matches("struct ").trim();
    trimmed.strip_suffix(" const").unwrap_or(trimmed)
}

/// Comments as blanks: of the same length, line by line.
fn blanked(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("//").into_iter().chain(rest.find("/*")).min() {
        let is_line = rest[at..].starts_with("//");
        let end = if is_line { rest[at..].find('\n') } else { rest[at..].find("*/").map(|end| end + 2) };
        let end = end.map_or(rest.len(), |end| at + end);
        code += &rest[..at];
        code.extend(rest[at..end].bytes().map(|byte| if byte == b'\n' { '\n' } else { ' ' }));
        rest = &rest[end..];
    }
    code + rest
}

/// `struct NAME { … };` and `typedef struct { … } NAME;`, if all that they have are members.
fn structures(code: &str) -> Vec<Structure> {
    let mut found = Vec::new();
    for (at, word) in code.match_indices("struct") {
        let behind = &code[at + word.len()..];
        let Some((head, rest)) = behind.split_once('{') else { continue };
        let Some((body, tail)) = rest.split_once('}') else { continue };
        let tail = tail.split(';').next().unwrap_or_default().trim();
        let is_typedef = code[..at].trim_end().ends_with("typedef");
        let name = if is_typedef { tail } else { head.trim() };
        let members = members(body);
        if is_name(name) && !members.is_empty() && !body.contains(['(', '[', '=', ':']) {
            found.push(Structure { name: name.to_string(), members });
        }
    }
    found
}

/// `int m, n; float* data;`
fn members(body: &str) -> Vec<(String, String)> {
    let mut members = Vec::new();
    for line in body.split(';').map(str::trim).filter(|line| !line.is_empty()) {
        let mut names = line.split(',');
        let (of, first) = split(names.next().unwrap_or_default());
        members.push((of.clone(), first));
        members.extend(names.map(|name| (of.clone(), name.trim().to_string())));
    }
    members
}

/// Every `__global__ … NAME(…)` that is no template.
fn heads(code: &str) -> Vec<Head> {
    let mut found = Vec::new();
    for (start, word) in code.match_indices(GLOBAL) {
        let before = code[..start].rsplit([';', '}']).next().unwrap_or_default();
        let behind = &code[start + word.len()..];
        let Some((head, rest)) = behind.split_once('(') else { continue };
        let Some((parameters, tail)) = rest.split_once(')') else { continue };
        let name = head.split_whitespace().last().unwrap_or_default();
        if before.contains("template") || !is_name(name) || head.contains("__launch_bounds__") {
            continue;
        }
        let parameters = parameters.split(',').map(split).collect();
        let end = start + word.len() + head.trim_end().len();
        let has_body = tail.trim_start().starts_with('{');
        found.push(Head { start, end, name: name.to_string(), parameters, has_body });
    }
    found
}

/// A declaration's type and name: `const float*` and `a`.
fn split(declared: &str) -> (String, String) {
    let declared = declared.split_whitespace().collect::<Vec<_>>().join(" ").replace(" *", "*");
    let at = declared.rfind([' ', '*']).map_or(0, |at| at + 1);
    (declared[..at].trim().to_string(), declared[at..].to_string())
}

fn is_name(word: &str) -> bool {
    !word.is_empty() && word.chars().all(|c| c.is_alphanumeric() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::flattened;

    #[test]
    fn members_become_parameters_that_say_whose_they_are() {
        let text = "typedef struct {\n  int width;  // a row\n  int height, stride;\n  float* elements;\n} Matrix;\n\
                    __global__ void multiply(const Matrix, const Matrix, Matrix);\n\
                    __global__ void multiply(const Matrix A, Matrix d_B, Matrix C, float alpha)\n{\n}\n";
        let flat = flattened(text).unwrap();
        let inner = text.replace("__global__", "__device__").replace("multiply(", "multiply_of_structures(");
        let expected = "\n__global__ void multiply(int cols_A, int rows_A, int stride_A, float* data_A, int cols_B, int rows_B, \
                        int stride_B, float* data_B, int cols_C, int rows_C, int stride_C, float* data_C, float alpha) {\n    \
                        Matrix A{cols_A, rows_A, stride_A, data_A};\n    Matrix d_B{cols_B, rows_B, stride_B, data_B};\n    \
                        Matrix C{cols_C, rows_C, stride_C, data_C};\n    multiply_of_structures(A, d_B, C, alpha);\n}\n";
        assert_eq!(flat, inner + expected);
    }

    #[test]
    fn what_has_no_structure_or_no_matrix_in_it_stays() {
        for text in [
            "__global__ void k(float* A, int n) {}\n",
            "struct P { float x; };\n__global__ void k(P* A, P& b) {}\n",
            "struct P { float x; };\n__global__ void k(P particle) {}\n",
            "struct P { float x; P() {} };\n__global__ void k(P A) {}\n",
            "struct P { float x; };\ntemplate <int N>\n__global__ void k(P A) {}\n",
            "struct P { float x; };\n// __global__ void k(P A) {}\n",
            "__global__",
            "struct",
            "/*",
            "__global__ void k(",
            "struct A {",
        ] {
            assert_eq!(flattened(text), None, "{text}");
        }
    }
}
