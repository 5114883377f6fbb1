//! Every wrong version of the kernel is caught, or explained.

common::mutation_tests!(level0_naive::LEVEL);
