//! Every wrong version of the kernel is caught, or explained.

harness::mutation_tests!(level0_naive::LEVEL, without: ["drop a barrier", "drop or loosen a fence or a wait", "shrink a shared array", "leave the edge unfilled"]);
