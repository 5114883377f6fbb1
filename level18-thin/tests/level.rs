//! What every level must hold, and which wrong versions of this one's kernel are caught.

harness::level_tests!(level18_thin::LEVEL);

harness::mutation_tests!(level18_thin::LEVEL, without: ["leave the edge unfilled"]);
