//! What every level must hold, and which wrong versions of this one's kernel are caught.

level_tests::level_tests!(level0_naive::LEVEL);

level_tests::mutation_tests!(level0_naive::LEVEL, without: ["drop a barrier", "drop or loosen a fence or a wait", "shrink a shared array", "leave the edge unfilled"]);
