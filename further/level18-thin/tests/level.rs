//! What every level must hold, and which wrong versions of this one's kernel are caught.

level_tests::level_tests!(level18_thin::LEVEL);

level_tests::mutation_tests!(level18_thin::LEVEL, without: ["drop or loosen a fence or a wait", "leave the edge unfilled"]);
