//! What every level must hold, and which wrong versions of this one's kernel are caught.

level_tests::level_tests!(level14_clusters::LEVEL);

level_tests::mutation_tests!(level14_clusters::LEVEL, without: ["leave the edge unfilled"]);
