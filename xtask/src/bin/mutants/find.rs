//! Places where a line can be wrong by one sign: an operator, a number, a condition, a statement that is not there.

use proc_macro2::Span;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{BinOp, Expr, Lit, Stmt, UnOp};

/// One error that can be put into a file.
#[derive(Debug, Clone)]
pub struct Mutant {
    /// The file, from the copy's root.
    pub file: String,
    /// Its line.
    pub line: usize,
    /// First and last byte of what it replaces.
    pub range: std::ops::Range<usize>,
    /// What stands there instead; `{}` is the question whether this mutant is chosen.
    pub text: String,
    /// What it changes, for a person. No other one of its file says the same.
    pub what: String,
}

/// All mutants of a file, and how many places are left out because nothing there can ask at run time.
pub fn mutants(file: &str, text: &str) -> syn::Result<(Vec<Mutant>, usize)> {
    let mut finder = Finder { file, text, found: Vec::new(), left_out: Counter(0) };
    finder.visit_file(&syn::parse_file(text)?);
    Ok((finder.found, finder.left_out.0))
}

struct Finder<'a> {
    file: &'a str,
    text: &'a str,
    found: Vec<Mutant>,
    left_out: Counter,
}

/// Counts operators and numbers.
struct Counter(usize);

impl<'ast> Visit<'ast> for Counter {
    fn visit_expr(&mut self, expr: &'ast Expr) {
        self.0 += match expr {
            Expr::Binary(binary) => usize::from(other(&binary.op).is_some()),
            Expr::Lit(lit) => usize::from(matches!(lit.lit, Lit::Int(_) | Lit::Bool(_))),
            _ => 0,
        };
        visit::visit_expr(self, expr);
    }
    fn visit_attribute(&mut self, _: &'ast syn::Attribute) {}
}

impl Finder<'_> {
    fn of(&self, span: Span) -> &str {
        &self.text[span.byte_range()]
    }

    /// The line in which it begins.
    fn line(&self, span: Span) -> &str {
        self.text.lines().nth(span.start().line - 1).unwrap_or_default().trim()
    }

    fn add(&mut self, span: Span, text: String, what: String) {
        let what = what.split_whitespace().collect::<Vec<_>>().join(" ");
        let (file, line) = (self.file.to_string(), span.start().line);
        let same = self.found.iter().filter(|other| other.what.split(" (again").next() == Some(&what)).count();
        let what = if same > 0 { format!("{what} (again: {})", same + 1) } else { what };
        self.found.push(Mutant { file, line, range: span.byte_range(), text, what });
    }

    fn without(&mut self, span: Span, statement: String) {
        let text = format!("if !{{}} {{{{ {} }}}}", braced(&statement));
        self.add(span, text, format!("without `{statement}`"));
    }
}

/// The text as it stands in a template.
fn braced(text: &str) -> String {
    text.replace('{', "{{").replace('}', "}}")
}

/// The operator that is easily written instead.
fn other(op: &BinOp) -> Option<&'static str> {
    Some(match op {
        BinOp::Add(_) => "-",
        BinOp::Sub(_) | BinOp::Mul(_) => "+",
        BinOp::Div(_) | BinOp::Rem(_) => "*",
        BinOp::And(_) => "||",
        BinOp::Or(_) => "&&",
        BinOp::BitXor(_) | BinOp::BitAnd(_) => "|",
        BinOp::BitOr(_) => "&",
        BinOp::Shl(_) => ">>",
        BinOp::Shr(_) => "<<",
        BinOp::Eq(_) => "!=",
        BinOp::Ne(_) => "==",
        BinOp::Lt(_) => "<=",
        BinOp::Le(_) => "<",
        BinOp::Gt(_) => ">=",
        BinOp::Ge(_) => ">",
        BinOp::AddAssign(_) => "-=",
        BinOp::SubAssign(_) => "+=",
        BinOp::BitOrAssign(_) => "&=",
        BinOp::BitAndAssign(_) | BinOp::BitXorAssign(_) => "|=",
        _ => return None,
    })
}

fn is_let(expr: &Expr) -> bool {
    match expr {
        Expr::Let(_) => true,
        Expr::Binary(binary) if matches!(binary.op, BinOp::And(_)) => is_let(&binary.left) || is_let(&binary.right),
        _ => false,
    }
}

fn is_test(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| attribute.path().is_ident("cfg") || attribute.path().is_ident("test"))
}

impl<'ast> Visit<'ast> for Finder<'_> {
    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        if !is_test(&item.attrs) {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        match item.sig.constness {
            _ if is_test(&item.attrs) => {}
            Some(_) => self.left_out.visit_item_fn(item),
            None => visit::visit_item_fn(self, item),
        }
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        match item.sig.constness {
            Some(_) => self.left_out.visit_impl_item_fn(item),
            None => visit::visit_impl_item_fn(self, item),
        }
    }

    // Nothing in these can ask at run time.
    fn visit_item_const(&mut self, it: &'ast syn::ItemConst) {
        self.left_out.visit_item_const(it);
    }
    fn visit_item_static(&mut self, it: &'ast syn::ItemStatic) {
        self.left_out.visit_item_static(it);
    }
    fn visit_impl_item_const(&mut self, it: &'ast syn::ImplItemConst) {
        self.left_out.visit_impl_item_const(it);
    }
    fn visit_pat(&mut self, it: &'ast syn::Pat) {
        self.left_out.visit_pat(it);
    }
    fn visit_type(&mut self, it: &'ast syn::Type) {
        self.left_out.visit_type(it);
    }
    fn visit_variant(&mut self, it: &'ast syn::Variant) {
        self.left_out.visit_variant(it);
    }
    fn visit_generic_argument(&mut self, it: &'ast syn::GenericArgument) {
        self.left_out.visit_generic_argument(it);
    }
    fn visit_expr_const(&mut self, it: &'ast syn::ExprConst) {
        self.left_out.visit_expr_const(it);
    }
    fn visit_attribute(&mut self, _: &'ast syn::Attribute) {}
    fn visit_expr_repeat(&mut self, repeat: &'ast syn::ExprRepeat) {
        self.visit_expr(&repeat.expr);
        self.left_out.visit_expr(&repeat.len);
    }

    /// How much room is reserved changes nothing but the time that it takes.
    fn visit_expr_call(&mut self, call: &'ast syn::ExprCall) {
        match &*call.func {
            Expr::Path(path) if path.path.segments.last().is_some_and(|last| last.ident == "with_capacity") => {}
            _ => visit::visit_expr_call(self, call),
        }
    }

    fn visit_stmt(&mut self, stmt: &'ast Stmt) {
        if let Stmt::Expr(expr, Some(_)) = stmt {
            let statement = self.of(stmt.span()).to_string();
            let deletable = match expr {
                Expr::Call(_) | Expr::MethodCall(_) | Expr::Assign(_) | Expr::Try(_) => true,
                Expr::Binary(binary) => other(&binary.op).is_some_and(|op| op.ends_with('=')),
                _ => false,
            };
            if deletable {
                self.without(stmt.span(), statement);
            }
        }
        visit::visit_stmt(self, stmt);
    }

    fn visit_expr(&mut self, expr: &'ast Expr) {
        match expr {
            Expr::Binary(binary) if !is_let(expr) => {
                if let Some(op) = other(&binary.op) {
                    let (left, right) = (self.of(binary.left.span()), self.of(binary.right.span()));
                    let was = self.of(binary.op.span());
                    let (l, r) = (braced(left), braced(right));
                    let text = format!("(if {{}} {{{{ {l} {op} {r} }}}} else {{{{ {l} {was} {r} }}}})");
                    let what = format!("`{op}` for `{was}` in `{}`", self.of(expr.span()));
                    self.add(expr.span(), text, what);
                }
            }
            Expr::Unary(unary) if matches!(unary.op, UnOp::Not(_)) => {
                let inner = self.of(unary.expr.span()).to_string();
                let i = braced(&inner);
                let text = format!("(if {{}} {{{{ {i} }}}} else {{{{ !{i} }}}})");
                self.add(expr.span(), text, format!("`{inner}` without its `!`"));
            }
            Expr::Lit(lit) => match &lit.lit {
                Lit::Int(_) => {
                    let number = self.of(lit.span()).to_string();
                    let text = format!("(if {{}} {{{{ {number} + 1 }}}} else {{{{ {number} }}}})");
                    self.add(lit.span(), text, format!("one more than {number} in `{}`", self.line(lit.span())));
                }
                Lit::Bool(bool) => {
                    let value = bool.value;
                    self.add(
                        lit.span(),
                        format!("({value} != {{}})"),
                        format!("not {value} in `{}`", self.line(lit.span())),
                    );
                }
                _ => {}
            },
            _ => {}
        }
        if let Expr::If(conditional) = expr {
            let cond = &conditional.cond;
            if matches!(**cond, Expr::Call(_) | Expr::MethodCall(_) | Expr::Path(_) | Expr::Field(_)) {
                let text = self.of(cond.span()).to_string();
                let turned = format!("({{}} != {})", braced(&text));
                self.add(cond.span(), turned, format!("if not `{text}`"));
            }
        }
        visit::visit_expr(self, expr);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_where_something_is_computed_and_have_names_of_their_own() {
        let text = "const N: u32 = 4;\nfn f(a: u32) -> u32 {\n    let mut b = Vec::with_capacity(a + 9);\n    b.push(1);\n    if a == 2 { a + 1 } else { a + 1 }\n}\n";
        let (found, left_out) = mutants("f.rs", text).expect("it is Rust");
        let what: Vec<&str> = found.iter().map(|mutant| mutant.what.as_str()).collect();
        let line = "if a == 2 { a + 1 } else { a + 1 }";
        let one = format!("one more than 1 in `{line}`");
        let again = format!("{one} (again: 2)");
        let two = format!("one more than 2 in `{line}`");
        let wanted = [
            "without `b.push(1);`",
            "one more than 1 in `b.push(1);`",
            "`!=` for `==` in `a == 2`",
            &two,
            "`-` for `+` in `a + 1`",
            &one,
            "`-` for `+` in `a + 1` (again: 2)",
            &again,
        ];
        assert_eq!(what, wanted);
        assert_eq!(left_out, 1);
    }
}
