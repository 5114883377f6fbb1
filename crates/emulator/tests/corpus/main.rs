//! The corpus of wrong kernels, of correct ones that look wrong, and of those that the books do not agree about.

mod correct;
mod faults;
mod harness;
mod texts;
mod threads;
mod warned;
