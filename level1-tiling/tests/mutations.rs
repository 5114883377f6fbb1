//! Every wrong version of the kernel is caught, or explained.

harness::mutation_tests!(level1_tiling::LEVEL, without: ["drop or loosen a fence or a wait"]);
