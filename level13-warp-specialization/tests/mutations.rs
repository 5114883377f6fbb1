//! Every wrong version of the kernel is caught, or explained.

harness::mutation_tests!(level13_warp_specialization::LEVEL, without: ["leave the edge unfilled"]);
