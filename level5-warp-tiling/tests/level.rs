//! What every level must hold.

harness::level_tests!(level5_warp_tiling::LEVEL);
