//! What every level must hold.

harness::level_tests!(level1_tiling::LEVEL);
