//! What every level must hold, and which wrong versions of this one's kernel are caught.

level_tests::level_tests!(level8_rasterization::LEVEL);

level_tests::mutation_tests!(level8_rasterization::LEVEL, without: ["leave the edge unfilled"]);
