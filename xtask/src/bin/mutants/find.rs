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
    /// What it changes, for a person.
    pub what: String,
}

/// All mutants of a file.
pub fn mutants(file: &str, text: &str) -> syn::Result<Vec<Mutant>> {
    let mut finder = Finder { file, text, found: Vec::new() };
    finder.visit_file(&syn::parse_file(text)?);
    Ok(finder.found)
}

struct Finder<'a> {
    file: &'a str,
    text: &'a str,
    found: Vec<Mutant>,
}

impl Finder<'_> {
    fn of(&self, span: Span) -> &str {
        &self.text[span.byte_range()]
    }

    fn add(&mut self, span: Span, text: String, what: String) {
        let what = what.split_whitespace().collect::<Vec<_>>().join(" ");
        let (file, line) = (self.file.to_string(), span.start().line);
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
        if !is_test(&item.attrs) && item.sig.constness.is_none() {
            visit::visit_item_fn(self, item);
        }
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        if item.sig.constness.is_none() {
            visit::visit_impl_item_fn(self, item);
        }
    }

    // Nothing in these can ask at run time.
    fn visit_item_const(&mut self, _: &'ast syn::ItemConst) {}
    fn visit_item_static(&mut self, _: &'ast syn::ItemStatic) {}
    fn visit_impl_item_const(&mut self, _: &'ast syn::ImplItemConst) {}
    fn visit_pat(&mut self, _: &'ast syn::Pat) {}
    fn visit_type(&mut self, _: &'ast syn::Type) {}
    fn visit_variant(&mut self, _: &'ast syn::Variant) {}
    fn visit_generic_argument(&mut self, _: &'ast syn::GenericArgument) {}
    fn visit_expr_const(&mut self, _: &'ast syn::ExprConst) {}
    fn visit_attribute(&mut self, _: &'ast syn::Attribute) {}
    fn visit_expr_repeat(&mut self, repeat: &'ast syn::ExprRepeat) {
        self.visit_expr(&repeat.expr);
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
                    self.add(lit.span(), text, format!("one more than {number}"));
                }
                Lit::Bool(bool) => {
                    let value = bool.value;
                    self.add(lit.span(), format!("({value} != {{}})"), format!("not {value}"));
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
