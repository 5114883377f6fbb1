//! A device with memory: buffers, and the variables of modules.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::buffer::Buffer;
use crate::global::{BufferMemory, GlobalMemory};
use crate::module::Place;
use crate::progress::Progress;
use crate::ptx::Variable;
use crate::workers::Workers;
use crate::{DeviceError, Fault, Kernel, Module};

/// An emulated GPU: global memory, and launches on it.
#[derive(Debug)]
pub struct Device {
    /// Tells devices apart, for their buffers.
    id: u64,
    pub(crate) memory: GlobalMemory,
    /// Buffers of module-level variables, by module, by the kernel where it alone has the variable, and by variable.
    variables: HashMap<(u64, String, usize), Buffer>,
    /// What was written to constant variables, by module: all of its constant memory.
    constants: HashMap<u64, Vec<u8>>,
    pub(crate) workers: Workers,
    pub(crate) progress: Progress,
}

impl Default for Device {
    fn default() -> Device {
        Device::new()
    }
}

impl Device {
    /// A device with no memory allocated.
    pub fn new() -> Device {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Device {
            id: NEXT.fetch_add(1, Ordering::Relaxed),
            memory: GlobalMemory::default(),
            variables: HashMap::new(),
            constants: HashMap::new(),
            workers: Workers::new(None),
            progress: Progress::default(),
        }
    }

    /// How many threads of this machine launches may use, 1 at least; without a number, as many as rayon takes. Results and
    /// reports are the same with any. Without the feature `parallel` it is always one.
    pub fn set_threads(&mut self, threads: Option<usize>) {
        self.workers = Workers::new(threads);
    }

    /// Has `tell` called whenever a thread block of a launch has ended: with how many have, and of how many. It is called on
    /// the threads that run them, and should be quick. A launch that runs its blocks a second time, to be sure of a fault,
    /// counts them anew.
    pub fn on_progress(&mut self, tell: impl Fn(u64, u64) + Send + Sync + 'static) {
        self.progress = Progress(Some(Box::new(tell)));
    }

    /// Allocates `bytes` bytes of uninitialised global memory. `name` stands for it in faults.
    ///
    /// Where there is no memory for it, the handle is still good: what uses it gives [`DeviceError::NoMemory`].
    pub fn alloc(&mut self, name: &str, bytes: usize) -> Buffer {
        Buffer { device: self.id, index: self.memory.alloc(name, bytes) }
    }

    /// Allocates `bytes` bytes of zeros that take memory only where they are accessed, for kernels that index more than there is
    /// memory for, at most 16 GiB. All of them count as written: that a kernel reads what nobody wrote is not found here.
    pub fn alloc_sparse(&mut self, name: &str, bytes: usize) -> Buffer {
        Buffer { device: self.id, index: self.memory.alloc_sparse(name, bytes) }
    }

    /// The parts of a buffer that may hold something else than zeros, each with its first byte and how many there are: all of it,
    /// unless it is of [`Device::alloc_sparse`].
    pub fn parts(&self, buffer: Buffer) -> Result<Vec<(usize, usize)>, DeviceError> {
        Ok(self.part(buffer, 0, 0, "read")?.parts())
    }

    /// Frees a buffer. Later accesses to it by a kernel are faults, and by the host errors; so is freeing it again.
    pub fn free(&mut self, buffer: Buffer) -> Result<(), DeviceError> {
        self.part(buffer, 0, 0, "release")?;
        self.memory.buffers[buffer.index as usize].release();
        Ok(())
    }

    /// The name that a buffer was given.
    pub fn name(&self, buffer: Buffer) -> Result<&str, DeviceError> {
        Ok(&self.found(buffer)?.name)
    }

    /// A buffer's size in bytes.
    pub fn size(&self, buffer: Buffer) -> Result<usize, DeviceError> {
        Ok(self.found(buffer)?.bytes)
    }

    /// The buffers that have not been freed, in the order in which they came to be; those of modules' variables, too.
    pub fn buffers(&self) -> impl Iterator<Item = Buffer> {
        let live = self.memory.buffers.iter().enumerate().filter(|(_, memory)| !memory.freed);
        live.map(|(index, _)| Buffer { device: self.id, index: index as u32 })
    }

    /// The first of these that has this name.
    pub fn named(&self, name: &str) -> Option<Buffer> {
        self.buffers().find(|buffer| self.memory.buffers[buffer.index as usize].name == name)
    }

    /// Copies `bytes` to the start of a buffer.
    pub fn write(&mut self, buffer: Buffer, bytes: &[u8]) -> Result<(), DeviceError> {
        self.write_at(buffer, 0, bytes)
    }

    /// Copies `bytes` into a buffer, from byte `offset` on.
    pub fn write_at(&mut self, buffer: Buffer, offset: usize, bytes: &[u8]) -> Result<(), DeviceError> {
        self.part(buffer, offset, bytes.len(), "write")?;
        self.memory.buffers[buffer.index as usize].write(offset, bytes);
        Ok(())
    }

    /// Copies the first bytes of a buffer out. Bytes that nobody wrote are an error.
    pub fn read(&self, buffer: Buffer, bytes: &mut [u8]) -> Result<(), DeviceError> {
        self.read_at(buffer, 0, bytes)
    }

    /// Copies bytes out of a buffer, from byte `offset` on. Bytes that nobody wrote are an error.
    pub fn read_at(&self, buffer: Buffer, offset: usize, bytes: &mut [u8]) -> Result<(), DeviceError> {
        let memory = self.part(buffer, offset, bytes.len(), "read")?;
        if let Some((first, count)) = memory.unwritten(offset, bytes.len()) {
            let name = memory.name.clone();
            return Err(DeviceError::Unwritten { count, bytes: bytes.len(), first, name });
        }
        memory.read(offset, bytes);
        Ok(())
    }

    /// Copies bytes out of a buffer, from byte `offset` on, whether anybody wrote them or not. Says of how many nobody did;
    /// what those are means nothing.
    pub fn peek(&self, buffer: Buffer, offset: usize, bytes: &mut [u8]) -> Result<usize, DeviceError> {
        let memory = self.part(buffer, offset, bytes.len(), "read")?;
        memory.read(offset, bytes);
        Ok(memory.unwritten(offset, bytes.len()).map_or(0, |(_, count)| count))
    }

    /// A store to a buffer of what nobody wrote, as it was found elsewhere: the one with the lowest offset of those whose bytes
    /// the host is not given, if it is known who made it. Its message says where that comes from.
    pub fn unwritten_store(&self, buffer: Buffer) -> Result<Option<Box<Fault>>, DeviceError> {
        let memory = self.found(buffer)?;
        Ok(memory.copies.first(|offset| memory.unwritten(offset, 1).is_some()))
    }

    /// The address of a buffer, for pointers within structures and within other buffers. From now on the device takes into
    /// account that any pointer may lead there.
    pub fn address(&mut self, buffer: Buffer) -> Result<u64, DeviceError> {
        self.found(buffer)?;
        self.memory.buffers[buffer.index as usize].exposed = true;
        Ok(self.memory.address(buffer.index))
    }

    /// The buffer that a module's `__device__` variable is on this device.
    pub fn variable(&mut self, module: &Module, name: &str) -> Result<Buffer, DeviceError> {
        match module.place(name) {
            Some(Place::Global(index)) => Ok(self.module_variables(module)[index]),
            _ => Err(no_variable(name, module.global_variables())),
        }
    }

    /// Copies `bytes` into a module's `__device__` or `__constant__` variable, from byte `offset` on.
    pub fn write_variable(
        &mut self,
        module: &Module,
        name: &str,
        offset: usize,
        bytes: &[u8],
    ) -> Result<(), DeviceError> {
        match module.place(name) {
            Some(Place::Global(index)) => {
                let buffer = self.module_variables(module)[index];
                self.write_at(buffer, offset, bytes)
            }
            Some(Place::Constant { start, size }) => {
                inside("write", bytes.len(), offset, name, size)?;
                let all = self.constants.entry(module.id()).or_insert_with(|| module.constants());
                all[start + offset..][..bytes.len()].copy_from_slice(bytes);
                Ok(())
            }
            None => Err(no_variable(name, module.variables())),
        }
    }

    /// Copies bytes out of a module's `__device__` or `__constant__` variable, from byte `offset` on.
    pub fn read_variable(
        &mut self,
        module: &Module,
        name: &str,
        offset: usize,
        bytes: &mut [u8],
    ) -> Result<(), DeviceError> {
        match module.place(name) {
            Some(Place::Global(index)) => {
                let buffer = self.module_variables(module)[index];
                self.read_at(buffer, offset, bytes)
            }
            Some(Place::Constant { start, size }) => {
                inside("read", bytes.len(), offset, name, size)?;
                let all = self.constants.entry(module.id()).or_insert_with(|| module.constants());
                bytes.copy_from_slice(&all[start + offset..][..bytes.len()]);
                Ok(())
            }
            None => Err(no_variable(name, module.variables())),
        }
    }

    /// A module's constant memory, if it was written to.
    pub(crate) fn written_constants(&self, module: &Module) -> Option<&[u8]> {
        self.constants.get(&module.id()).map(Vec::as_slice)
    }

    /// Buffers of the module's variables, which come to be when they are first needed.
    pub(crate) fn module_variables(&mut self, module: &Module) -> Vec<Buffer> {
        let globals: Vec<&Variable> = module.globals().collect();
        let is_new = !self.variables.contains_key(&(module.id(), String::new(), 0));
        let of = |(index, v): (usize, &&Variable)| {
            self.variable_buffer((module.id(), "", index), &v.name, v.bytes.unwrap_or_default(), &v.init)
        };
        let buffers: Vec<Buffer> = globals.iter().enumerate().map(of).collect();
        if is_new {
            for (v, buffer) in globals.iter().zip(&buffers) {
                for (offset, name, plus) in &v.addresses {
                    // The parser knows the variable that an address is of.
                    if let Some(of) = globals.iter().position(|other| other.name == *name) {
                        self.link(*buffer, *offset, buffers[of], *plus);
                    }
                }
            }
        }
        buffers
    }

    /// Puts an address among a variable's initial bytes.
    fn link(&mut self, buffer: Buffer, offset: u64, of: Buffer, plus: i64) {
        let address = self.memory.address(of.index).wrapping_add(plus as u64);
        if self.found(buffer).is_ok() {
            self.memory.buffers[buffer.index as usize].store(offset as usize, 8, address);
        }
    }

    /// The same, and those that the kernel alone has.
    pub(crate) fn kernel_variables(&mut self, kernel: &Kernel) -> Vec<Buffer> {
        let mut buffers = self.module_variables(&kernel.module);
        let shared = buffers.len();
        let own = kernel.program.globals.iter().enumerate().skip(shared);
        let is_new = !self.variables.contains_key(&(kernel.module.id(), kernel.name().to_string(), shared));
        for (index, v) in own.clone() {
            let key = (kernel.module.id(), kernel.name(), index);
            buffers.push(self.variable_buffer(key, &v.name, v.bytes, &v.init));
        }
        for (index, v) in own.filter(|_| is_new) {
            for &(offset, of, plus) in &v.addresses {
                self.link(buffers[index], offset, buffers[of as usize], plus);
            }
        }
        buffers
    }

    fn variable_buffer(
        &mut self,
        (module, owner, index): (u64, &str, usize),
        name: &str,
        bytes: u64,
        init: &[u8],
    ) -> Buffer {
        let key = (module, owner.to_string(), index);
        if let Some(buffer) = self.variables.get(&key) {
            return *buffer;
        }
        let size = usize::try_from(bytes).unwrap_or(usize::MAX);
        let buffer = Buffer { device: self.id, index: self.memory.alloc_filled(name, size, init) };
        self.variables.insert(key, buffer);
        buffer
    }

    /// A buffer of this device, freed or not, unless there was no memory for it.
    pub(crate) fn found(&self, buffer: Buffer) -> Result<&BufferMemory, DeviceError> {
        if buffer.device != self.id {
            return Err(DeviceError::Foreign);
        }
        let memory = &self.memory.buffers[buffer.index as usize];
        match memory.missing {
            true => Err(DeviceError::NoMemory { name: memory.name.clone(), size: memory.bytes }),
            false => Ok(memory),
        }
    }

    /// A live buffer in which these bytes lie.
    fn part(
        &self,
        buffer: Buffer,
        offset: usize,
        bytes: usize,
        verb: &'static str,
    ) -> Result<&BufferMemory, DeviceError> {
        let memory = self.found(buffer)?;
        if memory.freed {
            return Err(DeviceError::Freed { verb, bytes, name: memory.name.clone() });
        }
        inside(verb, bytes, offset, &memory.name, memory.bytes)?;
        Ok(memory)
    }
}

fn inside(verb: &'static str, bytes: usize, offset: usize, name: &str, size: usize) -> Result<(), DeviceError> {
    match offset.checked_add(bytes) {
        Some(end) if end <= size => Ok(()),
        _ => Err(DeviceError::OutOfRange { verb, bytes, offset, name: name.to_string(), size }),
    }
}

fn no_variable<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> DeviceError {
    DeviceError::NoVariable { name: name.to_string(), known: known.map(str::to_string).collect() }
}
