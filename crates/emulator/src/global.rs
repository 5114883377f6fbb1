//! Global memory: buffers in an address space with wide gaps, so that no overrun of one reaches another.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, AtomicU32, Ordering::Relaxed};

use crate::copies::{Copies, Known};
use crate::marks::Watch;
use crate::program::PARAMETER_WINDOW;
use crate::sparse::{Sparse, SparseCopy};

/// Buffer `n` starts at address `(n + 1) << BASE_BITS`; half a gap on either side belongs to it in messages.
const BASE_BITS: u32 = 40;
/// What fits between two starts, with the gap that an overrun needs.
const MOST_BYTES: u64 = 1 << (BASE_BITS - 1);
/// Words are counted in 32 bits where a warp accesses them together.
const MOST_SPARSE: u64 = 1 << 34;
/// The addresses above are those of the generic address space's windows.
const MOST_BUFFERS: usize = (PARAMETER_WINDOW >> BASE_BITS) as usize - 2;

/// All buffers of a device. Workers share it during a launch.
#[derive(Debug, Default)]
pub(crate) struct GlobalMemory {
    pub buffers: Vec<BufferMemory>,
}

#[derive(Debug)]
pub(crate) struct BufferMemory {
    pub name: String,
    pub bytes: usize,
    pub freed: bool,
    /// There was no memory for it: it has a name and a size, and no contents.
    pub missing: bool,
    /// Its address was given out: any pointer may lead here.
    pub exposed: bool,
    words: Vec<AtomicU32>,
    /// Its contents, instead of `words` and `touched`, where memory is taken only as far as it is accessed. All counts as written.
    sparse: Option<Sparse>,
    /// For each byte whether it was written; absent once all were.
    pub written: OnceLock<Box<[AtomicU8]>>,
    /// What some of those that were not hold copies of.
    pub copies: Copies,
    /// One flag per sector of 32 bytes: touched in this launch.
    touched: Vec<AtomicU8>,
    /// Who accessed it in this launch; present while it is watched for races.
    pub watch: Option<Watch>,
}

/// Which buffer an address belongs to, and the offset in it, which may lie outside.
#[inline(always)]
pub(crate) fn locate(address: u64) -> (usize, i64) {
    let half = 1u64 << (BASE_BITS - 1);
    let slot = address.wrapping_add(half) >> BASE_BITS;
    ((slot as usize).wrapping_sub(1), address.wrapping_sub(slot << BASE_BITS) as i64)
}

impl GlobalMemory {
    /// A buffer that nobody has written.
    pub fn alloc(&mut self, name: &str, bytes: usize) -> u32 {
        let buffer = self.make(name, bytes, u32::MAX);
        if !buffer.missing {
            buffer.forget_written();
        }
        self.add(buffer)
    }

    /// A buffer that begins with some bytes, and is zero behind them.
    pub fn alloc_filled(&mut self, name: &str, bytes: usize, first: &[u8]) -> u32 {
        let mut buffer = self.make(name, bytes, 0);
        if !buffer.missing {
            buffer.write(0, &first[..first.len().min(bytes)]);
        }
        self.add(buffer)
    }

    /// A buffer of zeros that takes memory only where it is accessed.
    pub fn alloc_sparse(&mut self, name: &str, bytes: usize) -> u32 {
        let sparse = Some(bytes).filter(|bytes| *bytes as u64 <= MOST_SPARSE).and_then(Sparse::new);
        let mut buffer = self.make(name, 0, 0);
        (buffer.bytes, buffer.missing) = (bytes, buffer.missing || sparse.is_none());
        buffer.sparse = sparse;
        self.add(buffer)
    }

    /// A buffer whose bytes all count as written; one that is missing if there is no memory or no address for it.
    fn make(&self, name: &str, bytes: usize, word: u32) -> BufferMemory {
        let addressed = bytes as u64 <= MOST_BYTES && self.buffers.len() < MOST_BUFFERS;
        let made = if addressed { BufferMemory::new(name, bytes, word) } else { None };
        made.unwrap_or_else(|| BufferMemory {
            name: name.to_string(),
            bytes,
            freed: false,
            missing: true,
            exposed: false,
            words: Vec::new(),
            sparse: None,
            written: OnceLock::new(),
            copies: Copies::default(),
            touched: Vec::new(),
            watch: None,
        })
    }

    fn add(&mut self, buffer: BufferMemory) -> u32 {
        self.buffers.push(buffer);
        self.buffers.len() as u32 - 1
    }

    pub fn address(&self, buffer: u32) -> u64 {
        (u64::from(buffer) + 1) << BASE_BITS
    }
}

impl BufferMemory {
    /// Every byte counts as written. Nothing where there is no memory for it.
    fn new(name: &str, bytes: usize, word: u32) -> Option<BufferMemory> {
        // As much again is needed to know which bytes are written.
        let mut flags: Vec<u8> = Vec::new();
        flags.try_reserve_exact(bytes).ok()?;
        let words = filled(bytes.div_ceil(4), || AtomicU32::new(word))?;
        let touched = filled(bytes.div_ceil(32), AtomicU8::default)?;
        let (name, written, watch) = (name.to_string(), OnceLock::new(), None);
        let (freed, missing, exposed, sparse, copies) = (false, false, false, None, Copies::default());
        Some(BufferMemory { name, bytes, freed, missing, exposed, words, sparse, written, copies, touched, watch })
    }

    /// Whether it takes memory only where it is accessed: then which bytes are written is not known.
    pub fn is_sparse(&self) -> bool {
        self.sparse.is_some()
    }

    /// The parts that may hold something else than zeros: the first byte of each, and how many there are.
    pub fn parts(&self) -> Vec<(usize, usize)> {
        let inside = |(first, bytes): (usize, usize)| (first, bytes.min(self.bytes - first));
        self.sparse.as_ref().map_or_else(|| vec![(0, self.bytes)], |sparse| sparse.parts().map(inside).collect())
    }

    #[inline(always)]
    fn word(&self, index: usize) -> &AtomicU32 {
        match self.words.get(index) {
            Some(word) => word,
            None => self.sparse_word(index),
        }
    }

    #[cold]
    #[inline(never)]
    fn sparse_word(&self, index: usize) -> &AtomicU32 {
        self.sparse.as_ref().expect("the word lies in the buffer").word(index)
    }

    /// Starts tracking which bytes are written, with none.
    pub fn forget_written(&self) -> &[AtomicU8] {
        self.written.get_or_init(|| (0..self.bytes).map(|_| AtomicU8::new(0)).collect())
    }

    /// Starts tracking which bytes are written, with all of them written so far.
    pub fn all_written(&self) -> &[AtomicU8] {
        self.written.get_or_init(|| (0..self.bytes).map(|_| AtomicU8::new(1)).collect())
    }

    /// All bytes count as written.
    pub fn count_as_written(&mut self) {
        self.written = OnceLock::new();
    }

    pub fn release(&mut self) {
        self.freed = true;
        self.words = Vec::new();
        self.sparse = None;
        self.touched = Vec::new();
        self.written = OnceLock::new();
    }

    /// Copies host bytes in, from an offset on.
    pub fn write(&mut self, offset: usize, bytes: &[u8]) {
        let (mut at, mut rest) = (offset, bytes);
        while !rest.is_empty() {
            let word = self.word(at / 4);
            let (chunk, behind) = rest.split_at(rest.len().min(4 - at % 4));
            let mut changed = word.load(Relaxed).to_le_bytes();
            changed[at % 4..at % 4 + chunk.len()].copy_from_slice(chunk);
            word.store(u32::from_le_bytes(changed), Relaxed);
            (at, rest) = (at + chunk.len(), behind);
        }
        if bytes.len() == self.bytes {
            self.written = OnceLock::new();
        } else if let Some(written) = self.written.get() {
            written[offset..offset + bytes.len()].iter().for_each(|flag| flag.store(1, Relaxed));
        }
    }

    /// Copies bytes out, from an offset on.
    pub fn read(&self, offset: usize, bytes: &mut [u8]) {
        let (mut at, mut rest) = (offset, bytes);
        while !rest.is_empty() {
            let sparse = || self.sparse.as_ref().map_or(0, |sparse| sparse.value(at / 4));
            let word = self.words.get(at / 4).map_or_else(sparse, |word| word.load(Relaxed)).to_le_bytes();
            let count = rest.len().min(4 - at % 4);
            let (chunk, behind) = rest.split_at_mut(count);
            chunk.copy_from_slice(&word[at % 4..at % 4 + count]);
            (at, rest) = (at + count, behind);
        }
    }

    /// Offset of the first of these bytes that nobody wrote, and how many there are.
    pub fn unwritten(&self, offset: usize, bytes: usize) -> Option<(usize, usize)> {
        let written = &self.written.get()?[offset..offset + bytes];
        let missing = |flag: &AtomicU8| flag.load(Relaxed) == 0;
        let first = offset + written.iter().position(missing)?;
        Some((first, written.iter().filter(|flag| missing(flag)).count()))
    }

    /// 1, 2, 4 or 8 bytes at an aligned offset within the buffer.
    #[inline(always)]
    pub fn load(&self, offset: usize, bytes: u32) -> u64 {
        let word = u64::from(self.word(offset / 4).load(Relaxed));
        match bytes {
            4 => word,
            8 => u64::from(self.word(offset / 4 + 1).load(Relaxed)) << 32 | word,
            _ => word >> (offset % 4 * 8) & ((1 << (8 * bytes)) - 1),
        }
    }

    #[inline(always)]
    pub fn load_word(&self, word: usize) -> u32 {
        self.word(word).load(Relaxed)
    }

    /// Neighbouring words.
    pub fn load_words(&self, first: usize, words: &mut [u32]) {
        match self.words.get(first..first + words.len()) {
            Some(from) => words.iter_mut().zip(from).for_each(|(value, word)| *value = word.load(Relaxed)),
            None => self.load_sparse(first, words),
        }
    }

    #[cold]
    #[inline(never)]
    fn load_sparse(&self, first: usize, words: &mut [u32]) {
        words.iter_mut().zip(first..).for_each(|(value, index)| *value = self.sparse_word(index).load(Relaxed));
    }

    /// 32 neighbouring words.
    #[inline(always)]
    pub fn load_row(&self, first: usize, row: &mut [u32; 32]) {
        let Some(from) = self.words.get(first..first + 32) else { return self.load_sparse(first, row) };
        for (value, word) in row.iter_mut().zip(from) {
            *value = word.load(Relaxed);
        }
    }

    #[inline(always)]
    pub fn store(&self, offset: usize, bytes: u32, value: u64) {
        let word = self.word(offset / 4);
        match bytes {
            4 => word.store(value as u32, Relaxed),
            8 => {
                word.store(value as u32, Relaxed);
                self.word(offset / 4 + 1).store((value >> 32) as u32, Relaxed);
            }
            _ => {
                let (shift, mask) = (offset % 4 * 8, ((1u64 << (8 * bytes)) - 1) as u32);
                let merge = |old: u32| Some(old & !(mask << shift) | (value as u32 & mask) << shift);
                // The closure always gives a value, so the update cannot fail.
                let _ = word.fetch_update(Relaxed, Relaxed, merge);
            }
        }
    }

    #[inline(always)]
    pub fn touch_sector(&self, sector: usize) {
        let flag = match self.touched.get(sector) {
            Some(flag) => flag,
            None => self.sparse_sector(sector),
        };
        if flag.load(Relaxed) == 0 {
            flag.store(1, Relaxed);
        }
    }

    #[cold]
    #[inline(never)]
    fn sparse_sector(&self, sector: usize) -> &AtomicU8 {
        self.sparse.as_ref().expect("the sector lies in the buffer").touched(sector)
    }

    /// Touches the sectors of these bytes, and says how many they are.
    pub fn touch(&self, offset: usize, bytes: usize) -> u64 {
        let sectors = offset / 32..(offset + bytes).div_ceil(32);
        let count = sectors.len() as u64;
        sectors.for_each(|sector| self.touch_sector(sector));
        count
    }

    pub fn forget_touched(&mut self) {
        self.touched.iter_mut().for_each(|flag| *flag.get_mut() = 0);
        self.sparse.iter_mut().for_each(Sparse::forget_touched);
    }

    pub fn touched_sectors(&self) -> u64 {
        let sparse = self.sparse.as_ref().map_or(0, Sparse::touched_sectors);
        sparse + self.touched.iter().filter(|flag| flag.load(Relaxed) != 0).count() as u64
    }

    /// A copy of the contents, to go back to.
    pub fn snapshot(&mut self) -> Snapshot {
        // Not by atomic loads, which the compiler makes one by one.
        Snapshot {
            words: self.words.iter_mut().map(|word| *word.get_mut()).collect(),
            sparse: self.sparse.as_ref().map(Sparse::copy),
            written: self.written.get_mut().map(|flags| flags.iter_mut().map(|flag| *flag.get_mut()).collect()),
            copies: self.copies.known(),
        }
    }

    pub fn restore(&mut self, snapshot: &Snapshot) {
        self.copies.restore(&snapshot.copies);
        for (word, old) in self.words.iter_mut().zip(&snapshot.words) {
            *word.get_mut() = *old;
        }
        if let (Some(sparse), Some(copy)) = (&mut self.sparse, &snapshot.sparse) {
            sparse.restore(copy);
        }
        self.written = OnceLock::new();
        if let Some(written) = &snapshot.written {
            self.written = OnceLock::from(written.iter().map(|flag| AtomicU8::new(*flag)).collect::<Box<[_]>>());
        }
    }
}

/// What a buffer held, to go back to.
#[derive(Debug)]
pub(crate) struct Snapshot {
    words: Vec<u32>,
    sparse: Option<SparseCopy>,
    written: Option<Vec<u8>>,
    /// What bytes that nobody wrote are copies of.
    copies: Known,
}

impl Snapshot {
    /// Whether not all bytes were known to be written.
    pub fn has_unwritten(&self) -> bool {
        self.written.is_some()
    }
}

/// So many values, if there is memory for them.
fn filled<T>(count: usize, value: impl FnMut() -> T) -> Option<Vec<T>> {
    let mut all = Vec::new();
    all.try_reserve_exact(count).ok()?;
    all.resize_with(count, value);
    Some(all)
}
