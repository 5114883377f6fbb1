//! What every level must hold, and which wrong versions of this one's kernel are caught.

harness::level_tests!(level6_async_copy::LEVEL);

harness::mutation_tests!(level6_async_copy::LEVEL, without: ["leave the edge unfilled"]);
