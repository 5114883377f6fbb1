//! What every level must hold, and which wrong versions of this one's kernel are caught.

harness::level_tests!(level8_rasterization::LEVEL);

harness::mutation_tests!(level8_rasterization::LEVEL, without: ["leave the edge unfilled"]);
