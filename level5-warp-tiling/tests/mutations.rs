//! Every wrong version of the kernel is caught, or explained.

common::mutation_tests!(level5_warp_tiling::LEVEL);
