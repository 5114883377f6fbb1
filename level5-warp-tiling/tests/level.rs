//! What every level must hold.

common::level_tests!(level5_warp_tiling::LEVEL);
