//! Every wrong version of the kernel is caught, or explained.

harness::mutation_tests!(level15_cluster_split_k::LEVEL, without: ["leave the edge unfilled"]);
