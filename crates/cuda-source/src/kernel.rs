//! The kernels of a program.

use crate::guards::is_compared;
use crate::item::{Item, What};
use crate::macros::Macros;
use crate::token::{Piece, written};
use crate::types::{self, Scalar};
use crate::unit::Unit;

/// A parameter of a template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TemplateParameter {
    /// Its name; empty where it has none.
    pub name: String,
    /// `typename`, `int`, `const int`, …
    pub kind: String,
    /// What it is where nothing is said.
    pub default: Option<String>,
}

impl TemplateParameter {
    /// Whether it stands for a type.
    pub fn is_type(&self) -> bool {
        self.kind.starts_with("typename") || self.kind.starts_with("class")
    }
}

/// A parameter of a kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parameter {
    /// Its name; empty where it has none.
    pub name: String,
    /// Its type as it is written, without the name.
    pub type_name: String,
    /// The type that it points to, or that it has: `float` of `const float* __restrict__`.
    pub element: String,
    /// Whether it is a pointer.
    pub pointer: bool,
    /// Whether what it points to is constant.
    pub constant: bool,
    /// What its element is, as far as that is known.
    pub scalar: Option<Scalar>,
    /// Whether the body compares it, outside the heads of loops: most likely a guard of an edge.
    pub guarded: bool,
}

/// A kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kernel {
    /// Its name, with namespaces: `a::gemm`.
    pub name: String,
    /// The parameters of its template; none where it is no template.
    pub template: Vec<TemplateParameter>,
    /// Its parameters.
    pub parameters: Vec<Parameter>,
    /// What `__launch_bounds__` says.
    pub launch_bounds: Option<String>,
    /// What `__cluster_dims__` says.
    pub cluster_dims: Option<String>,
    /// The path of its file.
    pub path: String,
    /// Its line there.
    pub line: u32,
    /// Whether it is `extern "C"`.
    pub extern_c: bool,
    /// Whether this is its definition.
    pub(crate) defined: bool,
}

impl Kernel {
    /// Its parameters as its text has them: `const float* A`.
    pub fn declared(&self) -> Vec<String> {
        let said = |parameter: &Parameter| format!("{} {}", parameter.type_name, parameter.name).trim_end().to_string();
        self.parameters.iter().map(said).collect()
    }

    /// Its name without namespaces.
    pub fn plain_name(&self) -> &str {
        self.name.rsplit("::").next().unwrap_or_default()
    }

    /// The template's parameters, as a hint writes them: `gemm<int BM, typename T>`.
    pub fn signature(&self) -> String {
        let parameter = |p: &TemplateParameter| format!("{} {}", p.kind, p.name).trim().to_string();
        match self.template.is_empty() {
            true => self.name.clone(),
            false => format!("{}<{}>", self.name, self.template.iter().map(parameter).collect::<Vec<_>>().join(", ")),
        }
    }
}

/// All kernels, each once.
pub fn kernels(units: &[Unit], macros: &Macros) -> Vec<Kernel> {
    let mut found: Vec<Kernel> = Vec::new();
    for unit in units {
        let mut finder = Finder { unit, macros, units, found: Vec::new() };
        finder.items(&unit.items, "", false);
        for kernel in finder.found {
            let same = |other: &Kernel| other.name == kernel.name && other.parameters.len() == kernel.parameters.len();
            match found.iter_mut().find(|other| same(other)) {
                Some(other) if !other.defined && kernel.defined => *other = kernel,
                Some(_) => (),
                None => found.push(kernel),
            }
        }
    }
    found
}

struct Finder<'a> {
    unit: &'a Unit,
    units: &'a [Unit],
    macros: &'a Macros,
    found: Vec<Kernel>,
}

impl Finder<'_> {
    fn items(&mut self, items: &[Item], scope: &str, linkage: bool) {
        let unit = self.unit;
        for item in items {
            match item.what {
                What::Scope if unit.word(item.all.start) == "extern" => self.items(&item.inner, scope, true),
                What::Scope => {
                    let names =
                        item.head.clone().skip(1).filter(|&at| unit.is_name(at) && unit.word(at) != "namespace");
                    let inner = names.fold(scope.to_string(), |inner, at| inner + unit.word(at) + "::");
                    self.items(&item.inner, &inner, linkage);
                }
                What::Function if (item.head.start..item.name).any(|at| self.macros.is_global(unit.word(at))) => {
                    self.found.extend(self.kernel(item, scope, linkage));
                }
                _ => (),
            }
        }
    }

    fn kernel(&self, item: &Item, scope: &str, linkage: bool) -> Option<Kernel> {
        let unit = self.unit;
        // A specialization is an instance of its template.
        let open = item.name + 1;
        if !unit.is_sign(open, "(") {
            return None;
        }
        let behind = unit.behind_group(open, item.all.end);
        let parameters = unit.list(open + 1, behind - 1).into_iter().map(|(from, to)| unit.pieces(from, to));
        let mut parameters: Vec<Parameter> = parameters.filter_map(|pieces| self.parameter(&pieces)).collect();
        for parameter in &mut parameters {
            parameter.guarded = is_compared(unit, item.body.clone(), &parameter.name);
        }
        let bounds = |name: &str| {
            let at = item.head.clone().find(|&at| unit.word(at) == name && unit.is_sign(at + 1, "("))?;
            Some(written(&unit.pieces(at + 2, unit.behind_group(at + 1, item.head.end) - 1)))
        };
        Some(Kernel {
            name: format!("{scope}{}", unit.word(item.name)),
            template: template(unit, item),
            parameters,
            launch_bounds: bounds("__launch_bounds__"),
            cluster_dims: bounds("__cluster_dims__"),
            path: unit.path.clone(),
            line: unit.line(item.name),
            extern_c: linkage || (item.head.start..item.name).any(|at| unit.word(at) == "extern"),
            defined: !item.body.is_empty() || unit.is_sign(item.head.end, "{"),
        })
    }

    fn parameter(&self, pieces: &[Piece]) -> Option<Parameter> {
        let end = pieces.iter().position(|piece| piece.is("=")).unwrap_or(pieces.len());
        let pieces = &pieces[..end];
        if pieces.is_empty() || pieces.len() == 1 && pieces[0].is("void") {
            return None;
        }
        let array = pieces.iter().position(|piece| piece.is("["));
        let declared = &pieces[..array.unwrap_or(pieces.len())];
        let named = declared.len() > 1
            && declared.last().is_some_and(|last| last.is_word() && !types::is_type_word(&last.text));
        let (type_pieces, name) = match named {
            true => (&declared[..declared.len() - 1], declared[declared.len() - 1].text.clone()),
            false => (declared, String::new()),
        };
        let star = type_pieces.iter().position(|piece| piece.is("*"));
        let before = &type_pieces[..star.unwrap_or(type_pieces.len())];
        let element = types::element(before, self.macros);
        Some(Parameter {
            name,
            type_name: written(type_pieces) + if array.is_some() { "[]" } else { "" },
            scalar: types::scalar(&element, self.units, self.macros),
            element,
            pointer: star.is_some() || array.is_some(),
            constant: before.iter().any(|piece| piece.is("const")),
            guarded: false,
        })
    }
}

/// The parameters of an item's template.
pub fn template(unit: &Unit, item: &Item) -> Vec<TemplateParameter> {
    let at = item.all.start;
    if unit.word(at) != "template" || !unit.is_sign(at + 1, "<") {
        return Vec::new();
    }
    let Some(behind) = unit.behind_angles(at + 1, item.all.end) else { return Vec::new() };
    let parameter = |(from, to): (usize, usize)| {
        let pieces = unit.pieces(from, to);
        let equals = pieces.iter().position(|piece| piece.is("="));
        let declared = &pieces[..equals.unwrap_or(pieces.len())];
        let named = declared.len() > 1 && declared.last().is_some_and(Piece::is_word);
        let kind = &declared[..declared.len() - usize::from(named)];
        TemplateParameter {
            name: if named { declared[declared.len() - 1].text.clone() } else { String::new() },
            kind: written(kind),
            default: equals.map(|equals| written(&pieces[equals + 1..])),
        }
    };
    unit.list(at + 2, behind - 1).into_iter().map(parameter).collect()
}
