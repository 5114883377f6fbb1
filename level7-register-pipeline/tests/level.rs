//! What every level must hold, and which wrong versions of this one's kernel are caught.

harness::level_tests!(level7_register_pipeline::LEVEL);

harness::mutation_tests!(level7_register_pipeline::LEVEL, without: ["leave the edge unfilled"]);
