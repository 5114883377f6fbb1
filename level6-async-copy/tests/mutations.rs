//! Every wrong version of the kernel is caught, or explained.

harness::mutation_tests!(level6_async_copy::LEVEL, without: ["leave the edge unfilled"]);
