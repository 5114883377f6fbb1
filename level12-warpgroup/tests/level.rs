//! What every level must hold, and which wrong versions of this one's kernel are caught.

harness::level_tests!(level12_warpgroup::LEVEL);

harness::mutation_tests!(level12_warpgroup::LEVEL, without: ["leave the edge unfilled"]);
