//! What every level must hold.

common::level_tests!(level4_vectorized::LEVEL);
