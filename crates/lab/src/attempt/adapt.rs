//! What a file says by itself: which argument is which, the types, the launch. Flags come before it.

use std::rc::Rc;

use cuda_source::roles::{Role, counted_in_vectors, roles, roles_beside};
use cuda_source::types::Scalar;
use cuda_source::{Extents, Kernel, Launch, Program, Sizes};
use gemm::{Dim3, Error, Shape};

use super::no_product::{no_product, structure};
use super::{DEFAULT, Try};
use crate::candidate::Candidate;
use crate::expression::{evaluate, parts};
use crate::output::note;
use crate::probe::launches::too_long;
use crate::written::choose::Choice;

/// A launch of the file's own, that is evaluated for every size.
#[derive(Debug, Clone)]
pub struct Planned {
    program: Rc<Program>,
    choice: Choice,
    launch: Launch,
    args: String,
    /// The parts that no flag says: grid, block, shared memory.
    pub(super) parts: [bool; 3],
}

impl Planned {
    /// The same launch of a kernel with other arguments.
    pub fn with_args(self, args: &str) -> Planned {
        Planned { args: args.to_string(), ..self }
    }

    /// What the launch comes to, of a shape.
    pub fn extents(&self, shape: &Shape) -> Extents {
        let value = |word: &str| evaluate(word.rsplit('=').next().unwrap_or(word), shape).ok();
        let values: Vec<Option<u64>> = parts(&self.args).into_iter().map(value).collect();
        let sizes = Sizes { m: shape.m.into(), n: shape.n.into(), k: shape.k.into() };
        self.program.extents(&self.choice.kernel, &self.launch, &values, Some(&sizes))
    }

    /// Whether the grid is the same for all sizes.
    pub fn is_fixed(&self) -> bool {
        let grid = |size| self.extents(&Shape { m: size, n: size, k: size }).grid;
        grid(7) == grid(7 << 10)
    }

    /// Whether the sizes are those of host code.
    pub fn covers_host_sizes(&self, attempt: &Try) -> bool {
        let values = self.program.host_values(&self.launch);
        let shape = super::shape(&attempt.sizes);
        // Members of structures reach the kernel in ways that are not followed.
        if values.len() != parts(&self.args).len() {
            return false;
        }
        let differs = |(word, value): (&str, &Option<u64>)| match word {
            "M" | "N" | "K" => evaluate(word, &shape).ok().zip(*value).is_some_and(|(size, host)| size != host),
            _ => false,
        };
        !parts(&self.args).into_iter().zip(&values).any(differs)
    }

    /// Where the launch stands.
    pub fn place(&self) -> String {
        crate::written::place(&self.choice, &self.launch)
    }

    /// The grid.
    pub fn grid(&self, shape: &Shape) -> Result<Dim3, Error> {
        self.dim("grid", self.extents(shape).grid)
    }

    /// The block.
    pub fn block(&self, shape: &Shape) -> Result<Dim3, Error> {
        self.dim("block", self.extents(shape).block)
    }

    /// The extents of a grid or a block, as a launch takes them.
    fn dim(&self, what: &str, extents: Result<[u64; 3], String>) -> Result<Dim3, Error> {
        let (place, hint) = (self.place(), format!("--{what} X,Y says another"));
        let extents = extents.map_err(|why| Error::usage(format!("the launch of {place}: {why}"), hint.clone()))?;
        let fit = extents.map(|extent| u32::try_from(extent).ok().filter(|&extent| extent > 0));
        match fit {
            [Some(x), Some(y), Some(z)] => match too_long(Dim3 { x, y, z }) {
                Some((why, hint)) => {
                    let Launch { path, line, .. } = &self.launch;
                    Err(Error::Fault(format!("{path}:{line}: this launch fails on a GPU: {why}\nhint: {hint}")))
                }
                None => Ok(Dim3 { x, y, z }),
            },
            _ => Err(Error::usage(format!("the launch of {place}: the {what} is {extents:?}"), hint)),
        }
    }
}

/// Fills in what flags do not say, and tells it in one line.
pub fn adapt(attempt: &mut Try, given: &dyn Fn(&str) -> bool, candidate: &Candidate) -> Result<(), Error> {
    let Some((program, choice)) = &candidate.written else { return Ok(()) };
    let launch = launch_of(program, choice).cloned();
    let handed = launch.as_ref().map(|launch| program.handed_over(launch)).unwrap_or_default();
    let mut told = arguments(attempt, given, choice, &shares(&choice.kernel, &handed))?;
    if let Some(launch) = &launch {
        let place = parts(&attempt.args).into_iter().position(|word| word == "C");
        attempt.zeroed = place.is_some_and(|place| program.zeroed(launch).get(place) == Some(&true));
    }
    told.extend((attempt.zeroed).then(|| "C holds zeros before the launch, as host code fills it".to_string()));
    told.extend(launch.as_ref().and_then(|launch| sizes(attempt, program, launch)));
    square(attempt, given, choice)?;
    if let Some(said) = types(attempt, given, candidate, (program, choice))? {
        told.push(said);
    }
    match launch {
        Some(launch) => {
            // Other blocks along y would do the same work again.
            let own = body(&candidate.kernel.ptx, &candidate.kernel.entry);
            let by_x = !own.contains("%ctaid.y") && !own.contains("%ctaid.z");
            told.extend(self::launch(attempt, given, (program, choice), (launch, by_x)));
        }
        None => {
            let open = [("grid", &attempt.grid), ("block", &attempt.block)];
            let open: Vec<String> = open
                .iter()
                .filter(|(flag, _)| !given(flag))
                .map(|(flag, extents)| format!("--{flag} {extents}"))
                .collect();
            let taken = || format!("the file has no launch of it, so {}", open.join(" "));
            told.extend((!open.is_empty()).then(taken));
        }
    }
    if !choice.instance.assumed.is_empty() {
        told.push(format!("{} taken as float", choice.instance.assumed.join(", ")));
    }
    if !choice.others.is_empty() {
        told.push(format!("other instances by --entry: {}", choice.others.join(", ")));
    }
    if !candidate.host.is_empty() {
        told.push(format!("host code left out: {}", some(&candidate.host)));
    }
    if !told.is_empty() {
        note(&format!("note: {}: {}", choice.expression, told.join("; ")));
    }
    Ok(())
}

/// The first names of a list.
fn some(names: &[String]) -> String {
    match names {
        [a, b, c, _, ..] => format!("{a}, {b}, {c} and {} more", names.len() - 3),
        few => few.join(", "),
    }
}

/// The words of parameters that are no size by their names alone: what host code hands over for them, or a size that is counted in vectors.
fn shares(kernel: &Kernel, handed: &[Option<String>]) -> Vec<Option<String>> {
    let by_name = roles(kernel).map_or_else(|unclear| unclear.known, |roles| roles.into_iter().map(Some).collect());
    let handed = |place: usize| handed.get(place).cloned().flatten().filter(|_| handed.len() == by_name.len());
    let share = |place: usize| {
        let own = &kernel.parameters[place];
        if own.pointer || own.scalar != Some(Scalar::Whole) {
            return None;
        }
        match by_name[place] {
            // `N / 4` for a parameter `N`: it counts vectors.
            Some(role @ (Role::M | Role::N | Role::K)) => {
                handed(place).filter(|word| word.strip_prefix(&format!("{role:?}/")).is_some())
            }
            Some(_) => None,
            None => handed(place)
                .or_else(|| counted_in_vectors(kernel, own).map(|(role, lanes)| format!("{role:?}/{lanes}"))),
        }
    };
    let all: Vec<Option<String>> = (0..kernel.parameters.len()).map(share).collect();
    let is_size = |size: &str| {
        by_name.iter().flatten().any(|role| format!("{role:?}") == size)
            || all.iter().flatten().any(|word| word.contains(size))
    };
    // A number may be a size of host code, which the sizes that are asked for replace.
    let covered = ["M", "N", "K"].into_iter().all(is_size);
    let is_open = |word: &String| covered || word.parse::<u64>().is_err();
    all.into_iter().map(|word| word.filter(is_open)).collect()
}

/// The arguments by name and type, where nobody says them; `shares` are the words of those that are no plain size.
fn arguments(
    attempt: &mut Try,
    given: &dyn Fn(&str) -> bool,
    choice: &Choice,
    shares: &[Option<String>],
) -> Result<Vec<String>, Error> {
    let kernel = &choice.kernel;
    if given("args") {
        return Ok(Vec::new());
    }
    if let Some(map) = kernel.parameters.iter().find(|parameter| parameter.element.contains("CUtensorMap")) {
        return Err(Error::usage(
            format!(
                "{}: `{}` is a tensor map, and `lab try` hands over matrices by their addresses",
                kernel.name, map.name
            ),
            "`lab sanitize` makes one, as in --arg 'a:map(bf16[128x128],box=64x64,swizzle=128)=random'",
        ));
    }
    let names: Vec<&str> = kernel.parameters.iter().map(|parameter| parameter.name.as_str()).collect();
    if let Some((what, hint)) = no_product(kernel) {
        return Err(Error::usage(
            format!("{}: {what}, and `lab try` checks one product of matrices", kernel.name),
            hint,
        ));
    }
    let told: Vec<usize> = (0..shares.len()).filter(|&place| shares[place].is_some()).collect();
    let word = |(place, role): (usize, &Option<Role>)| match (&shares[place], role) {
        (Some(share), _) => share.clone(),
        (None, Some(role)) => word(*role, attempt).to_string(),
        (None, None) => "?".to_string(),
    };
    let roles = match roles_beside(kernel, &told) {
        Ok(roles) => roles,
        Err(unclear) if is_usual(choice) => {
            attempt.guess = Some(unclear.what.clone());
            return Ok(vec![format!(
                "{} taken for A,B,C,M,N,K, since it is not clear {}",
                names.join(","),
                unclear.what
            )]);
        }
        Err(unclear) if structure(choice, &unclear.known).is_some() => {
            let own = structure(choice, &unclear.known).unwrap_or_default();
            return Err(Error::usage(
                format!("{}: `{own}` is a structure, and `lab try` hands over matrices and numbers", kernel.name),
                "`lab sanitize` hands one over, its members in their order, as in --arg '{f32=1,f32=0,bias:f32[64]=ones}' or '{f32=1,f32=0,null}'; \
                 --expect C=@FILE says what is to come out",
            ));
        }
        Err(unclear) => {
            let words: Vec<String> = unclear.known.iter().enumerate().map(word).collect();
            if !words.iter().any(|word| word == "?") {
                return Err(Error::usage(
                    format!("{}: it is not clear {}", kernel.name, unclear.what),
                    format!(
                        "--args says what each parameter is, where {} is not it; `lab sanitize` runs any kernel, with what is expected of a buffer by --expect",
                        words.join(",")
                    ),
                ));
            }
            return Err(Error::usage(
                format!("{}: it is not clear {}", kernel.name, unclear.what),
                format!("--args {} with A, B, C, a size, alpha=…, beta=… or a number for each `?`", words.join(",")),
            ));
        }
    };
    let words: Vec<String> = roles.iter().enumerate().map(word).collect();
    attempt.args = words.join(",");
    attempt.by_name = true;
    let usual = attempt.args == "A,B,C,M,N,K";
    if usual && names.iter().zip(&words).all(|(name, word)| name == word) {
        return Ok(Vec::new());
    }
    let pairs = names.iter().zip(&words).map(|(name, word)| match word.split_once('=') {
        Some((_, value)) => format!("{name}={value}"),
        None => format!("{name}={word}"),
    });
    Ok(vec![pairs.collect::<Vec<_>>().join(" ")])
}

/// Three pointers and three whole numbers, as most products have them.
fn is_usual(choice: &Choice) -> bool {
    let kinds: Vec<bool> = choice.kernel.parameters.iter().map(|parameter| parameter.pointer).collect();
    let whole = choice.kernel.parameters.iter().skip(3).all(|parameter| parameter.scalar == Some(Scalar::Whole));
    kinds == [true, true, true, false, false, false] && whole
}

fn word(role: Role, attempt: &Try) -> &'static str {
    let [a, b, c] = attempt.layout.leading();
    match role {
        Role::A => "A",
        Role::B => "B",
        Role::C => "C",
        Role::M => "M",
        Role::N | Role::Square => "N",
        Role::K => "K",
        Role::Lda => a,
        Role::Ldb => b,
        Role::Ldc => c,
        Role::Alpha => "alpha=1.5",
        Role::Beta => "beta=0.5",
    }
}

/// The sizes of host code, halved until the emulator has them quickly, where no flag says any.
fn sizes(attempt: &mut Try, program: &Program, launch: &Launch) -> Option<String> {
    let known = &attempt.sizes;
    if [known.m, known.n, known.k, known.size].iter().any(Option::is_some) {
        return None;
    }
    let (values, words) = (program.host_values(launch), parts(&attempt.args));
    let square = words.iter().all(|word| !matches!(*word, "M" | "K"));
    // Where a size reaches the kernel by the grid alone, the grid is for that size as it is.
    let whole = square || ["M", "N", "K"].iter().all(|size| words.contains(size));
    let of = |size: &str| {
        let places = words.iter().enumerate().filter(|(_, word)| **word == size);
        let value = places.filter_map(|(place, _)| values.get(place).copied().flatten()).next()?;
        if whole { small(value) } else { u32::try_from(value).ok().filter(|size| (1..=LARGEST).contains(size)) }
    };
    let n = of("N")?;
    let k = if square { n } else { of("K")? };
    let m = if square { n } else { of("M").or(Some(k).filter(|_| !words.contains(&"M")))? };
    (attempt.sizes.m, attempt.sizes.n, attempt.sizes.k) = (Some(m), Some(n), Some(k));
    Some(format!("M, N, K = {m}, {n}, {k}, after the launch"))
}

/// The largest size of host code that is taken as it is.
const LARGEST: u32 = 1024;

/// A size, halved until it is at most 256.
fn small(size: u64) -> Option<u32> {
    let mut size = u32::try_from(size).ok().filter(|&size| size > 0)?;
    while size > 256 && size % 2 == 0 {
        size /= 2;
    }
    Some(size).filter(|&size| size <= 256)
}

/// A kernel with one size multiplies square matrices.
fn square(attempt: &mut Try, given: &dyn Fn(&str) -> bool, choice: &Choice) -> Result<(), Error> {
    let roles = roles(&choice.kernel).unwrap_or_default();
    let Some(place) = roles.iter().position(|role| *role == Role::Square).filter(|_| !given("args")) else {
        return Ok(());
    };
    let (name, sizes) = (&choice.kernel.parameters[place].name, &mut attempt.sizes);
    if (sizes.m, sizes.n, sizes.k, sizes.size) == (None, None, None, None) {
        sizes.size = Some(DEFAULT.n);
    }
    let shape = super::shape(sizes);
    if shape.m == shape.n && shape.n == shape.k {
        return Ok(());
    }
    Err(Error::usage(
        format!("{name} is the only size of the kernel, so its matrices are square, and M, N and K are {shape}"),
        format!("--size {} makes them one; --args says it if {name} is something else", shape.n),
    ))
}

/// The types of the matrices, where nobody says them.
fn types(
    attempt: &mut Try,
    given: &dyn Fn(&str) -> bool,
    candidate: &Candidate,
    (program, choice): (&Program, &Choice),
) -> Result<Option<String>, Error> {
    if given("dtype") {
        return Ok(None);
    }
    let (words, parameters) = (parts(&attempt.args), &choice.kernel.parameters);
    let parameter = |matrix: &str| {
        let place = words.iter().position(|word| *word == matrix)?;
        parameters.get(place).filter(|parameter| parameter.pointer && words.len() == parameters.len())
    };
    let scalar = |matrix: &str| program.scalar(&choice.kernel, &choice.instance, parameter(matrix)?);
    let (Some(a), Some(b), Some(c)) = (scalar("A"), scalar("B"), scalar("C")) else { return Ok(None) };
    let of = |matrix: &str| parameter(matrix).map_or("", |parameter| parameter.element.as_str());
    let name = match (a, c) {
        (Scalar::Whole, Scalar::Whole) => whole(["A", "B", "C"].map(of)),
        (a, c) if a == b => name(a, c),
        _ => None,
    };
    let Some(name) = name else {
        let types = format!("{}, {} and {}", of("A"), of("B"), of("C"));
        return Err(Error::usage(
            format!("{}: A, B and C are of {types}, and no product of such types is known", choice.expression),
            "--dtype names one that is; `lab sanitize` runs kernels of any types",
        ));
    };
    let in_f16 = name == "f16" && sums_in_f16(&candidate.kernel.ptx, &candidate.kernel.entry);
    let name = if in_f16 { "f16-sum" } else { name };
    let dtype = name.parse()?;
    let is_new = attempt.how.dtype != dtype;
    attempt.how.dtype = dtype;
    let said = if in_f16 { "f16, and sums in f16" } else { name };
    Ok(is_new.then(|| said.to_string()))
}

/// Whether a kernel adds in f16, and nothing in f32: its sums are as good as f16 allows.
fn sums_in_f16(ptx: &str, entry: &str) -> bool {
    let body = body(ptx, entry);
    let has = |forms: &[&str]| forms.iter().any(|form| body.contains(form));
    let narrow = ["fma.rn.f16", "add.f16", "add.rn.f16", ".f16.f16.f16.f16", ".f16.f16 "];
    has(&narrow) && !has(&["fma.rn.f32", "add.f32", "add.rn.f32", ".f32.f16.f16.f32", ".f32.f32"])
}

/// A kernel's own part of PTX.
fn body<'a>(ptx: &'a str, entry: &str) -> &'a str {
    ptx.split(".entry ").find(|body| body.starts_with(entry)).unwrap_or_default()
}

/// Bytes and the sums of their products; vectors of four of them are the same bytes.
fn whole([a, b, c]: [&str; 3]) -> Option<&'static str> {
    let is_byte =
        |element: &str| matches!(element, "int8_t" | "std::int8_t" | "signed char" | "char" | "char4" | "char2");
    let is_word =
        |element: &str| matches!(element, "int" | "int32_t" | "std::int32_t" | "signed int" | "int4" | "int2");
    (is_byte(a) && is_byte(b) && is_word(c)).then_some("s8")
}

fn name(input: Scalar, output: Scalar) -> Option<&'static str> {
    Some(match (input, output) {
        (Scalar::F64, Scalar::F64) => "f64",
        (Scalar::F32, Scalar::F32) => "f32",
        (Scalar::F16, Scalar::F16) => "f16",
        (Scalar::F16, Scalar::F32) => "f16-f32",
        (Scalar::Bf16, Scalar::Bf16) => "bf16",
        (Scalar::Bf16, Scalar::F32) => "bf16-f32",
        (Scalar::E4m3, Scalar::Bf16) => "e4m3",
        (Scalar::E4m3, Scalar::F32) => "e4m3-f32",
        (Scalar::E5m2, Scalar::Bf16) => "e5m2",
        (Scalar::E5m2, Scalar::F32) => "e5m2-f32",
        _ => return None,
    })
}

/// The file's launch of the instance that is meant.
fn launch_of<'a>(program: &'a Program, choice: &Choice) -> Option<&'a Launch> {
    let kernel = &choice.kernel;
    let of_kernel = || program.launches().iter().filter(|launch| program.is_of(launch, kernel));
    let same = |launch: &&Launch| program.instance(kernel, launch).is_some_and(|instance| instance == choice.instance);
    of_kernel().find(same).or_else(|| of_kernel().next().filter(|_| kernel.template.is_empty()))
}

/// Takes grid, block and shared memory from the file's launch, where flags leave them to it.
fn launch(
    attempt: &mut Try,
    given: &dyn Fn(&str) -> bool,
    (program, choice): (&Rc<Program>, &Choice),
    (launch, by_x): (Launch, bool),
) -> Option<String> {
    let open = ["grid", "block", "shared"].map(|flag| !given(flag));
    if !open[0] && !open[1] {
        return None;
    }
    let (program, choice, args) = (program.clone(), choice.clone(), attempt.args.clone());
    let planned = Planned { program, choice, launch, args, parts: open };
    Some(take(attempt, planned, by_x))
}

/// Takes what a launch says, and tells it. A grid of numbers is for other sizes, unless blocks are told apart `by_x` alone, and so is the grid.
fn take(attempt: &mut Try, mut planned: Planned, by_x: bool) -> String {
    let [open_grid, open_block, open_shared] = planned.parts;
    let Extents { grid, block, shared } = planned.extents(&super::shape(&attempt.sizes));
    let mut said = vec![format!("launch of {}", planned.place())];
    if open_block {
        planned.parts[1] = block.is_ok();
        said.push(match &block {
            Ok(block) => format!("block {}", list(*block)),
            Err(why) => format!("not evaluated ({why}), so --block {}", attempt.block),
        });
    }
    if open_grid {
        let is_line = matches!(grid, Ok([_, 1, 1])) && by_x;
        let fixed = grid.is_ok() && !is_line && planned.is_fixed() && !planned.covers_host_sizes(attempt);
        planned.parts[0] = grid.is_ok() && !fixed;
        if let (false, Ok([x, y, _])) = (planned.parts[0], &block) {
            attempt.grid = format!("cdiv(N,{}),cdiv(M,{})", x.max(&1), y.max(&1));
        }
        said.push(match grid {
            Ok(grid) if fixed => format!("its grid {} is for other sizes, so --grid {}", list(grid), attempt.grid),
            Ok(grid) => format!("grid {}", list(grid)),
            Err(why) => format!("not evaluated ({why}), so --grid {}", attempt.grid),
        });
    }
    match shared {
        Ok(bytes) if open_shared => {
            attempt.shared = u32::try_from(bytes).unwrap_or(u32::MAX);
            said.extend((bytes > 0).then(|| format!("{bytes} bytes of dynamic shared memory")));
        }
        Err(why) if open_shared => said.push(format!("not evaluated ({why}), so --shared {}", attempt.shared)),
        _ => (),
    }
    attempt.planned = Some(planned);
    said.join(", ")
}

fn list(extents: [u64; 3]) -> String {
    let last = extents.iter().rposition(|extent| *extent != 1).unwrap_or(0);
    format!("({})", extents[..=last].iter().map(u64::to_string).collect::<Vec<_>>().join(","))
}
