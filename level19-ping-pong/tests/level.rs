//! What every level must hold, and which wrong versions of this one's kernel are caught.

harness::level_tests!(level19_ping_pong::LEVEL);

harness::persistent_tests!(level19_ping_pong::LEVEL);

harness::mutation_tests!(level19_ping_pong::LEVEL, without: ["leave the edge unfilled"]);
