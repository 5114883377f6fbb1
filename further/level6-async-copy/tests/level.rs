//! What every level must hold, and which wrong versions of this one's kernel are caught.

level_tests::level_tests!(level6_async_copy::LEVEL);

level_tests::mutation_tests!(level6_async_copy::LEVEL, without: ["leave the edge unfilled"]);
