//! The contents of a buffer that begins with zeros and takes memory only where it is accessed: for kernels that index more
//! than there is memory for.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, AtomicU32, Ordering::Relaxed};

/// Words of a page.
const PAGE: usize = 1 << 14;
/// Words of a sector.
const SECTOR: usize = 8;

#[derive(Debug)]
struct Page {
    words: Box<[AtomicU32]>,
    /// One flag per sector: touched in this launch.
    touched: Box<[AtomicU8]>,
}

impl Default for Page {
    fn default() -> Page {
        Page {
            words: (0..PAGE).map(|_| AtomicU32::default()).collect(),
            touched: (0..PAGE / SECTOR).map(|_| AtomicU8::default()).collect(),
        }
    }
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Sparse {
    pages: Vec<OnceLock<Page>>,
}

/// The words of the pages that there are, and which ones these are.
pub(crate) type SparseCopy = Vec<(usize, Vec<u32>)>;

impl Sparse {
    /// Zeros. Nothing where there is no memory for the list of pages.
    pub fn new(bytes: usize) -> Option<Sparse> {
        let count = bytes.div_ceil(4 * PAGE);
        let mut pages = Vec::new();
        pages.try_reserve_exact(count).ok()?;
        pages.resize_with(count, OnceLock::new);
        Some(Sparse { pages })
    }

    fn page(&self, word: usize) -> &Page {
        self.pages[word / PAGE].get_or_init(Page::default)
    }

    pub fn word(&self, word: usize) -> &AtomicU32 {
        &self.page(word).words[word % PAGE]
    }

    /// What a word holds. Asking takes no memory.
    pub fn value(&self, word: usize) -> u32 {
        self.pages[word / PAGE].get().map_or(0, |page| page.words[word % PAGE].load(Relaxed))
    }

    /// The flag of a sector.
    pub fn touched(&self, sector: usize) -> &AtomicU8 {
        &self.page(sector * SECTOR).touched[sector % (PAGE / SECTOR)]
    }

    pub fn forget_touched(&mut self) {
        let pages = self.pages.iter_mut().filter_map(OnceLock::get_mut);
        pages.for_each(|page| page.touched.iter_mut().for_each(|flag| *flag.get_mut() = 0));
    }

    pub fn touched_sectors(&self) -> u64 {
        let pages = self.pages.iter().filter_map(OnceLock::get);
        pages.map(|page| page.touched.iter().filter(|flag| flag.load(Relaxed) != 0).count() as u64).sum()
    }

    /// Where memory is taken: the first byte, and how many there are.
    pub fn parts(&self) -> impl Iterator<Item = (usize, usize)> {
        let taken = self.pages.iter().enumerate().filter(|(_, page)| page.get().is_some());
        taken.map(|(index, _)| (4 * PAGE * index, 4 * PAGE))
    }

    /// A copy, to go back to.
    pub fn copy(&self) -> SparseCopy {
        let pages = self.pages.iter().enumerate().filter_map(|(index, page)| Some((index, page.get()?)));
        pages.map(|(index, page)| (index, page.words.iter().map(|word| word.load(Relaxed)).collect())).collect()
    }

    pub fn restore(&mut self, copy: &SparseCopy) {
        self.pages.iter_mut().for_each(|page| *page = OnceLock::new());
        for (index, words) in copy {
            let words = words.iter().map(|word| AtomicU32::new(*word)).collect();
            self.pages[*index] = OnceLock::from(Page { words, ..Page::default() });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_taken_where_something_is_accessed() {
        const BYTES: usize = 1 << 40;
        let mut memory = Sparse::new(BYTES).unwrap();
        let last = BYTES / 4 - 1;
        assert_eq!((memory.value(last), memory.parts().count()), (0, 0));
        memory.word(last).store(7, Relaxed);
        memory.touched(last / SECTOR).store(1, Relaxed);
        let copy = memory.copy();
        assert_eq!((memory.value(last), memory.touched_sectors()), (7, 1));
        assert_eq!(memory.parts().collect::<Vec<_>>(), [(BYTES - 4 * PAGE, 4 * PAGE)]);
        memory.word(0).store(5, Relaxed);
        memory.word(last).store(8, Relaxed);
        memory.restore(&copy);
        assert_eq!((memory.value(0), memory.value(last), memory.touched_sectors()), (0, 7, 0));
    }
}
