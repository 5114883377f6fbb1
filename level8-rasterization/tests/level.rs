//! What every level must hold.

harness::level_tests!(level8_rasterization::LEVEL);
