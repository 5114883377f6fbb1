//! What a file says of its product in words: the comments above the kernel, its name, and the names of its matrices.

use cuda_source::roles::pointer_named;

use super::Try;
use super::formula::{Formula, Part};
use super::layout::Layout;
use crate::candidate::Candidate;
use crate::expression::parts;

/// Words that may stand between a matrix and how it lies.
const BETWEEN: [&str; 22] = [
    "is", "are", "in", "stored", "given", "as", "lies", "lie", "laid", "out", "kept", "held", "(", "[", "matrix",
    "half", "float", "double", "int8", "bf16", "m", "k",
];

/// Words for the one order of the two.
const COLUMNS_FIRST: [&str; 7] =
    ["column-major", "col-major", "column major", "col_major", "colmajor", "column by column", "by columns"];

/// Words for what is more than a product, or none.
const BEYOND: [&str; 26] = [
    "relu",
    "gelu",
    "silu",
    "swish",
    "sigmoid",
    "tanh",
    "softmax",
    "layernorm",
    "rmsnorm",
    "dequant",
    "quantized",
    "quantised",
    "dropout",
    "argmax",
    "argmin",
    "convolution",
    "im2col",
    "elementwise",
    "minplus",
    "min-plus",
    "maxplus",
    "tropical",
    "complex",
    "xnor",
    "popcount",
    "popc",
];

/// Words for matrices that lie tile by tile.
const IN_TILES: [&str; 10] = [
    "tiled layout",
    "blocked layout",
    "packed layout",
    "interleaved layout",
    "tile-major",
    "prepacked",
    "pre-packed",
    "repacked",
    "[n/",
    "[k/",
];

/// What a file says.
pub struct Said {
    /// In lower case, without blanks.
    flat: String,
    /// Words and signs, in lower case.
    tokens: Vec<String>,
    /// The kernel's name, in lower case.
    kernel: String,
    /// The names of A, B and C.
    names: [Vec<String>; 3],
}

impl Said {
    /// What the file of a kernel says.
    pub fn of(attempt: &Try, candidate: &Candidate) -> Said {
        let written = candidate.written.as_ref().map(|(_, choice)| &choice.kernel);
        let line = written.map_or(usize::MAX, |kernel| kernel.line as usize);
        let above: Vec<&str> = candidate.text.lines().take(line.saturating_sub(1)).collect();
        let words = parts(&attempt.args);
        let names = ["A", "B", "C"].map(|name| {
            let place = words.iter().position(|word| *word == name);
            let own = written.zip(place).and_then(|(kernel, place)| kernel.parameters.get(place));
            let own =
                own.filter(|own| !matches!(own.name.as_str(), "A" | "B" | "C")).map(|own| own.name.to_lowercase());
            [name.to_lowercase()].into_iter().chain(own).collect()
        });
        let kernel = written.map_or_else(String::new, |kernel| kernel.plain_name().to_lowercase());
        Said::read(&above.join("\n"), kernel, names)
    }

    fn read(code: &str, kernel: String, names: [Vec<String>; 3]) -> Said {
        let text = comments(code).to_lowercase();
        let text = COLUMNS_FIRST.iter().fold(text, |text, words| text.replace(words, " columns_first "));
        let flat = text.chars().filter(|c| !c.is_whitespace()).collect();
        Said { flat, tokens: tokens(&text), kernel, names }
    }

    fn has(&self, any: &[&str]) -> bool {
        any.iter().any(|words| self.flat.contains(words))
    }

    /// Whether a word stands there, or as a part of the kernel's name.
    fn has_word(&self, any: &[&str]) -> bool {
        let of_name = |word: &&str| self.kernel.split('_').any(|part| part == *word);
        any.iter().any(|word| of_name(word) || self.tokens.iter().any(|token| token == word))
    }

    /// Whether it says a formula or sizes at all: what is not among them is not meant.
    pub fn is_explicit(&self) -> bool {
        let [a, b, c] = &self.names;
        let product = |a: &String, b: &String| {
            ["*", "·", "×", "@"].iter().any(|sign| self.flat.contains(&format!("{a}{sign}{b}")))
                || self.flat.contains(&format!("]*{b}["))
        };
        let is_c = c.iter().any(|c| self.flat.contains(&format!("{c}=")) || self.flat.contains(&format!("{c}[m,n]=")));
        let turns = self.has(&["^t", "ᵀ", "transpos"]);
        a.iter().any(|a| b.iter().any(|b| product(a, b)))
            || is_c && !turns
            || self.has(&["row-major", "row_major", "rowmajor"])
    }

    /// Whether it says that the matrices lie so.
    pub fn has_layout(&self, layout: Layout) -> bool {
        let usual = match layout {
            Layout::Row => self.has(&["row-major", "row_major", "rowmajor", "byrows"]),
            Layout::Column => self.has_word(&["blas", "cublas", "fortran"]),
            Layout::Nt | Layout::Crc => self.has_word(&["nt"]),
            Layout::Tn | Layout::Rcc => self.has_word(&["tn"]),
            Layout::Tt | Layout::Rrc => self.has_word(&["tt"]),
        };
        let columns = layout.by_columns();
        usual || layout != Layout::Row && (0..3).all(|matrix| !columns[matrix] || self.is_turned(matrix))
    }

    /// Whether A, B or C is said to lie the other way round.
    fn is_turned(&self, matrix: usize) -> bool {
        let sizes: &[&str] = match matrix {
            0 => &["kxm", "k×m", "[k,m]", "[k][m]", "(k,m)"],
            1 => &["nxk", "n×k", "[n,k]", "[n][k]", "(n,k)"],
            _ => &["nxm", "n×m", "[n,m]", "[n][m]", "(n,m)", "ldc=m"],
        };
        let names = &self.names[matrix];
        let suffixed = |name: &String| {
            [
                format!("{name}^t"),
                format!("{name}ᵀ"),
                format!("{name}'"),
                format!("transpose({name})"),
                format!("trans({name})"),
            ]
            .iter()
            .any(|form| self.flat.contains(form))
        };
        let by_name = names.iter().any(|name| {
            ["t", "_t", "_trans", "_transposed", "trans", "transposed"]
                .iter()
                .any(|end| *name == format!("{}{end}", ["a", "b", "c"][matrix]))
        });
        self.has(sizes) || by_name || names.iter().any(suffixed) || self.is_told(matrix)
    }

    /// Whether "column-major" or "transposed" stands beside a matrix, or "column-major" beside none.
    fn is_told(&self, matrix: usize) -> bool {
        let is_name = |at: usize, of: usize| self.tokens.get(at).is_some_and(|token| self.names[of].contains(token));
        let of_any = |at: usize| (0..3).any(|of| is_name(at, of));
        let joins =
            |at: usize| self.tokens.get(at).is_some_and(|token| matches!(token.as_str(), "," | "and" | "&" | "/"));
        let between = |at: usize| self.tokens.get(at).is_some_and(|token| BETWEEN.contains(&token.as_str()));
        let told = |at: usize| {
            // `B is column-major`, `A and B (column-major)`.
            let mut back = at;
            while back > 0 && between(back - 1) && !of_any(back - 1) {
                back -= 1;
            }
            let mut of: Vec<usize> = Vec::new();
            while back > 0 && (of_any(back - 1) || !of.is_empty() && joins(back - 1)) {
                back -= 1;
                of.push(back);
            }
            // `column-major A, B and C`.
            let mut next = at + 1;
            while of.is_empty() && of_any(next) || !of.is_empty() && next > at + 1 && (of_any(next) || joins(next)) {
                of.push(next);
                next += 1;
            }
            let alone = of.is_empty() && self.tokens[at] == "columns_first";
            alone || of.iter().any(|&at| is_name(at, matrix))
        };
        let words = |at: &usize| matches!(self.tokens[*at].as_str(), "columns_first" | "transposed");
        (0..self.tokens.len()).filter(words).any(told)
    }

    /// Whether it says that this is computed.
    pub fn has_formula(&self, formula: &Formula) -> bool {
        let parts =
            formula.parts.iter().enumerate().all(|(matrix, part)| part.is_none_or(|part| self.has_part(matrix, part)));
        let times = formula.times;
        let taken_off = self.names[2].iter().any(|c| self.flat.contains(&format!("{c}-=")));
        let sign = if formula.added { taken_off == (times < 0.0) } else { times > 0.0 };
        let relu =
            !formula.relu || self.flat.contains("relu") || self.kernel.contains("relu") || self.flat.contains("max(0");
        parts
            && relu
            && sign
            && (!formula.added || self.is_added())
            && (times.abs() == 1.0 || self.has_factor(times.abs()))
    }

    fn is_added(&self) -> bool {
        let of_c = |c: &String| {
            [format!("{c}+="), format!("{c}-="), format!("{c}[m,n]+="), format!("added to {c}"), format!("adds to {c}")]
                .iter()
                .any(|form| self.flat.contains(&form.replace(' ', "")))
                || ["into", "onto", "to"].iter().any(|word| {
                    self.flat.contains("accumulate") && self.tokens.windows(2).any(|pair| pair[0] == *word && pair[1] == *c)
                })
                // `C = A * B + C`, and no `beta * C`.
                || self.tokens.windows(2).enumerate().any(|(at, pair)| {
                    let product = self.tokens.get(at + 2).is_some_and(|next| next == "*");
                    pair[0] == "+" && pair[1] == *c && !product
                })
                || self.flat.contains(&format!("={c}+"))
        };
        self.names[2].iter().any(of_c)
    }

    fn has_factor(&self, times: f64) -> bool {
        self.flat.contains(&format!("={times}*")) || self.flat.contains(&format!("{times}f*"))
    }

    fn has_part(&self, matrix: usize, part: Part) -> bool {
        let lower = ["lowertriang", "=l*", "*l.", "*l,", "tril", "trmm_lower", "trmm_l"];
        let upper = ["uppertriang", "=u*", "*u.", "*u,", "triu"];
        let (one, other) = if part.is_lower() {
            (lower, upper.as_slice())
        } else {
            (["uppertriang", "=u*", "*u.", "*u,", "triu", "trmm_upper", "trmm_u"], lower.as_slice())
        };
        let [word, opposite] = if part.is_lower() { ["lower", "upper"] } else { ["upper", "lower"] };
        let mentions = |word: &str| self.flat.contains(word) || self.kernel.contains(word);
        let of_side = self.has(&one) || mentions(word) && !mentions(opposite) && !self.has(other);
        let strictly =
            [format!("strictly{word}"), format!("strict{word}")].iter().any(|words| self.flat.contains(words));
        let unit = self.has(&[
            "unitdiag",
            "unit-diag",
            "unitlower",
            "unitupper",
            "unittriang",
            "implicitunit",
            "onesonthediagonal",
        ]);
        let symmetric = self.has(&["symm"]) || self.kernel.contains("symm");
        let kind = match part {
            Part::StrictlyLower | Part::StrictlyUpper => strictly,
            Part::UnitLower | Part::UnitUpper => unit,
            Part::SymmetricLower | Part::SymmetricUpper => symmetric,
            Part::Lower | Part::Upper => !strictly && !unit && (matrix == 2 || !symmetric),
        };
        let of_c = self.names[2]
            .iter()
            .any(|c| self.flat.contains(&format!("triangleof{c}")) || self.flat.contains(&format!("partof{c}")))
            || ["syrk", "syr2k", "herk", "gemmt"].iter().any(|word| mentions(word));
        of_side && kind && of_c == (matrix == 2)
    }

    /// A word of it for what is more than a product.
    pub fn beyond(&self) -> Option<&'static str> {
        let is_there = |word: &&str| {
            self.kernel.contains(*word)
                || self.tokens.iter().any(|token| token == word)
                || word.contains('-') && self.flat.contains(*word)
        };
        // That is a product, which was tried.
        let [a, b, _] = &self.names;
        let relu = a.iter().any(|a| b.iter().any(|b| self.flat.contains(&format!("=relu({a}*{b})"))));
        let divided = a.iter().any(|a| b.iter().any(|b| self.flat.contains(&format!("{a}*{b}/"))));
        if divided {
            return Some("/");
        }
        BEYOND.into_iter().find(|word| is_there(word) && !(relu && *word == "relu"))
    }

    /// Whether it says that what is taken for B stands before what is taken for A.
    pub fn has_factors_exchanged(&self) -> bool {
        let [a, b, _] = &self.names;
        a.iter().any(|a| b.iter().any(|b| self.flat.contains(&format!("={b}*{a}"))))
    }

    /// Whether the kernel's own names say which factor is the first.
    pub fn names_factors(&self) -> bool {
        self.names[..2].iter().flatten().all(|name| pointer_named(name).is_some())
    }

    /// A word of it for a matrix that lies tile by tile.
    pub fn in_tiles(&self) -> Option<&'static str> {
        IN_TILES.into_iter().find(|word| self.flat.contains(&word.replace(' ', "")))
    }

    /// Whether it says M, N and K as they are taken.
    pub fn has_sizes(&self) -> bool {
        self.has(&["mxk", "m×k", "[m,k]", "[m][k]", "(m,k)"]) && self.has(&["kxn", "k×n", "[k,n]", "[k][n]", "(k,n)"])
    }

    /// Whether it says that the kernel's K is the columns of C, and its N those of A.
    pub fn has_inner_n(&self) -> bool {
        self.has(&["mxn", "m×n", "[m,n]"])
            && self.has(&["nxk", "n×k", "[n,k]"])
            && self.has(&["mxk", "m×k", "[m,k]", "innersize", "bisnxk"])
    }
}

/// The comments of a text, without what is code.
fn comments(text: &str) -> String {
    let (mut found, mut rest) = (String::new(), text);
    while let Some(at) = rest.find("//").into_iter().chain(rest.find("/*")).min() {
        let is_line = rest[at..].starts_with("//");
        let end = if is_line { rest[at..].find('\n') } else { rest[at..].find("*/") };
        let end = end.map_or(rest.len(), |end| at + end);
        found += &rest[(at + 2).min(end)..end];
        found.push('\n');
        rest = rest[end..].strip_prefix("*/").unwrap_or(&rest[end..]);
    }
    found
}

fn tokens(text: &str) -> Vec<String> {
    let mut tokens: Vec<String> = Vec::new();
    let mut is_word = false;
    for c in text.chars() {
        let word = c.is_alphanumeric() || c == '_';
        match tokens.last_mut() {
            Some(last) if word && is_word => last.push(c),
            _ if !c.is_whitespace() => tokens.push(c.to_string()),
            _ => (),
        }
        is_word = word;
    }
    tokens
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(text: &str) -> Said {
        Said::read(text, String::new(), ["a", "b", "c"].map(|name| vec![name.to_string()]))
    }

    #[test]
    fn layouts_are_those_that_are_said() {
        let all: Vec<Layout> = Layout::Row.others().collect();
        for (text, layouts) in [
            ("// C = A * B", vec![]),
            ("// C = A * B^T", vec![Layout::Nt]),
            ("// C = A * B, B column-major (N rows of K), C row-major", vec![Layout::Nt]),
            ("// C[M,N] = A[M,K] * B[N,K]", vec![Layout::Nt]),
            ("// C = A^T * B, A is stored K x M", vec![Layout::Tn]),
            ("/* column-major A and B */", vec![Layout::Nt, Layout::Tn, Layout::Tt]),
            (
                "// C (column-major, MxN) = A * B with A row-major and B column-major",
                vec![Layout::Nt, Layout::Rcc, Layout::Rrc],
            ),
            ("float* b; // tiles are transposed in shared memory", vec![]),
        ] {
            let said = said(text);
            let found: Vec<Layout> = all.iter().copied().filter(|layout| said.has_layout(*layout)).collect();
            assert_eq!(found, layouts, "{text}");
        }
        assert!(all.iter().all(|layout| said("// column-major; double; C = A*B").has_layout(*layout)));
    }

    #[test]
    fn formulas_are_those_that_are_said() {
        for (text, formula, expected) in [
            ("// C += A * B", "C += A * B", true),
            ("// C = A * B + C", "C += A * B", true),
            ("// C = A * B, accumulated in float", "C += A * B", false),
            ("// C = alpha * A * B + beta * C", "C += A * B", false),
            (
                "// C = L * B with L lower triangular (strict upper part of A is not referenced)",
                "C = lower(A) * B",
                true,
            ),
            ("// C = L * B with L lower triangular", "C = upper(A) * B", false),
            ("// C = L * B with L the strictly lower triangle of A", "C = lower(A) * B", false),
            ("// C = L * B with L the strictly lower triangle of A", "C = strictly_lower(A) * B", true),
            ("// only the upper triangle of C is written", "upper(C) = A * B", true),
            ("// only the upper triangle of C is written", "C = upper(A) * B", false),
            ("// C = 0.5 * A * B", "C = 0.5 * A * B", true),
            ("// C = A * B", "C = -1 * A * B", false),
            ("// C += A * B", "C -= A * B", false),
            ("// C -= A * B", "C -= A * B", true),
            ("// C = A * B, 4x4 per thread", "C = 4 * A * B", false),
        ] {
            assert_eq!(said(text).has_formula(&formula.parse().unwrap()), expected, "{text} / {formula}");
        }
    }
}
