//! What every level must hold, and which wrong versions of this one's kernel are caught.

level_tests::level_tests!(level21_f32_from_halves::LEVEL);

level_tests::persistent_tests!(level21_f32_from_halves::LEVEL);

level_tests::mutation_tests!(level21_f32_from_halves::LEVEL, without: ["leave the edge unfilled"]);
