//! What every level must hold.

harness::level_tests!(level12_warpgroup::LEVEL);
