//! What every level must hold, and which wrong versions of this one's kernel are caught.

level_tests::level_tests!(level12_warpgroup::LEVEL);

level_tests::mutation_tests!(level12_warpgroup::LEVEL, without: ["leave the edge unfilled"]);
