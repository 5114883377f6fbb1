//! Syntax tree to program: names become slots, calls are inlined, every instruction gets its operation.

use std::collections::HashMap;
use std::sync::Arc;

use super::flow::{Item, Proto};
use super::*;
use crate::ptx::{self, Function, Operand, Source, Statement, error};
use crate::{Class, PtxError};

/// Marks a slot as the index of a preset, until allocation gives it its place.
pub(super) const PRESET: Slot = 1 << 31;

/// Functions may call functions this deep; deeper means recursion, which is refused.
const MAX_CALL_DEPTH: usize = 32;

/// Decodes the kernel `function` of `source`.
pub(crate) fn decode(source: &Source, function: &Function) -> Result<Program, PtxError> {
    let mut decoder = Decoder::new(source)?;
    for variable in &function.params {
        decoder.parameter(variable);
    }
    let end = decoder.new_label();
    decoder.function(function, HashMap::new(), end)?;
    decoder.finish(function, end)
}

/// Where a variable lies.
#[derive(Debug, Clone, Copy)]
pub(super) enum Place {
    Shared(u64),
    Local(u64),
    Constant(u64),
    Parameter(u64),
    Global(u32),
}

/// One function's names while its body is decoded.
pub(super) struct Frame<'a> {
    function: &'a Function,
    registers: HashMap<String, (File, Slot)>,
    labels: HashMap<String, u32>,
    places: HashMap<String, Place>,
    /// Where `ret` goes.
    end: u32,
}

pub(super) struct Decoder<'a> {
    pub source: &'a Source,
    pub frames: Vec<Frame<'a>>,
    pub code: Vec<Instruction>,
    pub info: Vec<Info>,
    pub accesses: Vec<Access>,
    pub items: Vec<Item>,
    pub counts: [u32; 3],
    pub presets: [Vec<Preset>; 3],
    module_places: HashMap<String, Place>,
    labels: u32,
    parameters: Vec<Parameter>,
    parameter_bytes: u64,
    shared: Vec<SharedVariable>,
    static_shared: u64,
    local_bytes: u64,
    constants: Vec<u8>,
    globals: Vec<GlobalVariable>,
    file_numbers: Vec<u32>,
    opcodes: HashMap<String, Arc<str>>,
}

impl Frame<'_> {
    pub fn end(&self) -> u32 {
        self.end
    }
}

impl<'a> Decoder<'a> {
    fn new(source: &'a Source) -> Result<Self, PtxError> {
        let mut file_numbers: Vec<u32> = source.files.keys().copied().collect();
        file_numbers.sort_unstable();
        let mut decoder = Decoder {
            source,
            frames: Vec::new(),
            code: Vec::new(),
            info: Vec::new(),
            accesses: Vec::new(),
            items: Vec::new(),
            counts: [0; 3],
            presets: [Vec::new(), Vec::new(), Vec::new()],
            module_places: HashMap::new(),
            labels: 0,
            parameters: Vec::new(),
            parameter_bytes: 0,
            shared: Vec::new(),
            static_shared: 0,
            local_bytes: 0,
            constants: Vec::new(),
            globals: Vec::new(),
            file_numbers,
            opcodes: HashMap::new(),
        };
        for variable in &source.variables {
            let place = decoder.place(variable)?;
            decoder.module_places.insert(variable.name.clone(), place);
        }
        Ok(decoder)
    }

    /// Lays out a variable in its space.
    fn place(&mut self, variable: &ptx::Variable) -> Result<Place, PtxError> {
        let bytes = variable.bytes.unwrap_or(0);
        let align = |at: u64| at.next_multiple_of(variable.align.max(1));
        Ok(match variable.space.as_str() {
            "shared" if variable.bytes.is_none() => {
                self.shared.push(SharedVariable { name: plain_name(&variable.name), offset: u32::MAX, bytes: None });
                Place::Shared(u64::MAX)
            }
            "shared" => {
                let offset = align(self.static_shared);
                self.static_shared = offset + bytes;
                let (name, size) = (plain_name(&variable.name), Some(bytes as u32));
                self.shared.push(SharedVariable { name, offset: offset as u32, bytes: size });
                Place::Shared(offset)
            }
            "local" | "param" => {
                let offset = align(self.local_bytes);
                self.local_bytes = offset + bytes;
                Place::Local(offset)
            }
            "const" => {
                let offset = align(self.constants.len() as u64);
                self.constants.resize(offset as usize, 0);
                self.constants.extend(&variable.init);
                self.constants.resize((offset + bytes) as usize, 0);
                Place::Constant(offset)
            }
            "global" => {
                let init = variable.init.clone();
                self.globals.push(GlobalVariable { name: plain_name(&variable.name), bytes, init });
                Place::Global(self.globals.len() as u32 - 1)
            }
            other => return error(0, format!("variables in .{other} are not supported")),
        })
    }

    fn parameter(&mut self, variable: &ptx::Variable) {
        let bytes = variable.bytes.unwrap_or(8);
        let offset = self.parameter_bytes.next_multiple_of(variable.align.max(1));
        self.parameter_bytes = offset + bytes;
        self.parameters.push(Parameter {
            name: variable.name.clone(),
            offset: offset as u32,
            bytes: bytes as u32,
            stored_through: false,
            loaded_through: false,
        });
        self.module_places.insert(variable.name.clone(), Place::Parameter(offset));
    }

    pub fn new_label(&mut self) -> u32 {
        self.labels += 1;
        self.labels - 1
    }

    /// Decodes a body. `places` holds the parameters of a called function; `end` is where `ret` leads.
    pub fn function(
        &mut self,
        function: &'a Function,
        places: HashMap<String, Place>,
        end: u32,
    ) -> Result<(), PtxError> {
        if self.frames.len() >= MAX_CALL_DEPTH {
            return error(
                function.line,
                format!("calls nest deeper than {MAX_CALL_DEPTH}: recursion is not supported"),
            );
        }
        let (registers, labels) = (HashMap::new(), HashMap::new());
        self.frames.push(Frame { function, registers, labels, places, end });
        for variable in &function.variables {
            let place = self.place(variable)?;
            self.frame().places.insert(variable.name.clone(), place);
        }
        for statement in &function.body {
            match statement {
                Statement::Label(name) => {
                    let label = self.label(name);
                    self.items.push(Item::Label(label));
                }
                Statement::Instruction(instruction) => self.instruction(instruction)?,
            }
        }
        self.items.push(Item::End(Proto::Jump(end), None));
        self.frames.pop();
        Ok(())
    }

    pub fn frame(&mut self) -> &mut Frame<'a> {
        self.frames.last_mut().expect("a body is being decoded")
    }

    pub fn end(&mut self) -> u32 {
        self.frame().end()
    }

    pub fn label(&mut self, name: &str) -> u32 {
        if let Some(&label) = self.frame().labels.get(name) {
            return label;
        }
        let label = self.new_label();
        self.frame().labels.insert(name.to_string(), label);
        label
    }

    /// Where a variable lies, innermost declaration first.
    pub fn find_place(&mut self, name: &str) -> Option<Place> {
        self.frame().places.get(name).copied().or_else(|| self.module_places.get(name).copied())
    }

    /// The slot and file of a register that the function declares.
    pub fn register(&mut self, name: &str) -> Option<(File, Slot)> {
        if let Some(&found) = self.frame().registers.get(name) {
            return Some(found);
        }
        let function = self.frame().function;
        let kind = function.registers.get(name).or_else(|| {
            function.register_ranges.iter().find_map(|(prefix, count, kind)| {
                let number: u32 = name.strip_prefix(prefix.as_str())?.parse().ok()?;
                (number < *count).then_some(kind)
            })
        })?;
        let file = match kind.as_str() {
            "pred" => File::P,
            "b64" | "u64" | "s64" | "f64" => File::D,
            "b128" => return None,
            _ => File::R,
        };
        let slot = self.temporary(file);
        self.frame().registers.insert(name.to_string(), (file, slot));
        Some((file, slot))
    }

    pub fn temporary(&mut self, file: File) -> Slot {
        let count = &mut self.counts[file as usize];
        *count += 1;
        *count - 1
    }

    pub fn preset(&mut self, file: File, preset: Preset) -> Slot {
        let list = &mut self.presets[file as usize];
        let index = list.iter().position(|p| *p == preset).unwrap_or_else(|| {
            list.push(preset);
            list.len() - 1
        });
        PRESET | index as Slot
    }

    pub fn constant(&mut self, file: File, bits: u64) -> Slot {
        let bits = if file == File::R { bits & 0xffff_ffff } else { bits };
        self.preset(file, Preset::Constant(bits))
    }

    /// The slot of an operand that is read from `file`.
    pub fn source(&mut self, operand: &Operand, file: File, line: u32) -> Result<Slot, PtxError> {
        match operand {
            Operand::Integer(n) => Ok(self.constant(file, *n as u64)),
            Operand::F32(bits) => Ok(self.constant(file, (*bits).into())),
            Operand::F64(bits) => Ok(self.constant(file, *bits)),
            Operand::Name(name) => self.named_source(name, 0, file, line),
            Operand::Offset(name, offset) => self.named_source(name, *offset, file, line),
            other => error(line, format!("{other:?} is no source operand")),
        }
    }

    fn named_source(&mut self, name: &str, offset: i64, file: File, line: u32) -> Result<Slot, PtxError> {
        if let Some((found, slot)) = self.register(name) {
            if found != file {
                return error(line, format!("register `{name}` has the wrong width for this operand"));
            }
            return Ok(slot);
        }
        if let Some(preset) = special(name) {
            return Ok(self.preset(file, preset));
        }
        match self.find_place(name) {
            Some(Place::Global(index)) => Ok(self.preset(file, Preset::Global(index, offset))),
            Some(Place::Shared(u64::MAX)) => Ok(self.preset(file, Preset::DynamicSharedBase(offset))),
            Some(Place::Shared(at)) => {
                let variable = self.shared.iter().position(|v| u64::from(v.offset) == at && v.bytes != Some(0));
                let address = at.wrapping_add(offset as u64);
                Ok(self.preset(file, Preset::SharedAddress { variable: variable.unwrap_or(0) as u32, address }))
            }
            Some(Place::Local(at) | Place::Constant(at) | Place::Parameter(at)) => {
                Ok(self.constant(file, at.wrapping_add(offset as u64)))
            }
            None if name == "WARP_SZ" => Ok(self.constant(file, 32)),
            None => {
                error(line, format!("`{name}` is neither a register nor a variable nor a special register known here"))
            }
        }
    }

    /// The slot of a register that is written. `_` gives one that nobody reads.
    pub fn destination(&mut self, operand: &Operand, file: File, line: u32) -> Result<Slot, PtxError> {
        match operand {
            Operand::Name(name) if name == "_" => Ok(self.temporary(file)),
            Operand::Name(name) => match self.register(name) {
                Some((found, slot)) if found == file => Ok(slot),
                Some(_) => error(line, format!("register `{name}` has the wrong width for this result")),
                None => error(line, format!("`{name}` is no register")),
            },
            other => error(line, format!("{other:?} is no destination")),
        }
    }

    /// The file of an operand that is a register, if it is one.
    pub fn file_of(&mut self, operand: &Operand) -> Option<File> {
        match operand {
            Operand::Name(name) => self.register(name).map(|(file, _)| file),
            _ => None,
        }
    }

    fn instruction(&mut self, instruction: &ptx::Instruction) -> Result<(), PtxError> {
        let guard = match &instruction.guard {
            None => None,
            Some((name, negated)) => {
                let predicate = self.source(&Operand::Name(name.clone()), File::P, instruction.line)?;
                Some(Guard { predicate, negated: *negated })
            }
        };
        self.select(instruction, guard)
    }

    /// Appends an operation. `counted` names the class under which the instruction counts; the helper
    /// operations of an instruction that takes several are not counted.
    pub fn push(&mut self, op: Op, guard: Option<Guard>, instruction: &ptx::Instruction, counted: Option<Class>) {
        let info = self.describe(instruction, counted);
        if let Op::Load(index) | Op::Store(index) = op {
            self.accesses[index as usize].at = self.code.len() as u32;
        }
        self.items.push(Item::Code(self.code.len() as u32));
        self.code.push(Instruction { op, guard });
        self.info.push(info);
    }

    /// Ends a block.
    pub fn push_end(&mut self, proto: Proto, instruction: &ptx::Instruction, class: Class) {
        let info = self.describe(instruction, Some(class));
        // Ends have their own `info` behind that of the code: see `finish`.
        self.items.push(Item::End(proto, Some(Box::new(info))));
    }

    fn describe(&mut self, instruction: &ptx::Instruction, class: Option<Class>) -> Info {
        let file = self.file_numbers.iter().position(|n| *n == instruction.loc.0);
        let opcode = self
            .opcodes
            .entry(instruction.opcode.clone())
            .or_insert_with(|| Arc::from(instruction.opcode.as_str()))
            .clone();
        let (flops_f32, flops_f64) = match class {
            Some(Class::FmaF32) => (2, 0),
            Some(Class::FmaF64) => (0, 2),
            Some(Class::FloatF32) => (1, 0),
            Some(Class::FloatF64) => (0, 1),
            _ => (0, 0),
        };
        let line = if file.is_some() { instruction.loc.1 } else { 0 };
        let file = file.unwrap_or(0) as u32;
        Info { ptx_line: instruction.line, file, line, opcode, class, flops_f32, flops_f64 }
    }

    fn finish(mut self, function: &Function, end: u32) -> Result<Program, PtxError> {
        let dynamic_shared = self.static_shared.next_multiple_of(16);
        for variable in self.shared.iter_mut().filter(|v| v.bytes.is_none()) {
            variable.offset = dynamic_shared as u32;
        }
        for list in &mut self.presets {
            for preset in list {
                if let Preset::DynamicSharedBase(offset) = preset {
                    *preset = Preset::Constant(dynamic_shared.wrapping_add(*offset as u64));
                }
            }
        }
        let blocks = flow::blocks(self.items, end, &mut self.info)?;
        let grain = |space: Space| {
            let widths = self.accesses.iter().filter(|a| a.space == space || a.space == Space::Generic);
            widths.map(|a| a.bytes().min(8)).min().unwrap_or(4)
        };
        let mut program = Program {
            name: function.name.clone(),
            shared_grain: grain(Space::Shared),
            global_grain: grain(Space::Global),
            synchronises: self.accesses.iter().any(|a| a.ordered),
            synchronises_globally: self.accesses.iter().any(|a| a.ordered && a.space != Space::Shared),
            blocks,
            code: self.code,
            info: self.info,
            accesses: self.accesses,
            registers32: 0,
            registers64: 0,
            predicates: 0,
            preset32: Vec::new(),
            preset64: Vec::new(),
            preset_predicates: Vec::new(),
            parameters: self.parameters,
            parameter_bytes: self.parameter_bytes as u32,
            shared: self.shared,
            static_shared: self.static_shared as u32,
            dynamic_shared: dynamic_shared as u32,
            local_bytes: self.local_bytes as u32,
            constants: self.constants,
            globals: self.globals,
            files: self.file_numbers.iter().map(|n| self.source.files[n].clone()).collect(),
        };
        provenance::mark(&mut program, self.counts, &self.presets);
        owner::mark(&mut program, self.counts, &self.presets);
        allocate::allocate(&mut program, self.counts, &self.presets);
        Ok(program)
    }
}

/// The preset that a special register's name stands for.
fn special(name: &str) -> Option<Preset> {
    let axis = |axis: &str| ["x", "y", "z"].iter().position(|a| *a == axis).map(|n| n as u8);
    let (head, tail) = name.split_once('.').unwrap_or((name, ""));
    match head {
        "%tid" => axis(tail).map(Preset::Tid),
        "%ntid" => axis(tail).map(Preset::Ntid),
        "%ctaid" => axis(tail).map(Preset::Ctaid),
        "%nctaid" => axis(tail).map(Preset::Nctaid),
        "%laneid" => Some(Preset::LaneId),
        "%warpid" => Some(Preset::WarpId),
        "%nwarpid" => Some(Preset::NWarpId),
        "%lanemask_eq" => Some(Preset::LaneMask(0)),
        "%lanemask_lt" => Some(Preset::LaneMask(1)),
        "%lanemask_le" => Some(Preset::LaneMask(2)),
        "%lanemask_gt" => Some(Preset::LaneMask(3)),
        "%lanemask_ge" => Some(Preset::LaneMask(4)),
        "%dynamic_smem_size" => Some(Preset::DynamicSharedBytes),
        _ => None,
    }
}

/// The name that a person gave a variable: `_ZZ10gemm_tiledE2As` is `As`.
fn plain_name(mangled: &str) -> String {
    let plain = || {
        let rest = &mangled.strip_prefix("_ZZ")?[..];
        let tail = &rest[rest.rfind('E')? + 1..];
        let digits = tail.chars().take_while(char::is_ascii_digit).count();
        let length: usize = tail[..digits].parse().ok()?;
        tail[digits..].get(..length).map(str::to_string)
    };
    plain().unwrap_or_else(|| mangled.to_string())
}
