//! Work over all cores of the host.

use std::sync::{Mutex, PoisonError};
use std::thread;

/// What `work` makes of each item, in their order: each core takes the next item, and has a room of its own for numbers.
pub fn over<T: Send, R: Send>(
    items: impl Iterator<Item = T> + Send,
    work: impl Fn(&mut Vec<f64>, T) -> R + Sync,
) -> Vec<R> {
    let items = Mutex::new(items.enumerate());
    let next = || items.lock().unwrap_or_else(PoisonError::into_inner).next();
    let done = Mutex::new(Vec::new());
    let worker = || {
        let (mut room, mut own) = (Vec::new(), Vec::new());
        while let Some((at, item)) = next() {
            own.push((at, work(&mut room, item)));
        }
        done.lock().unwrap_or_else(PoisonError::into_inner).append(&mut own);
    };
    let cores = thread::available_parallelism().map_or(1, |cores| cores.get());
    thread::scope(|scope| (0..cores).for_each(|_| _ = scope.spawn(worker)));
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, made)| made).collect()
}
