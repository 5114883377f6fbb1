//! The corpus of wrong kernels and of correct ones that look wrong.

mod correct;
mod faults;
mod harness;
mod threads;
