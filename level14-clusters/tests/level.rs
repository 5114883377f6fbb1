//! What every level must hold, and which wrong versions of this one's kernel are caught.

harness::level_tests!(level14_clusters::LEVEL);

harness::persistent_tests!(level14_clusters::LEVEL);

harness::mutation_tests!(level14_clusters::LEVEL, without: ["leave the edge unfilled"]);
