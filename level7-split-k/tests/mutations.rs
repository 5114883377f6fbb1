//! Every wrong version of the kernel is caught, or explained.

common::mutation_tests!(level7_split_k::LEVEL);
