//! Every wrong version of the kernel is caught, or explained.

harness::mutation_tests!(level7_register_pipeline::LEVEL, without: ["leave the edge unfilled"]);
