//! Every wrong version of the kernel is caught, or explained.

common::mutation_tests!(level4_vectorized::LEVEL);
