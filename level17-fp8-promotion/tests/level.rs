//! What every level must hold, and which wrong versions of this one's kernel are caught.

harness::level_tests!(level17_fp8_promotion::LEVEL);

harness::persistent_tests!(level17_fp8_promotion::LEVEL);

harness::mutation_tests!(level17_fp8_promotion::LEVEL, without: ["leave the edge unfilled"]);
