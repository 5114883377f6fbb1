//! What every level must hold, and which wrong versions of this one's kernel are caught.

level_tests::level_tests!(level13_warp_specialization::LEVEL);

level_tests::mutation_tests!(level13_warp_specialization::LEVEL, without: ["leave the edge unfilled"]);
