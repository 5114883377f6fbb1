//! What a push leaves out for its time, and what asks for it.

/// Whether everything runs: with `DEEP=1` all builds run all shapes in all forms and orders, all mutants are compared with their records,
/// and so on. Without it, tests run a part that has every kind of case, and say so themselves.
pub fn deep() -> bool {
    std::env::var_os("DEEP").is_some_and(|value| !value.is_empty() && value != "0")
}

/// How many random cases a test takes.
pub fn cases() -> u32 {
    if deep() { 24 } else { 10 }
}
