//! Every wrong version of the kernel is caught, or explained.

harness::mutation_tests!(level14_clusters::LEVEL, without: ["leave the edge unfilled"]);
