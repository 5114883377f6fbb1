//! Copies of what nobody wrote, in a buffer: which store put them there, and where they come from.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::Fault;
use crate::origin::Origin;

/// Of so many places, those with the lowest offsets, it is known who stored there.
const MOST: usize = 1024;

#[derive(Debug, Clone)]
struct Copied {
    /// In the present launch.
    origin: Option<Origin>,
    store: Box<Fault>,
}

/// By offset. What has been overwritten since may still be here: whoever asks knows that nobody wrote the byte.
#[derive(Debug, Default)]
pub(crate) struct Copies(Mutex<BTreeMap<usize, Copied>>);

/// What was known before a launch.
pub(crate) type Known = BTreeMap<usize, Box<Fault>>;

impl Copies {
    fn all(&self) -> MutexGuard<'_, BTreeMap<usize, Copied>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A copy comes to an offset, by a store that `words` puts into words.
    pub fn note(&self, offset: usize, origin: Option<Origin>, words: impl Fn() -> Box<Fault>) {
        let mut all = self.all();
        if all.len() == MOST && all.last_key_value().is_some_and(|(last, _)| *last < offset) {
            return;
        }
        all.insert(offset, Copied { origin, store: words() });
        if all.len() > MOST {
            all.pop_last();
        }
    }

    /// Where the copy at an offset comes from, if it was put there in this launch.
    pub fn origin(&self, offset: usize) -> Option<Origin> {
        self.all().get(&offset)?.origin
    }

    /// The store that put a copy to the first of some offsets to which any did.
    pub fn first(&self, is_unwritten: impl Fn(usize) -> bool) -> Option<Box<Fault>> {
        let all = self.all();
        all.iter().find(|(offset, _)| is_unwritten(**offset)).map(|(_, copied)| copied.store.clone())
    }

    /// A launch begins: what lanes of another one loaded says nothing in it.
    pub fn begin(&mut self) {
        self.0.get_mut().unwrap_or_else(PoisonError::into_inner).values_mut().for_each(|copied| copied.origin = None);
    }

    /// What is known, to go back to.
    pub fn known(&self) -> Known {
        self.all().iter().map(|(offset, copied)| (*offset, copied.store.clone())).collect()
    }

    pub fn restore(&mut self, known: &Known) {
        let known = known.clone().into_iter();
        let again = known.map(|(offset, store)| (offset, Copied { origin: None, store }));
        *self = Copies(Mutex::new(again.collect()));
    }
}
