//! Every wrong version of the kernel is caught, or explained.

harness::mutation_tests!(level4_vectorized::LEVEL, without: ["drop or loosen a fence or a wait", "leave the edge unfilled"]);
