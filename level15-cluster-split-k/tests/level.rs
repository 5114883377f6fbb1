//! What every level must hold.

harness::level_tests!(level15_cluster_split_k::LEVEL);
