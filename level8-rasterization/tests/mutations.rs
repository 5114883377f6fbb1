//! Every wrong version of the kernel is caught, or explained.

harness::mutation_tests!(level8_rasterization::LEVEL, without: ["leave the edge unfilled"]);
