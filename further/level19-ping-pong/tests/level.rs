//! What every level must hold, and which wrong versions of this one's kernel are caught.

level_tests::level_tests!(level19_ping_pong::LEVEL);

level_tests::persistent_tests!(level19_ping_pong::LEVEL);

level_tests::mutation_tests!(level19_ping_pong::LEVEL, without: ["leave the edge unfilled"]);
