//! What every level must hold, and which wrong versions of this one's kernel are caught.

harness::level_tests!(level16_tf32_warpgroup::LEVEL);

harness::persistent_tests!(level16_tf32_warpgroup::LEVEL);

harness::mutation_tests!(level16_tf32_warpgroup::LEVEL, without: ["leave the edge unfilled"]);
