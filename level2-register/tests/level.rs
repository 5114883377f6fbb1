//! What every level must hold, and which wrong versions of this one's kernel are caught.

harness::level_tests!(level2_register::LEVEL);

harness::mutation_tests!(level2_register::LEVEL, without: ["drop or loosen a fence or a wait"]);
