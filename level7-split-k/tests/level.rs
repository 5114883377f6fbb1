//! What every level must hold.

harness::level_tests!(level7_split_k::LEVEL);
