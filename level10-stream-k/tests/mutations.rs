//! Every wrong version of the kernel is caught, or explained.

harness::mutation_tests!(level10_stream_k::LEVEL, without: ["leave the edge unfilled"]);
