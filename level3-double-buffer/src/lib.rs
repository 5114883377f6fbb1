//! One rung of the ladder.
