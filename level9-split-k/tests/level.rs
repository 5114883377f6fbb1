//! What every level must hold.

harness::level_tests!(level9_split_k::LEVEL);
