//! What every level must hold, and which wrong versions of this one's kernel are caught.

level_tests::level_tests!(level7_register_pipeline::LEVEL);

level_tests::mutation_tests!(level7_register_pipeline::LEVEL, without: ["leave the edge unfilled"]);
