//! What every level must hold.

harness::level_tests!(level16_tf32_warpgroup::LEVEL);
