//! Every wrong version of the kernel is caught, or explained.

harness::mutation_tests!(level3_double_buffer::LEVEL, without: ["drop or loosen a fence or a wait"]);
