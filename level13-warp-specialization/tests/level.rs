//! What every level must hold.

harness::level_tests!(level13_warp_specialization::LEVEL);
