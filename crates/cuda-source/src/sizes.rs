//! Grid, block and shared memory of a launch, for sizes that are given.

use std::collections::HashMap;
use std::ops::Range;

use crate::evaluate::evaluate;
use crate::kernel::Kernel;
use crate::launch::Launch;
use crate::program::Program;
use crate::roles::{Role, size_named};
use crate::scope::Scope;
use crate::unit::Unit;

/// The sizes of a product.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sizes {
    /// Rows of A and C.
    pub m: u64,
    /// Columns of B and C.
    pub n: u64,
    /// Columns of A, rows of B.
    pub k: u64,
}

impl Sizes {
    /// The size that a role stands for, if it stands for one.
    pub fn of(&self, role: Role) -> Option<u64> {
        match role {
            Role::M => Some(self.m),
            Role::N => Some(self.n),
            Role::K => Some(self.k),
            Role::Square => Some(self.m.max(self.n).max(self.k)),
            _ => None,
        }
    }
}

/// What a launch comes to, or why not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Extents {
    /// Thread blocks along x, y and z.
    pub grid: Result<[u64; 3], String>,
    /// Threads of a block along x, y and z.
    pub block: Result<[u64; 3], String>,
    /// Bytes of dynamic shared memory.
    pub shared: Result<u64, String>,
}

impl Program {
    /// What a launch comes to. `values` are what the kernel's parameters get, as far as they are sizes: host code's names for them have
    /// these values, whatever it gives them itself. `sizes` are for names such as `M` that host code leaves open, if it is a product.
    pub fn extents(&self, kernel: &Kernel, launch: &Launch, values: &[Option<u64>], sizes: Option<&Sizes>) -> Extents {
        self.extents_in(launch, &self.scope(kernel, launch, values, sizes))
    }

    /// The same where a user says what names of host code stand for.
    pub fn extents_with(
        &self,
        kernel: &Kernel,
        launch: &Launch,
        values: &[Option<u64>],
        names: &[(String, u64)],
    ) -> Extents {
        let mut scope = self.scope(kernel, launch, values, None);
        scope.bound.extend(names.iter().map(|(name, value)| (name.clone(), i128::from(*value))));
        self.extents_in(launch, &scope)
    }

    fn extents_in(&self, launch: &Launch, scope: &Scope) -> Extents {
        let unit = &self.units[launch.unit];
        let part = |index: usize| launch.configuration.get(index).map(|range| unit.pieces(range.start, range.end));
        let value = |what: &str, index: usize| {
            let code = part(index).ok_or_else(|| format!("the {what} is missing"))?;
            let said = crate::token::written(&code);
            evaluate(&code, scope).map_err(|why| format!("the {what} is `{said}`, and {why}"))
        };
        let dim = |what: &str, index: usize| {
            let extents = value(what, index)?.dim()?;
            let extent = |value: i128| u64::try_from(value).map_err(|_| format!("the {what} has an extent of {value}"));
            Ok::<_, String>([extent(extents[0])?, extent(extents[1])?, extent(extents[2])?])
        };
        let shared = || {
            let bytes = value("shared memory", 2)?.whole()?;
            u64::try_from(bytes).map_err(|_| format!("the shared memory has {bytes} bytes"))
        };
        let shared = if launch.configuration.len() > 2 { shared() } else { Ok(0) };
        Extents { grid: dim("grid", 0), block: dim("block", 1), shared }
    }

    /// What a launch hands over, by parameter, as far as host code says it in whole numbers.
    pub fn host_values(&self, launch: &Launch) -> Vec<Option<u64>> {
        let scope = Scope::at(self, launch.unit, launch.at);
        let unit = &self.units[launch.unit];
        let value = |range: &Range<usize>| {
            let value = evaluate(&unit.pieces(range.start, range.end), &scope).ok()?.whole().ok()?;
            u64::try_from(value).ok()
        };
        launch.arguments.iter().map(value).collect()
    }

    /// What a constant or a macro of the files stands for, if it is a whole number.
    pub fn constant(&self, name: &str) -> Option<u64> {
        let word = crate::lexer::pieces(name);
        let value = evaluate(&word, &Scope::at(self, 0, 0)).and_then(|value| value.whole()).ok()?;
        u64::try_from(value).ok()
    }

    /// What a launch hands over for each parameter in terms of M, N and K, where host code says it by their names: `N/4`, `cdiv(K,8)`, `4`.
    pub fn handed_over(&self, launch: &Launch) -> Vec<Option<String>> {
        let unit = &self.units[launch.unit];
        let around = crate::launch::function_around(&unit.items, launch.at).map_or(launch.at, |item| item.all.start);
        let names = (around..unit.code.len().min(launch.at + MOST_TOKENS)).filter(|&at| unit.is_name(at));
        let named = names.filter_map(|at| Some((unit.word(at).to_string(), size_named(unit.word(at))?)));
        let named: HashMap<String, Role> = named.collect();
        let scopes = SAMPLES.map(|sizes| {
            let mut scope = Scope::at(self, launch.unit, launch.at);
            let size = |(name, role): (&String, &Role)| Some((name.clone(), i128::from(sizes.of(*role)?)));
            scope.bound.extend(named.iter().filter_map(size));
            scope
        });
        let value = |range: &Range<usize>, scope: &Scope| {
            let value = evaluate(&unit.pieces(range.start, range.end), scope).ok()?.whole().ok()?;
            u64::try_from(value).ok()
        };
        let all = |range: &Range<usize>| {
            let values: Option<Vec<u64>> = scopes.iter().map(|scope| value(range, scope)).collect();
            in_sizes(&values?)
        };
        launch.arguments.iter().map(all).collect()
    }

    /// The names at a launch, with those that carry a size bound to it.
    fn scope(&self, kernel: &Kernel, launch: &Launch, values: &[Option<u64>], sizes: Option<&Sizes>) -> Scope<'_> {
        let mut scope = Scope::at(self, launch.unit, launch.at);
        let unit = &self.units[launch.unit];
        for (range, value) in launch.arguments.iter().zip(values) {
            let (Some(value), Some(name)) = (value, name_of(unit, range)) else { continue };
            // One name for two sizes: the larger one covers both.
            let bound = scope.bound.entry(name).or_insert(0);
            *bound = (*bound).max(i128::from(*value));
        }
        if let Some(sizes) = sizes {
            // `N / 4` says N by its name.
            let at = launch.arguments.iter().filter(|range| name_of(unit, range).is_none()).cloned().flatten();
            for name in at.filter(|&at| unit.is_name(at)).map(|at| unit.word(at)) {
                let size = size_named(name).and_then(|role| sizes.of(role));
                size.into_iter().for_each(|size| _ = scope.bound.entry(name.to_string()).or_insert(i128::from(size)));
            }
            for name in ["M", "N", "K", "m", "n", "k"] {
                let size = size_named(name).and_then(|role| sizes.of(role));
                scope.fallback.extend(size.map(|size| (name.to_string(), i128::from(size))));
            }
            self.bind_parameters(launch, sizes, &mut scope);
        }
        self.bind_instance(kernel, launch, &mut scope);
        self.bind_case(launch, &mut scope);
        scope
    }

    /// Within `case 64:` of `switch (n)`, n is 64.
    fn bind_case(&self, launch: &Launch, scope: &mut Scope) {
        let unit = &self.units[launch.unit];
        let Some(function) = crate::launch::function_around(&unit.items, launch.at) else { return };
        let switches = (function.body.start..launch.at).rev().filter(|&at| unit.word(at) == "switch");
        let around = switches.map(|at| (at, unit.behind_group(at + 1, function.body.end)));
        let around = around.into_iter().find(|(_, open)| unit.behind_group(*open, function.body.end) > launch.at);
        let Some((at, open)) = around else { return };
        let mut names = (at + 1..open).filter(|&here| !["(", ")"].iter().any(|sign| unit.is_sign(here, sign)));
        let (Some(name), None) = (names.next(), names.next()) else { return };
        let case = (open..launch.at).rev().find(|&here| unit.word(here) == "case" || unit.word(here) == "default");
        let Some(case) = case.filter(|&case| unit.word(case) == "case" && unit.is_name(name)) else { return };
        let Some(colon) = (case..launch.at).find(|&here| unit.is_sign(here, ":")) else { return };
        let value = evaluate(&unit.pieces(case + 1, colon), &*scope).and_then(|value| value.whole());
        if let Ok(value) = value {
            scope.bound.entry(unit.word(name).to_string()).or_insert(value);
        }
    }

    /// Parameters of the function around the launch, by the names that people give sizes.
    fn bind_parameters(&self, launch: &Launch, sizes: &Sizes, scope: &mut Scope) {
        let unit = &self.units[launch.unit];
        let Some(function) = crate::launch::function_around(&unit.items, launch.at) else { return };
        let open = function.name + 1;
        let behind = unit.behind_group(open, function.head.end.max(open));
        for (from, to) in unit.list(open + 1, behind.saturating_sub(1)) {
            let name = unit.word(to.saturating_sub(1)).to_string();
            let size = size_named(&name).and_then(|role| sizes.of(role));
            if let Some(size) = size.filter(|_| to > from + 1) {
                scope.fallback.entry(name).or_insert(i128::from(size));
            }
        }
    }

    /// The template parameters of a function that hands them on have the values of the kernel's instance.
    fn bind_instance(&self, kernel: &Kernel, launch: &Launch, scope: &mut Scope) {
        let unit = &self.units[launch.unit];
        let (Some(instance), Some(written)) = (self.instance(kernel, launch), &launch.template) else { return };
        for (range, argument) in written.iter().zip(&instance.arguments) {
            let name = unit.word(range.start).to_string();
            match argument.parse::<i128>() {
                Ok(value) if range.len() == 1 => _ = scope.bound.entry(name).or_insert(value),
                Err(_) if range.len() == 1 && name != *argument => scope.stands_for(&name, argument),
                _ => (),
            }
        }
    }
}

/// Sizes by which it shows what a number is of them: no two alike, and of many rests.
const SAMPLES: [Sizes; 8] = [
    Sizes { m: 10_007, n: 20_011, k: 30_011 },
    Sizes { m: 7_919, n: 5_003, k: 9_973 },
    Sizes { m: 104_729, n: 50_021, k: 70_001 },
    Sizes { m: 611_953, n: 15_485, k: 822_203 },
    Sizes { m: 1_299, n: 3_571, k: 17_389 },
    Sizes { m: 27_449, n: 48_611, k: 2_053 },
    Sizes { m: 5_147, n: 92_821, k: 38_873 },
    Sizes { m: 65_539, n: 8_191, k: 4_441 },
];
/// Parts of a size at most, what they are rounded up to, and tokens of an argument.
const MOST_PARTS: u64 = 64;
const TILES: [u64; 6] = [4, 8, 16, 32, 64, 128];
const MOST_TOKENS: usize = 256;

/// What has these values for [`SAMPLES`]: a size, a part of one, or a number.
fn in_sizes(values: &[u64]) -> Option<String> {
    let is = |of: &dyn Fn(&Sizes) -> Option<u64>| SAMPLES.iter().map(of).eq(values.iter().copied().map(Some));
    let part = |role: Role, parts: u64| {
        let up = |sizes: &Sizes| sizes.of(role).map(|size| size.div_ceil(parts));
        let said = if parts == 1 { format!("{role:?}") } else { format!("cdiv({role:?},{parts})") };
        if is(&up) {
            return Some(said);
        }
        if is(&|sizes| sizes.of(role).map(|size| size / parts)) {
            return Some(format!("{role:?}/{parts}"));
        }
        let tile = TILES.into_iter().find(|tile| is(&|sizes| up(sizes).map(|part| part.next_multiple_of(*tile))))?;
        Some(format!("cdiv({said},{tile})*{tile}"))
    };
    let of_size = |role: Role| (1..=MOST_PARTS).find_map(|parts| part(role, parts));
    let number = || values.first().filter(|first| is(&|_| Some(**first))).map(u64::to_string);
    [Role::M, Role::N, Role::K].into_iter().find_map(of_size).or_else(number)
}

/// The name of an argument that is one: `n`, `problem.n`, `problem->n`.
fn name_of(unit: &Unit, range: &Range<usize>) -> Option<String> {
    let (first, last) = (range.start, range.end.checked_sub(1)?);
    let signs: String = (first + 1..last).map(|at| unit.word(at)).collect();
    match (unit.is_name(first) && unit.is_name(last), signs.as_str()) {
        (true, "") if first == last => Some(unit.word(first).to_string()),
        (true, "." | "->") => Some(format!("{}.{}", unit.word(first), unit.word(last))),
        _ => None,
    }
}
