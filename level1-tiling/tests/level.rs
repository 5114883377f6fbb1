//! What every level must hold.

common::level_tests!(level1_tiling::LEVEL);
