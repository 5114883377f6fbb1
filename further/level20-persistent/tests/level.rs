//! What every level must hold, and which wrong versions of this one's kernel are caught.

level_tests::level_tests!(level20_persistent::LEVEL);

level_tests::persistent_tests!(level20_persistent::LEVEL);

level_tests::mutation_tests!(level20_persistent::LEVEL, without: ["leave the edge unfilled"]);
