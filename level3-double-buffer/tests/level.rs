//! What every level must hold, and which wrong versions of this one's kernel are caught.

level_tests::level_tests!(level3_double_buffer::LEVEL);

level_tests::mutation_tests!(level3_double_buffer::LEVEL, without: ["drop or loosen a fence or a wait"]);
