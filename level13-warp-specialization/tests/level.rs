//! What every level must hold, and which wrong versions of this one's kernel are caught.

harness::level_tests!(level13_warp_specialization::LEVEL);

harness::mutation_tests!(level13_warp_specialization::LEVEL, without: ["leave the edge unfilled"]);
