//! Template arguments: those that a launch writes, evaluated; those that the compiler would find by itself; defaults.

use crate::evaluate::evaluate;
use crate::item::{Item, What};
use crate::kernel::{Kernel, TemplateParameter, template};
use crate::launch::{Launch, function_around};
use crate::lexer::pieces;
use crate::program::Program;
use crate::scope::Scope;
use crate::token::{Piece, written};
use crate::unit::Unit;

/// Functions that hand their template's arguments to others.
const DEEPEST: usize = 4;

/// An instance of a kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Instance {
    /// The arguments: `["64", "float"]`; none for a kernel that is no template.
    pub arguments: Vec<String>,
    /// Types that nobody said, and that were taken to be `float`.
    pub assumed: Vec<String>,
}

impl Instance {
    /// As C++ writes it: `a::gemm<64, float>`.
    pub fn expression(&self, kernel: &Kernel) -> String {
        match self.arguments.is_empty() && kernel.template.is_empty() {
            true => kernel.name.clone(),
            false => format!("{}<{}>", kernel.name, self.arguments.join(", ")),
        }
    }
}

impl Program {
    /// The instances of a kernel that the file's launches and its explicit instantiations name, each once, those of launches first.
    pub fn instances(&self, kernel: &Kernel) -> Vec<Instance> {
        let mut found: Vec<Instance> = Vec::new();
        let (dead, live): (Vec<_>, Vec<_>) =
            self.launches().iter().filter(|launch| self.is_of(launch, kernel)).partition(|launch| self.is_dead(launch));
        let launched = live.into_iter().chain(dead);
        let launched = launched.filter_map(|launch| self.instance(kernel, launch));
        for instance in launched.chain(self.explicit(kernel)) {
            if !found.contains(&instance) {
                found.push(instance);
            }
        }
        // What is said comes before what is taken to be so.
        found.sort_by_key(|instance| !instance.assumed.is_empty());
        found
    }

    /// The instance that a launch is of, as far as it can be told.
    pub fn instance(&self, kernel: &Kernel, launch: &Launch) -> Option<Instance> {
        if kernel.template.is_empty() {
            return Some(Instance { arguments: Vec::new(), assumed: Vec::new() });
        }
        let unit = &self.units[launch.unit];
        let given = match &launch.template {
            Some(ranges) => ranges.iter().map(|range| unit.pieces(range.start, range.end)).collect(),
            None => self.through_variable(launch).unwrap_or_default(),
        };
        let written = self.complete(kernel, &given, launch.unit, launch.at)?;
        let deduced = |name: &str| self.deduced(kernel, launch, name);
        fill(kernel, written, &deduced)
    }

    /// An instance from its arguments as a user writes them: those that are missing are defaults, or `float`.
    pub fn instance_of(&self, kernel: &Kernel, arguments: &[String]) -> Option<Instance> {
        fill(kernel, arguments.to_vec(), &|_| None)
    }

    /// `template __global__ void gemm<64>(…);`
    fn explicit(&self, kernel: &Kernel) -> Vec<Instance> {
        let mut found = Vec::new();
        for (number, unit) in self.units.iter().enumerate() {
            for item in all_instances(&unit.items) {
                let name =
                    item.all.clone().find(|&at| unit.word(at) == kernel.plain_name() && unit.is_sign(at + 1, "<"));
                let behind = name.and_then(|at| Some((at, unit.behind_angles(at + 1, item.all.end)?)));
                let Some((at, behind)) = behind else { continue };
                let given: Vec<Vec<Piece>> =
                    unit.list(at + 2, behind - 1).into_iter().map(|(from, to)| unit.pieces(from, to)).collect();
                let written = self.complete(kernel, &given, number, at);
                found.extend(written.and_then(|written| fill(kernel, written, &|_| None)));
            }
        }
        found
    }

    /// `auto kernel = gemm<64>; kernel<<<…>>>`.
    fn through_variable(&self, launch: &Launch) -> Option<Vec<Vec<Piece>>> {
        let scope = Scope::at(self, launch.unit, launch.at);
        let code = scope.local(&launch.kernel)?;
        let open = code.iter().position(|piece| piece.is("<"))?;
        let close = code.iter().rposition(|piece| piece.is(">"))?;
        Some(crate::evaluate::split(code.get(open + 1..close)?))
    }

    /// The kernel's name behind a launch's: itself, or what a variable was given.
    pub(crate) fn launched_name(&self, launch: &Launch) -> String {
        let scope = Scope::at(self, launch.unit, launch.at);
        let behind = scope.local(&launch.kernel).map(|code| {
            let words = code.iter().take_while(|piece| !piece.is("<"));
            words.filter(|piece| piece.is_word()).last().map(|piece| piece.text.clone()).unwrap_or_default()
        });
        behind.unwrap_or_else(|| launch.kernel.clone())
    }

    /// Whether a launch is one of this kernel.
    pub fn is_of(&self, launch: &Launch, kernel: &Kernel) -> bool {
        let fits = launch.arguments.len() == kernel.parameters.len();
        launch.kernel == kernel.plain_name() && fits || self.launched_name(launch) == kernel.plain_name()
    }

    /// Written arguments in terms that hold outside of the function.
    fn complete(&self, kernel: &Kernel, given: &[Vec<Piece>], unit: usize, at: usize) -> Option<Vec<String>> {
        let kinds = kernel.template.iter().map(Some).chain(std::iter::repeat(None));
        given.iter().zip(kinds).map(|(code, kind)| self.argument(code, kind, unit, at, 0)).collect()
    }

    fn argument(
        &self,
        code: &[Piece],
        kind: Option<&TemplateParameter>,
        unit: usize,
        at: usize,
        depth: usize,
    ) -> Option<String> {
        let text = written(code);
        let file = &self.units[unit];
        let around = function_around(&file.items, at).filter(|_| depth < DEEPEST);
        if let (Some(function), [name]) = (around, code)
            && let Some(place) = template(file, function).iter().position(|parameter| parameter.name == name.text)
        {
            return self.said_by_callers(file.word(function.name), place, &template(file, function)[place], depth);
        }
        if kind.is_some_and(TemplateParameter::is_type) {
            return Some(text);
        }
        if matches!(text.as_str(), "true" | "false") {
            return Some(text);
        }
        match evaluate(code, &Scope::at(self, unit, at)).and_then(|value| value.whole()) {
            Ok(value) => Some(value.to_string()),
            // What only the compiler can follow, as `Config::BM`, or what is no whole number.
            Err(_) if code.iter().any(|piece| piece.is("::")) || !code.iter().any(Piece::is_word) => Some(text),
            Err(_) => None,
        }
    }

    /// What the callers of a function template say for its parameter.
    fn said_by_callers(
        &self,
        function: &str,
        place: usize,
        parameter: &TemplateParameter,
        depth: usize,
    ) -> Option<String> {
        for (number, unit) in self.units.iter().enumerate() {
            let calls = (0..unit.code.len()).filter(|&at| unit.word(at) == function && unit.is_sign(at + 1, "<"));
            for at in calls {
                let Some(behind) = unit.behind_angles(at + 1, unit.code.len()) else { continue };
                let given = unit.list(at + 2, behind - 1).get(place).copied();
                if let Some((from, to)) = given
                    && unit.is_sign(behind, "(")
                    && let Some(found) = self.argument(&unit.pieces(from, to), Some(parameter), number, at, depth + 1)
                {
                    return Some(found);
                }
            }
        }
        parameter.default.clone()
    }

    /// The type of a launch's argument where the kernel takes a pointer to the template's parameter `name`.
    fn deduced(&self, kernel: &Kernel, launch: &Launch, name: &str) -> Option<String> {
        let unit = &self.units[launch.unit];
        let places = kernel
            .parameters
            .iter()
            .enumerate()
            .filter(|(_, parameter)| parameter.pointer && parameter.element == name);
        let mut places = places.filter_map(|(place, _)| launch.arguments.get(place)).filter(|range| range.len() == 1);
        let from = function_around(&unit.items, launch.at)?.all.start;
        let found = places.find_map(|range| declared_type(unit, unit.word(range.start), from, launch.at));
        let by_value = || {
            let of = kernel.parameters.iter().enumerate().filter(|(_, own)| !own.pointer && own.element == name);
            let mut of = of.filter_map(|(place, _)| launch.arguments.get(place));
            of.find_map(|range| value_type(unit, range.clone(), from, launch.at))
        };
        let found = found.or_else(by_value)?;
        let parameter = TemplateParameter { name: String::new(), kind: "typename".to_string(), default: None };
        self.argument(&pieces(&found), Some(&parameter), launch.unit, launch.at, 0)
    }
}

/// The type that a pointer was declared to point to, between two places.
fn declared_type(unit: &Unit, name: &str, from: usize, before: usize) -> Option<String> {
    let declared = |at: &usize| unit.word(*at) == name && *at > 0 && unit.is_sign(at - 1, "*");
    let mut at = (from..before).rev().find(declared)?;
    while at > 0 && (unit.is_sign(at - 1, "*") || unit.word(at - 1) == "const") {
        at -= 1;
    }
    if at > 0 && unit.is_name(at - 1) {
        return Some(unit.word(at - 1).to_string());
    }
    // `float *a, *b;`
    let start = (0..at).rev().find(|&at| [";", "{", "}", "("].iter().any(|sign| unit.is_sign(at, sign)))?;
    let first = (start + 1..at).find(|&at| unit.is_name(at) && unit.word(at) != "const")?;
    Some(unit.word(first).to_string())
}

/// The type of an argument that is handed over by value: of `Type{…}`, of a variable, or of a number.
fn value_type(unit: &Unit, range: std::ops::Range<usize>, from: usize, before: usize) -> Option<String> {
    let (first, end) = (range.start, range.end);
    if unit.is_name(first) {
        // `Type{…}`, `a::Type<3>{…}`
        let mut at = first;
        while at < end && (unit.is_name(at) || matches!(unit.word(at), ":" | "::")) {
            at += 1;
        }
        let behind = if unit.is_sign(at, "<") { unit.behind_angles(at, end)? } else { at };
        if behind < end && unit.is_sign(behind, "{") {
            return Some(written(&unit.pieces(first, behind)));
        }
        if range.len() != 1 {
            return None;
        }
        let name = unit.word(first);
        let ends = |at: usize| [";", "=", "{", ",", "(", "["].iter().any(|sign| unit.is_sign(at, sign));
        let declared = |at: &usize| {
            unit.word(*at) == name
                && *at > from
                && ends(*at + 1)
                && (unit.is_name(*at - 1) || unit.is_sign(*at - 1, ">"))
        };
        let at = (from..before).rev().find(declared).filter(|at| unit.word(at - 1) != "return")?;
        let start = (from..at).rev().find(|&at| [";", "{", "}", "("].iter().any(|sign| unit.is_sign(at, sign)))?;
        let words = start + 1..at;
        let first = words.clone().find(|&at| !matches!(unit.word(at), "const" | "constexpr" | "static"))?;
        return Some(written(&unit.pieces(first, at))).filter(|found| found != "auto");
    }
    let number =
        (range.len() == 1).then(|| unit.word(first)).filter(|word| word.starts_with(|c: char| c.is_ascii_digit()))?;
    let is_real = number.contains('.') && !number.starts_with("0x");
    match number {
        _ if is_real && number.ends_with(['f', 'F']) => Some("float".to_string()),
        _ if is_real => Some("double".to_string()),
        _ if number.ends_with(|c: char| c.is_ascii_digit()) => Some("int".to_string()),
        _ => None,
    }
}

fn all_instances(items: &[Item]) -> Vec<&Item> {
    let mut found = Vec::new();
    for item in items {
        match item.what {
            What::Scope => found.extend(all_instances(&item.inner)),
            What::Instance => found.push(item),
            _ => (),
        }
    }
    found
}

/// Adds what is not written.
fn fill(kernel: &Kernel, written: Vec<String>, deduced: &dyn Fn(&str) -> Option<String>) -> Option<Instance> {
    let mut instance = Instance { arguments: written, assumed: Vec::new() };
    for parameter in kernel.template.iter().skip(instance.arguments.len()) {
        // `typename... Rest`
        if parameter.kind.ends_with("...") || parameter.kind.ends_with('.') {
            break;
        }
        let found = match parameter.is_type() {
            true => deduced(&parameter.name).or_else(|| parameter.default.clone()).or_else(|| {
                instance.assumed.push(parameter.name.clone());
                Some("float".to_string())
            }),
            // A default in terms of other parameters is the compiler's business.
            false => match &parameter.default {
                Some(_) => break,
                None => None,
            },
        };
        instance.arguments.push(found?);
    }
    Some(instance)
}

/// The name and the arguments of `gemm<64, float>`.
pub fn entry_words(entry: &str) -> (String, Option<Vec<String>>) {
    let trimmed = entry.trim();
    let Some((name, rest)) = trimmed.split_once('<') else { return (trimmed.to_string(), None) };
    let inside = rest.trim_end().strip_suffix('>').unwrap_or(rest);
    let (mut parts, mut depth) = (vec![Vec::new()], 0i32);
    for piece in pieces(inside) {
        match piece.text.as_str() {
            "<" | "(" => depth += 1,
            ">" | ")" => depth -= 1,
            "," if depth == 0 => {
                parts.push(Vec::new());
                continue;
            }
            _ => (),
        }
        parts.last_mut().into_iter().for_each(|part| part.push(piece.clone()));
    }
    let words = parts.iter().map(|part| crate::token::written(part)).filter(|word| !word.is_empty()).collect();
    (name.trim().to_string(), Some(words))
}
