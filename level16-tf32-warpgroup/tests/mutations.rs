//! Every wrong version of the kernel is caught, or explained.

harness::mutation_tests!(level16_tf32_warpgroup::LEVEL, without: ["leave the edge unfilled"]);
