//! Bodies of the levels' tests.
