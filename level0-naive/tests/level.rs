//! What every level must hold.

common::level_tests!(level0_naive::LEVEL);
