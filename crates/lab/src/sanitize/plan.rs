//! The words made into buffers and launches, before anything runs.

use std::collections::HashMap;

use emulator::{Kernel, Module, Parameter};
use gemm::{Dim3, Error};

use super::Sanitize;
use super::argument::{self, Argument, NewBuffer};
use super::content::Content;
use super::element::Element;
use super::map::{MapWords, PlannedMap};
use super::pointed;
use super::words::{Launch, pair};
use crate::candidate::Kernels;
use crate::expression::{parts, value};
use crate::probe::launches;
use crate::written::ordinary;

/// Bytes of a buffer that takes memory only where it is accessed.
const MOST_SPARSE: u64 = 1 << 34;

/// What is run: the same in every order.
#[derive(Debug)]
pub struct Plan {
    /// The kernels' module.
    pub module: Module,
    /// The buffers, in the order in which the words name them; first of all the module's variables that they name.
    pub buffers: Vec<Planned>,
    /// The launches, in their order.
    pub launches: Vec<PlannedLaunch>,
}

/// A buffer.
#[derive(Debug)]
pub struct Planned {
    /// Its name.
    pub name: String,
    /// What it consists of.
    pub element: Element,
    /// How many there are.
    pub count: usize,
    /// What it holds; nothing that anybody has written without, or what the module says.
    pub bytes: Option<Vec<u8>>,
    /// It is a variable of the module.
    pub variable: bool,
    /// It holds zeros, and takes memory only where it is accessed.
    pub sparse: bool,
}

/// A launch.
#[derive(Debug)]
pub struct PlannedLaunch {
    /// What people call the kernel.
    pub entry: String,
    /// The kernel, decoded.
    pub kernel: Kernel,
    /// Thread blocks.
    pub grid: Dim3,
    /// Threads of a block.
    pub block: Dim3,
    /// Bytes of dynamic shared memory.
    pub shared: u32,
    /// Whether blocks that all meet may do so: not where the file launches the kernel by `<<<…>>>` alone.
    pub cooperative: bool,
    /// The arguments.
    pub arguments: Vec<Value>,
    /// The arguments as they were given.
    pub words: Vec<String>,
}

/// An argument's bytes, with the pointers that stand in them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Value {
    /// The bytes; pointers are zeros.
    pub bytes: Vec<u8>,
    /// Where a pointer lies, to which buffer, and how many bytes from its start.
    pub pointers: Vec<(usize, usize, u64)>,
    /// Where a tensor map lies, and which one.
    pub maps: Vec<(usize, PlannedMap)>,
    /// The largest alignment of its members.
    alignment: usize,
}

/// Makes the plan.
pub fn plan(kernels: &Kernels, launches: &[Launch], flags: &Sanitize) -> Result<Plan, Error> {
    let module = &kernels.module;
    let most = flags.memory.saturating_mul(1 << 20);
    let mut planner =
        Planner { names: HashMap::new(), buffers: Vec::new(), before: Vec::new(), seed: flags.seed, most };
    for word in &flags.set {
        let (name, text) = pair("--set", word)?;
        let value = planner.size("--set", text)?;
        planner.names.insert(name.to_string(), value);
    }
    for word in &flags.variable {
        planner.variable(module, word).map_err(|why| {
            let known = module.variables().collect::<Vec<_>>().join(", ");
            let hint = match known.is_empty() {
                true => "the file has no variables outside its kernels".to_string(),
                false => format!("as in `filter:f32={{1,2,1}}`; the file has {known}"),
            };
            Error::usage(format!("--variable {word}: {why}"), hint)
        })?;
    }
    let mut planned = Vec::new();
    for launch in launches {
        planned.push(planner.launch(kernels, launch)?);
    }
    Ok(Plan { module: module.clone(), buffers: planner.buffers, launches: planned })
}

struct Planner {
    names: HashMap<String, u64>,
    buffers: Vec<Planned>,
    /// Buffers as launches before described them.
    before: Vec<(NewBuffer, usize)>,
    seed: u64,
    /// Bytes that all buffers may have: the emulator holds what it knows of them beside them.
    most: u64,
}

impl Planner {
    fn launch(&mut self, kernels: &Kernels, launch: &Launch) -> Result<PlannedLaunch, Error> {
        let module = &kernels.module;
        let entry = kernels.pick(launch.entry.as_deref())?;
        let kernel = module.kernel(&entry).map_err(|error| {
            let hint =
                error.hint.unwrap_or("ptxas refuses this, too: is the PTX whole, and of the version that it names?");
            Error::usage(format!("the emulator cannot run {}: {error}", kernels.shown(&entry)), hint)
        })?;
        let parameters = module.parameters(&entry).unwrap_or_default();
        let entry = kernels.shown(&entry);
        let said = |flag: &str, words: &Option<String>| {
            let hint = format!("say it, as in `{flag} 32`; names from --set, + - * / and cdiv(a,b) may stand there");
            words.clone().ok_or_else(|| Error::usage(format!("{flag} is missing for {entry}"), hint))
        };
        // The arguments may count what is not known before they are read.
        let written = kernels.written(&entry);
        let arguments = self.arguments(&entry, (&parameters, written), &launch.arguments)?;
        let grid = self.extents("--grid", &said("--grid", &launch.grid)?)?;
        let block = self.extents("--block", &said("--block", &launch.block)?)?;
        let shared = self.size("--shared", launch.shared.as_deref().unwrap_or("0"))?;
        let shared = u32::try_from(shared).unwrap_or(u32::MAX);
        if let Some((why, hint)) = launches::too_long(grid) {
            return Err(Error::usage(format!("the launch of {entry} fails on a GPU: {why}"), hint));
        }
        let ordinary = |program| written.and_then(|kernel| ordinary(program, kernel));
        let cooperative = kernels.program.as_deref().and_then(ordinary).is_none();
        let words = launch.arguments.clone();
        Ok(PlannedLaunch { entry, kernel, grid, block, shared, cooperative, arguments, words })
    }

    fn arguments(
        &mut self,
        entry: &str,
        (parameters, written): (&[Parameter], Option<&cuda_source::Kernel>),
        words: &[String],
    ) -> Result<Vec<Value>, Error> {
        if words.len() != parameters.len() {
            let kinds = parameters.iter().map(kind).collect::<Vec<_>>().join(", ");
            let hint = match written.filter(|kernel| kernel.parameters.len() == parameters.len()) {
                _ if parameters.is_empty() => "leave --arg out".to_string(),
                Some(kernel) => self::declared(kernel),
                None => format!("its parameters are, in order: {kinds}; each needs one --arg"),
            };
            let (given, taken) = (words.len(), parameters.len());
            return Err(Error::usage(format!("{entry} takes {taken} arguments, and {given} are given"), hint));
        }
        let declared = written.filter(|kernel| kernel.parameters.len() == parameters.len());
        let mut values = Vec::new();
        let mut described = Vec::new();
        for (index, (word, parameter)) in words.iter().zip(parameters).enumerate() {
            let made = argument::parse(word).and_then(|(name, argument)| match argument {
                Argument::Map(map) => self.map(name.as_deref(), &map),
                Argument::New(buffer) => {
                    declared
                        .and_then(|kernel| pointed::fits(&kernel.parameters[index], &buffer))
                        .map_or(Ok(()), Err)?;
                    let index = self.add(&buffer)?;
                    described.push((buffer, index));
                    Ok(Value::pointer(index, 0))
                }
                argument => self.value(&argument, Some(parameter)),
            });
            let value = made.and_then(|value| match value.bytes.len() as u64 == parameter.bytes {
                true => Ok(value),
                false => Err(format!("it has {} bytes, and the parameter is {}", value.bytes.len(), kind(parameter))),
            });
            let value = value.map_err(|why| {
                let hint = match word.contains("map(") {
                    true => "as a:map(bf16[4096x4096],box=128x64,swizzle=128)=random; the last size, dimension 0, is the innermost",
                    false => "as in:f32[4096]=random, out:f32[16], n:i32=4096, 0.5 or a buffer's name",
                };
                Error::usage(format!("--arg {word} (parameter {index} of {entry}): {why}"), hint)
            })?;
            values.push(value);
        }
        self.before.extend(described);
        Ok(values)
    }

    /// An argument's bytes. `parameter` says how wide a plain number is.
    fn value(&mut self, argument: &Argument, parameter: Option<&Parameter>) -> Result<Value, String> {
        match argument {
            Argument::New(buffer) => {
                let index = self.add(buffer)?;
                self.before.push((buffer.clone(), index));
                Ok(Value::pointer(index, 0))
            }
            Argument::Typed(element, text) => Value::number(self.number(*element, text)?),
            Argument::Plain(text) => self.plain(text, parameter),
            Argument::Map(map) => self.map(None, map),
            Argument::Structure(members) => {
                let mut all = Value { alignment: 1, ..Value::default() };
                for member in members {
                    let member = self.value(member, None)?;
                    all.append(member);
                }
                let end = all.bytes.len().next_multiple_of(all.alignment);
                all.bytes.resize(end, 0);
                Ok(all)
            }
        }
    }

    /// A tensor map, and its buffer if that is a new one.
    fn map(&mut self, name: Option<&str>, words: &MapWords) -> Result<Value, String> {
        let known = words.known(|name| self.buffers.iter().position(|buffer| buffer.name == name));
        let element = known.map_or_else(|| words.element(), |index| Ok(self.buffers[index].element))?;
        let size = |text: &str| value(text, &|name| self.names.get(name).copied());
        let (map, count) = words.plan(element, known.unwrap_or(self.buffers.len()), size)?;
        match known {
            Some(index) => {
                let Planned { name, count: there, .. } = &self.buffers[index];
                if words.content.is_some() {
                    return Err(format!("{name} has its content already: leave it out here"));
                }
                if count > *there as u64 {
                    return Err(format!("the tensor takes {count} elements, and {name} has {there}"));
                }
            }
            None => {
                let name = name.ok_or("a tensor in a new buffer needs a name, as in `a:map(…)`")?.to_string();
                let (count, content) = (count.to_string(), words.content.clone());
                self.add(&NewBuffer { name, element, count, content })?;
            }
        }
        Ok(Value { bytes: vec![0; 128], maps: vec![(0, map)], alignment: 64, ..Value::default() })
    }

    fn plain(&mut self, text: &str, parameter: Option<&Parameter>) -> Result<Value, String> {
        if text == "null" {
            return Value::number(vec![0; 8]);
        }
        let (name, offset) = text.split_once('+').map_or((text, None), |(name, offset)| (name.trim(), Some(offset)));
        if let Some(index) = self.buffers.iter().position(|buffer| buffer.name == name) {
            let elements = offset.map_or(Ok(0), |offset| value(offset, &|name| self.names.get(name).copied()))?;
            let bytes = elements.saturating_mul(self.buffers[index].element.bytes() as u64);
            return Ok(Value::pointer(index, bytes));
        }
        let Some(parameter) = parameter else {
            return Err(format!("`{text}` is no buffer that is named before, and a number needs a type, as `i32=5`"));
        };
        match Element::of_parameter(&parameter.kind, parameter.bytes) {
            Some(element) => Value::number(self.number(element, text)?),
            None => Err(format!("the parameter is {}: write it as `s:{{i32=3,f32=0.5}}`", kind(parameter))),
        }
    }

    /// A number, or for whole types an expression.
    fn number(&self, element: Element, text: &str) -> Result<Vec<u8>, String> {
        let known = |name: &str| self.names.get(name).copied();
        element.parse(text).or_else(|why| match value(text, &known) {
            Ok(number) => {
                element.whole(number.into()).ok_or_else(|| format!("{number} does not fit into {}", element.name()))
            }
            Err(_) => Err(why),
        })
    }

    /// A variable of the module: `NAME:TYPE` or `NAME:TYPE=CONTENT`; the type may have its length, as a buffer's has.
    fn variable(&mut self, module: &Module, word: &str) -> Result<(), String> {
        let (declared, content) = word.split_once('=').map_or((word, None), |(left, right)| (left, Some(right)));
        let (name, element) = declared.split_once(':').ok_or("there is no type")?;
        let (element, counted) = match element.trim().strip_suffix(']').and_then(|word| word.split_once('[')) {
            Some((element, count)) => (element, Some(value(count, &|name| self.names.get(name).copied())?)),
            None => (element, None),
        };
        let (name, element) = (name.trim().to_string(), Element::named(element.trim())?);
        let size = module.variable_bytes(&name).ok_or_else(|| format!("there is no variable `{name}`"))?;
        if size > self.most {
            return Err(format!("it takes more than {} MiB: `--memory {}` allows it", self.most >> 20, mib(size)));
        }
        let count = size as usize / element.bytes();
        if let Some(counted) = counted.filter(|&counted| counted != count as u64) {
            return Err(format!("{name} has {count} elements of this type, and not {counted}"));
        }
        let content = content.map(Content::parse).transpose()?;
        let bytes = content.map(|content| content.bytes(element, count, self.seed, &name)).transpose()?;
        self.buffers.push(Planned { name, element, count, bytes, variable: true, sparse: false });
        Ok(())
    }

    fn add(&mut self, new: &NewBuffer) -> Result<usize, String> {
        let NewBuffer { name, element, .. } = new;
        // Arguments that are common to all launches are read again for each.
        if let Some((_, index)) = self.before.iter().find(|(before, _)| before == new) {
            return Ok(*index);
        }
        if self.buffers.iter().any(|buffer| buffer.name == *name) {
            return Err(format!("{name} is there already; name it without its type: `--arg {name}`"));
        }
        let count = value(&new.count, &|name| self.names.get(name).copied())?;
        let held = self.buffers.iter().filter(|buffer| !buffer.sparse);
        let before: u64 = held.map(|buffer| (buffer.count * buffer.element.bytes()) as u64).sum();
        let bytes = count.saturating_mul(element.bytes() as u64);
        let all = before.saturating_add(bytes);
        let content = new.content.as_ref();
        let zeros = content.is_none_or(|content| content.is_zeros(*element));
        let sparse = all > self.most && zeros && bytes <= MOST_SPARSE;
        if all > self.most && !sparse {
            let (most, wanted) = (self.most >> 20, mib(all));
            return Err(format!(
                "the buffers take more than {most} MiB: `--memory {wanted}` allows it, and without a content it takes none, up to 16 GiB"
            ));
        }
        let content = content.filter(|_| !sparse);
        let bytes = content.map(|content| content.bytes(*element, count as usize, self.seed, name)).transpose()?;
        self.buffers.push(Planned {
            name: name.clone(),
            element: *element,
            count: count as usize,
            bytes,
            variable: false,
            sparse,
        });
        Ok(self.buffers.len() - 1)
    }

    fn size(&self, flag: &str, text: &str) -> Result<u64, Error> {
        value(text, &|name| self.names.get(name).copied()).map_err(|why| {
            let hint =
                "an expression has numbers, names from --set, + - * / ( ) and cdiv(a,b), which is a/b rounded up";
            Error::usage(format!("{flag} {text}: {why}"), hint)
        })
    }

    fn extents(&self, flag: &str, text: &str) -> Result<Dim3, Error> {
        let words = parts(text);
        if words.len() > 3 {
            let message = format!("{flag} has {} extents, and there are 3 at most", words.len());
            return Err(Error::usage(message, "x, y and z"));
        }
        let mut extents = [1; 3];
        for (extent, word) in extents.iter_mut().zip(words) {
            let size = self.size(flag, word)?;
            *extent = u32::try_from(size).ok().filter(|&size| size > 0).ok_or_else(|| {
                Error::usage(format!("{flag}: `{word}` is {size}"), "an extent is from 1 to 4294967295")
            })?;
        }
        let [x, y, z] = extents;
        Ok(Dim3 { x, y, z })
    }
}

impl Value {
    fn number(bytes: Vec<u8>) -> Result<Value, String> {
        Ok(Value { alignment: bytes.len(), bytes, ..Value::default() })
    }

    fn pointer(buffer: usize, offset: u64) -> Value {
        Value { bytes: vec![0; 8], pointers: vec![(0, buffer, offset)], alignment: 8, ..Value::default() }
    }

    /// Puts a member behind, where C puts it.
    fn append(&mut self, member: Value) {
        let at = self.bytes.len().next_multiple_of(member.alignment.max(1));
        self.bytes.resize(at, 0);
        self.bytes.extend(member.bytes);
        self.pointers.extend(member.pointers.into_iter().map(|(place, buffer, offset)| (at + place, buffer, offset)));
        self.maps.extend(member.maps.into_iter().map(|(place, map)| (at + place, map)));
        self.alignment = self.alignment.max(member.alignment);
    }
}

/// A kernel's parameters as its text has them, with words that would stand for them.
fn declared(kernel: &cuda_source::Kernel) -> String {
    let word = |(index, parameter): (usize, &cuda_source::Parameter)| {
        let name = if parameter.name.is_empty() { format!("p{index}") } else { parameter.name.clone() };
        let element = parameter.scalar.map_or("TYPE", |scalar| Element::of_text(scalar, &parameter.element));
        match (parameter.pointer, parameter.constant) {
            (true, true) => format!("--arg {name}:{element}[1024]=random"),
            (true, false) => format!("--arg {name}:{element}[1024]"),
            (false, _) if element == "TYPE" => format!("--arg {name}:{{…}}"),
            (false, _) => format!("--arg {name}=1024"),
        }
    };
    let all = kernel.declared().join(", ");
    let words = kernel.parameters.iter().enumerate().map(word).collect::<Vec<_>>().join(" ");
    format!("its parameters are, in order: {all}; each needs one --arg, as in {words}")
}

/// So many bytes in whole MiB, rounded up.
fn mib(bytes: u64) -> u64 {
    bytes.div_ceil(1 << 20)
}

/// A parameter as a message names it.
fn kind(parameter: &Parameter) -> String {
    match Element::of_parameter(&parameter.kind, parameter.bytes) {
        Some(_) => parameter.kind.clone(),
        None => format!("{} bytes of {}", parameter.bytes, parameter.kind),
    }
}
