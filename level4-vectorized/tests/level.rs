//! What every level must hold.

harness::level_tests!(level4_vectorized::LEVEL);
