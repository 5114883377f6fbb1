//! What every level must hold, and which wrong versions of this one's kernel are caught.

harness::level_tests!(level3_double_buffer::LEVEL);

harness::mutation_tests!(level3_double_buffer::LEVEL, without: ["drop or loosen a fence or a wait"]);
