//! What every level must hold.

harness::level_tests!(level0_naive::LEVEL);
