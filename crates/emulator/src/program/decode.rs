//! Syntax tree to program: names become slots, most calls are inlined, every instruction gets its operation.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;
use std::sync::Arc;

use super::calls::Draft;
use super::flow::{Item, Proto};
use super::fma_runs::fma_runs;
use super::grammar::Form;
use super::places::Place;
use super::*;
use crate::ptx::{self, Function, Source, Statement, error};
use crate::stamp::INSTRUCTION_LIMIT;
use crate::{Class, PtxError};

/// Marks a slot as the index of a preset, until allocation gives it its place.
pub(super) const PRESET: Slot = 1 << 31;

/// Instructions that a kernel may have, with what stands in the place of its calls: as many as race detection can tell apart.
pub(super) const MAX_INSTRUCTIONS: usize = INSTRUCTION_LIMIT / 2;

/// Decodes the kernel `function` of `source`.
pub(crate) fn decode(source: &Source, function: &Function) -> Result<Program, PtxError> {
    let mut decoder = Decoder::new(source)?;
    for variable in &function.params {
        decoder.parameter(variable)?;
    }
    let end = decoder.new_label();
    decoder.end_of_kernel = end;
    decoder.note_home(function);
    decoder.function(function, HashMap::new(), end)?;
    decoder.called_functions()?;
    decoder.finish(function, end)
}

/// One function's names while its body is decoded.
pub(super) struct Frame<'a> {
    pub function: &'a Function,
    registers: HashMap<String, (File, Slot)>,
    labels: HashMap<String, u32>,
    pub places: HashMap<String, Place>,
    /// The spot of its call.
    pub called_at: Option<u32>,
    /// Where `ret` goes.
    end: u32,
    /// The statement at hand.
    pub at: usize,
    pub carry: Option<Slot>,
    /// Of registers of 128 bits.
    pub halves: HashMap<String, [Slot; 2]>,
}

pub(super) struct Decoder<'a> {
    pub source: &'a Source,
    pub frames: Vec<Frame<'a>>,
    pub code: Vec<Instruction>,
    pub info: Vec<Info>,
    pub accesses: Vec<Access>,
    pub extended: Vec<Extended>,
    pub items: Vec<Item>,
    pub counts: [u32; 3],
    pub presets: [Vec<Preset>; 3],
    pub module_places: HashMap<String, Place>,
    labels: u32,
    pub parameters: Vec<Parameter>,
    pub parameter_bytes: u64,
    pub shared: Vec<SharedVariable>,
    pub locals: Vec<LocalVariable>,
    /// Registers that hold the address of one of these in a frame.
    pub in_frames: HashMap<Slot, u32>,
    pub static_shared: u64,
    /// What dynamic shared memory is aligned to.
    pub dynamic_align: u64,
    pub local_bytes: u64,
    pub end_of_kernel: u32,
    /// Functions that are called, as far as they are known, and where.
    pub called: Vec<Draft<'a>>,
    pub calls: Vec<CallSite>,
    /// The function of these that is being decoded.
    pub inside: Option<u32>,
    /// Functions that call themselves, on whatever way; once it matters.
    pub recursive: Option<HashSet<&'a str>>,
    /// Where variables lie of which there is one, however often their function is put in the place of a call.
    pub single: HashMap<(&'a str, &'a str), Place>,
    pub constants: Vec<u8>,
    pub globals: Vec<GlobalVariable>,
    /// Which of these a cooperative launch has from the driver.
    pub workspace: Option<u32>,
    pub tile_memory: Option<u32>,
    file_numbers: Vec<u32>,
    pub spots: spots::Draft,
    opcodes: HashMap<String, Arc<str>>,
    /// The forms that opcodes may be of, as far as they were asked for.
    pub forms: HashMap<String, Rc<Vec<Form>>>,
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
            extended: Vec::new(),
            items: Vec::new(),
            counts: Default::default(),
            presets: [Vec::new(), Vec::new(), Vec::new()],
            module_places: HashMap::new(),
            labels: 0,
            parameters: Vec::new(),
            parameter_bytes: 0,
            shared: Vec::new(),
            locals: Vec::new(),
            in_frames: HashMap::new(),
            static_shared: 0,
            dynamic_align: 16,
            local_bytes: 0,
            end_of_kernel: 0,
            called: Vec::new(),
            calls: Vec::new(),
            inside: None,
            recursive: None,
            single: HashMap::new(),
            constants: Vec::new(),
            globals: Vec::new(),
            workspace: None,
            tile_memory: None,
            file_numbers,
            spots: spots::Draft::default(),
            opcodes: HashMap::new(),
            forms: HashMap::new(),
        };
        for variable in &source.variables {
            let place = decoder.place(variable)?;
            decoder.module_places.insert(variable.name.clone(), place);
        }
        Ok(decoder)
    }

    /// The GPU that the module is for: `sm_` this.
    pub fn architecture(&self) -> u32 {
        self.source.architecture
    }

    /// Whether the module is for this GPU alone, and may use what no other has.
    pub fn has_all_of(&self, architecture: u32) -> bool {
        self.source.only && self.source.architecture == architecture
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
        if self.code.len().max(self.items.len()) > MAX_INSTRUCTIONS {
            return error(
                function.line,
                format!("with its calls inlined, the kernel has over {MAX_INSTRUCTIONS} instructions"),
            );
        }
        let (registers, labels, halves) = (HashMap::new(), HashMap::new(), HashMap::new());
        let has_results = function.returns.iter().any(|result| result.space == "reg");
        let last = if has_results { self.new_label() } else { end };
        let called_at = self.spot_here();
        self.frames.push(Frame {
            function,
            registers,
            labels,
            places,
            called_at,
            end: last,
            at: 0,
            carry: None,
            halves,
        });
        self.load_parameters(function)?;
        let mut variables = function.variables.iter().zip(&function.declared_at).peekable();
        for (at, statement) in function.body.iter().enumerate() {
            self.frame().at = at;
            // A name is known from its declaration on.
            while let Some((variable, _)) = variables.next_if(|(_, declared)| **declared <= at) {
                let place = self.place_in(function, variable)?;
                self.frame().places.insert(variable.name.clone(), place);
            }
            match statement {
                Statement::Label(name) => {
                    let label = self.label(name);
                    self.items.push(Item::Label(label));
                }
                Statement::Instruction(instruction) => self.instruction(instruction)?,
            }
        }
        if has_results {
            self.items.push(Item::Label(last));
            self.store_results(function)?;
        }
        self.items.push(Item::End(Proto::Jump(end), None));
        self.frames.pop();
        Ok(())
    }

    pub fn frame(&mut self) -> &mut Frame<'a> {
        self.frames.last_mut().expect("a body is being decoded")
    }

    /// The line of the instruction at hand.
    pub fn line(&self) -> u32 {
        let statement = self.frames.last().and_then(|frame| frame.function.body.get(frame.at));
        match statement {
            Some(Statement::Instruction(words)) => words.line,
            _ => u32::MAX,
        }
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

    /// The slot and file of a register that the function declares.
    pub fn register(&mut self, name: &str) -> Option<(File, Slot)> {
        if let Some(&found) = self.frame().registers.get(name) {
            return Some(found);
        }
        let file = match self.register_kind(name)? {
            "pred" => File::P,
            "b64" | "u64" | "s64" | "f64" => File::D,
            "b128" => return None,
            _ => File::R,
        };
        let slot = self.temporary(file);
        self.frame().registers.insert(name.to_string(), (file, slot));
        Some((file, slot))
    }

    /// The type with which a register is declared.
    pub fn register_kind(&self, name: &str) -> Option<&'a str> {
        let Frame { function, at, .. } = self.frames.last()?;
        let register = function.registers.get(name).or_else(|| {
            function.register_ranges.iter().find_map(|(prefix, count, kind)| {
                let digits = name.strip_prefix(prefix.as_str())?;
                let number: u32 = digits.parse().ok()?;
                let plain = digits == "0" || !digits.starts_with(['0', '+']);
                (number < *count && plain).then_some(kind)
            })
        })?;
        (register.declared_at <= *at).then_some(&register.kind)
    }

    pub fn register_bits(&self, name: &str) -> Option<u8> {
        self.register_kind(name)?.get(1..)?.parse().ok()
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

    fn instruction(&mut self, instruction: &ptx::Instruction) -> Result<(), PtxError> {
        if self.code.len() > MAX_INSTRUCTIONS {
            return error(instruction.line, format!("the kernel has over {MAX_INSTRUCTIONS} instructions"));
        }
        let guard = match &instruction.guard {
            None => None,
            Some((name, negated)) => {
                let Some((File::P, predicate)) = self.register(name) else {
                    return error(instruction.line, format!("the guard `{name}` is no predicate"));
                };
                Some(Guard { predicate, negated: *negated })
            }
        };
        self.select(instruction, guard)
    }

    /// Appends an operation. `counted` names the class under which the instruction counts; the helper
    /// operations of an instruction that takes several are not counted.
    pub fn push(&mut self, op: Op, guard: Option<Guard>, instruction: &ptx::Instruction, counted: Option<Class>) {
        let info = self.describe(instruction, counted);
        self.append(op, guard, info);
    }

    /// Appends an operation that no instruction is.
    pub fn push_bare(&mut self, op: Op, line: u32) {
        let opcode = self.opcodes.entry("mov.u64".into()).or_insert_with(|| Arc::from("mov.u64")).clone();
        let info = Info { ptx_line: line, opcode, ..Info::default() };
        self.append(op, None, info);
    }

    fn append(&mut self, op: Op, guard: Option<Guard>, info: Info) {
        if let Op::Load(index) | Op::Store(index) = op {
            self.accesses[index as usize].at = self.code.len() as u32;
        }
        self.items.push(Item::Code(self.code.len() as u32));
        self.code.push(Instruction { op, guard });
        self.info.push(info);
    }

    /// Ends a block.
    pub fn push_end(&mut self, proto: Proto, instruction: &ptx::Instruction, class: Option<Class>) {
        let info = self.describe(instruction, class);
        // Ends have their own `info` behind that of the code: see `finish`.
        self.items.push(Item::End(proto, Some(Box::new(info))));
    }

    fn describe(&mut self, instruction: &ptx::Instruction, class: Option<Class>) -> Info {
        let spot = self.spot(instruction.loc);
        let (file, line) = self.spots.all.counted(spot);
        let opcode = match self.opcodes.get(&instruction.opcode) {
            Some(known) => known.clone(),
            None => {
                let opcode: Arc<str> = Arc::from(instruction.opcode.as_str());
                self.opcodes.insert(instruction.opcode.clone(), opcode.clone());
                opcode
            }
        };
        let (flops_f32, flops_f64) = match class {
            Some(Class::FmaF32) => (2, 0),
            Some(Class::FmaF64) => (0, 2),
            Some(Class::FloatF32) => (1, 0),
            Some(Class::FloatF64) => (0, 1),
            _ => (0, 0),
        };
        let ptx_line = instruction.line;
        Info { ptx_line, spot: Some(spot), file, line, opcode, class, flops_f32, flops_f64, tensor: None }
    }

    /// A file by its number in the PTX, as an index.
    pub fn file_number(&self, number: u32) -> Option<u32> {
        self.file_numbers.iter().position(|n| *n == number).map(|index| index as u32)
    }

    pub fn branch_targets(&self, table: &str) -> Option<&'a [String]> {
        Some(self.frames.last()?.function.branch_targets.get(table)?)
    }

    fn finish(mut self, function: &'a Function, end: u32) -> Result<Program, PtxError> {
        let dynamic_shared = self.static_shared.next_multiple_of(self.dynamic_align);
        for variable in self.shared.iter_mut().filter(|v| v.bytes.is_none()) {
            variable.offset = dynamic_shared as u32;
        }
        for list in &mut self.presets {
            for preset in list {
                if let Preset::DynamicSharedBase(offset) = preset {
                    *preset = Preset::SharedBase(dynamic_shared.wrapping_add(*offset as u64));
                }
            }
        }
        let meets = |at: u32| self.code[at as usize].op.is_meeting(&self.extended);
        let entries: Vec<u32> = self.called.iter().map(|draft| draft.entry).collect();
        let (blocks, entries) = flow::blocks(self.items, (end, &entries), &mut self.info, &meets)?;
        let called = self.called.into_iter().zip(entries).map(|(draft, entry)| draft.finish(entry)).collect();
        let grain = |space: Space| {
            let widths = self.accesses.iter().filter(|a| a.space == space || a.space == Space::Generic);
            widths.map(|a| a.bytes().min(8)).min().unwrap_or(4)
        };
        let mut program = Program {
            name: function.name.clone(),
            shared_grain: grain(Space::Shared),
            global_grain: grain(Space::Global),
            blocks,
            code: self.code,
            info: self.info,
            accesses: self.accesses,
            extended: self.extended,
            bounds: function.bounds.clone(),
            parameters: self.parameters,
            parameter_bytes: self.parameter_bytes as u32,
            shared: self.shared,
            locals: self.locals,
            static_shared: self.static_shared as u32,
            dynamic_shared: dynamic_shared as u32,
            local_bytes: self.local_bytes as u32,
            called,
            calls: self.calls,
            constants: self.constants,
            globals: self.globals,
            cooperative: self.workspace.is_some(),
            tile_memory: self.tile_memory,
            files: self.file_numbers.iter().map(|n| self.source.files[n].clone()).collect(),
            spots: self.spots.all,
            ..Program::default()
        };
        program.needs = Needs::of(&program, &self.presets);
        program.synchronises_globally = program.needs.global;
        program.blind_loads = needs::values(&program, self.counts);
        provenance::mark(&mut program, self.counts, &self.presets);
        owner::mark(&mut program, self.counts, &self.presets, &self.in_frames);
        let apart = grouped::registers(&program, self.counts[File::R as usize]);
        program.grouped.touching = grouped::touching(&program, &apart);
        allocate::allocate(&mut program, self.counts, &self.presets, &apart);
        program.fma_runs = fma_runs(&program);
        Ok(program)
    }
}
