//! Work over the CPU's cores with the feature `threads`, and on one of them without. The same bits either way: nothing is summed
//! across tasks.

#[cfg(feature = "threads")]
use rayon::prelude::*;

/// Gives every item to `work`.
#[cfg(feature = "threads")]
pub fn for_each<T: Send>(items: Vec<T>, work: impl Fn(T) + Send + Sync) {
    items.into_par_iter().for_each(work);
}

/// Gives every item to `work`.
#[cfg(not(feature = "threads"))]
pub fn for_each<T>(items: Vec<T>, work: impl Fn(T)) {
    items.into_iter().for_each(work);
}

/// What `work` makes of each item, in their order. A worker's own `room` is handed on from one item to the next.
#[cfg(feature = "threads")]
pub fn map<T: Send, S: Default, R: Send>(items: Vec<T>, work: impl Fn(&mut S, T) -> R + Send + Sync) -> Vec<R> {
    items.into_par_iter().map_init(S::default, work).collect()
}

/// What `work` makes of each item, in their order. A worker's own `room` is handed on from one item to the next.
#[cfg(not(feature = "threads"))]
pub fn map<T, S: Default, R>(items: Vec<T>, work: impl Fn(&mut S, T) -> R) -> Vec<R> {
    let mut room = S::default();
    items.into_iter().map(|item| work(&mut room, item)).collect()
}
