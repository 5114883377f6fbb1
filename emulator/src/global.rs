//! Global memory: buffers in an address space with wide gaps, so that no overrun of one reaches another.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, AtomicU32, Ordering::Relaxed};

use crate::marks::Watch;

/// Buffer `n` starts at address `(n + 1) << BASE_BITS`; half a gap on either side belongs to it in messages.
const BASE_BITS: u32 = 40;

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
    /// Its address was given out: any pointer may lead here.
    pub exposed: bool,
    words: Vec<AtomicU32>,
    /// For each byte whether it was written; absent once all were.
    pub written: OnceLock<Box<[AtomicU8]>>,
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
        let buffer = BufferMemory::new(name, bytes, u32::MAX);
        buffer.forget_written();
        self.add(buffer)
    }

    /// A buffer that begins with some bytes, and is zero behind them.
    pub fn alloc_filled(&mut self, name: &str, bytes: usize, first: &[u8]) -> u32 {
        let mut buffer = BufferMemory::new(name, bytes, 0);
        buffer.write(first);
        self.add(buffer)
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
    /// Every byte counts as written.
    fn new(name: &str, bytes: usize, word: u32) -> BufferMemory {
        let mut words = Vec::new();
        words.resize_with(bytes.div_ceil(4), || AtomicU32::new(word));
        let mut touched = Vec::new();
        touched.resize_with(bytes.div_ceil(32), AtomicU8::default);
        let (name, written, watch) = (name.to_string(), OnceLock::new(), None);
        BufferMemory { name, bytes, freed: false, exposed: false, words, written, touched, watch }
    }

    /// Starts tracking which bytes are written, with none.
    pub fn forget_written(&self) -> &[AtomicU8] {
        self.written.get_or_init(|| (0..self.bytes).map(|_| AtomicU8::new(0)).collect())
    }

    /// Starts tracking which bytes are written, with all of them written so far.
    pub fn all_written(&self) -> &[AtomicU8] {
        self.written.get_or_init(|| (0..self.bytes).map(|_| AtomicU8::new(1)).collect())
    }

    pub fn release(&mut self) {
        self.freed = true;
        self.words = Vec::new();
        self.touched = Vec::new();
        self.written = OnceLock::new();
    }

    /// Copies host bytes to the start.
    pub fn write(&mut self, bytes: &[u8]) {
        for (index, chunk) in bytes.chunks(4).enumerate() {
            let mut word = self.words[index].load(Relaxed).to_le_bytes();
            word[..chunk.len()].copy_from_slice(chunk);
            *self.words[index].get_mut() = u32::from_le_bytes(word);
        }
        if bytes.len() == self.bytes {
            self.written = OnceLock::new();
        } else if let Some(written) = self.written.get() {
            written[..bytes.len()].iter().for_each(|flag| flag.store(1, Relaxed));
        }
    }

    /// Copies bytes out, from the start.
    pub fn read(&self, bytes: &mut [u8]) {
        for (chunk, word) in bytes.chunks_mut(4).zip(&self.words) {
            chunk.copy_from_slice(&word.load(Relaxed).to_le_bytes()[..chunk.len()]);
        }
    }

    /// Offset of the first of the first `bytes` bytes that nobody wrote, and how many there are.
    pub fn unwritten(&self, bytes: usize) -> Option<(usize, usize)> {
        let written = self.written.get()?;
        let missing = |flag: &AtomicU8| flag.load(Relaxed) == 0;
        let first = written[..bytes].iter().position(missing)?;
        Some((first, written[..bytes].iter().filter(|flag| missing(flag)).count()))
    }

    /// 1, 2, 4 or 8 bytes at an aligned offset within the buffer.
    #[inline(always)]
    pub fn load(&self, offset: usize, bytes: u32) -> u64 {
        let word = u64::from(self.words[offset / 4].load(Relaxed));
        match bytes {
            4 => word,
            8 => u64::from(self.words[offset / 4 + 1].load(Relaxed)) << 32 | word,
            _ => word >> (offset % 4 * 8) & ((1 << (8 * bytes)) - 1),
        }
    }

    #[inline(always)]
    pub fn load_word(&self, word: usize) -> u32 {
        self.words[word].load(Relaxed)
    }

    /// 32 neighbouring words.
    #[inline(always)]
    pub fn load_row(&self, first: usize, row: &mut [u32; 32]) {
        for (value, word) in row.iter_mut().zip(&self.words[first..first + 32]) {
            *value = word.load(Relaxed);
        }
    }

    #[inline(always)]
    pub fn store(&self, offset: usize, bytes: u32, value: u64) {
        let word = &self.words[offset / 4];
        match bytes {
            4 => word.store(value as u32, Relaxed),
            8 => {
                word.store(value as u32, Relaxed);
                self.words[offset / 4 + 1].store((value >> 32) as u32, Relaxed);
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
        let flag = &self.touched[sector];
        if flag.load(Relaxed) == 0 {
            flag.store(1, Relaxed);
        }
    }

    pub fn forget_touched(&mut self) {
        self.touched.iter_mut().for_each(|flag| *flag.get_mut() = 0);
    }

    pub fn touched_sectors(&self) -> u64 {
        self.touched.iter().filter(|flag| flag.load(Relaxed) != 0).count() as u64
    }

    /// A copy of the contents, to go back to.
    pub fn snapshot(&self) -> (Vec<u32>, Option<Vec<u8>>) {
        let words = self.words.iter().map(|word| word.load(Relaxed)).collect();
        (words, self.written.get().map(|flags| flags.iter().map(|flag| flag.load(Relaxed)).collect()))
    }

    pub fn restore(&mut self, (words, written): &(Vec<u32>, Option<Vec<u8>>)) {
        for (word, old) in self.words.iter_mut().zip(words) {
            *word.get_mut() = *old;
        }
        self.written = OnceLock::new();
        if let Some(written) = written {
            self.written = OnceLock::from(written.iter().map(|flag| AtomicU8::new(*flag)).collect::<Box<[_]>>());
        }
    }
}
