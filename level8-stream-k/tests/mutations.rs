//! Every wrong version of the kernel is caught, or explained.

common::mutation_tests!(level8_stream_k::LEVEL);
