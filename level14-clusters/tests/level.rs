//! What every level must hold.

harness::level_tests!(level14_clusters::LEVEL);
