//! What every level must hold.

common::level_tests!(level7_split_k::LEVEL);
