//! The module's functions, as JavaScript calls them: `ladder.mjs` does.
//!
//! The caller asks for room, writes a request there in UTF-8, calls [`ladder_multiply`], and reads as many bytes as that returns
//! from [`ladder_answer`]. A call ends what the one before has given.
//!
//! No pointer is read here: what is unsafe is that functions are exported under names that must be the only ones.
#![allow(unsafe_code)]

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::{levels, multiply};

static REQUEST: Mutex<Vec<u8>> = Mutex::new(Vec::new());
static ANSWER: Mutex<String> = Mutex::new(String::new());

fn lock<T>(place: &'static Mutex<T>) -> MutexGuard<'static, T> {
    place.lock().unwrap_or_else(PoisonError::into_inner)
}

fn answer(text: String) -> usize {
    let length = text.len();
    *lock(&ANSWER) = text;
    length
}

/// Room for a request of so many bytes: its address.
// SAFETY: no other function of a module that has this crate in it has this name.
#[unsafe(no_mangle)]
pub extern "C" fn ladder_room(length: usize) -> *mut u8 {
    let mut request = lock(&REQUEST);
    request.clear();
    request.resize(length, 0);
    request.as_mut_ptr()
}

/// Runs the request that was written; the length of its answer in bytes.
// SAFETY: as above.
#[unsafe(no_mangle)]
pub extern "C" fn ladder_multiply() -> usize {
    let request = String::from_utf8_lossy(&lock(&REQUEST)).into_owned();
    answer(multiply(&request))
}

/// Lists the levels; the length of the list in bytes.
// SAFETY: as above.
#[unsafe(no_mangle)]
pub extern "C" fn ladder_levels() -> usize {
    answer(levels())
}

/// Where the last answer lies, in UTF-8.
// SAFETY: as above.
#[unsafe(no_mangle)]
pub extern "C" fn ladder_answer() -> *const u8 {
    lock(&ANSWER).as_ptr()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_as_long_as_it_says() {
        assert!(!ladder_room(3).is_null());
        let length = ladder_multiply();
        let text = lock(&ANSWER).clone();
        assert_eq!(length, text.len());
        assert!(text.contains("this is no request"), "{text}");
        assert!(ladder_levels() > length && !ladder_answer().is_null());
        assert!(lock(&ANSWER).starts_with("[{\"number\":0,\"name\":\"level0-naive\""));
    }
}
