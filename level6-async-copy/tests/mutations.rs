//! Every wrong version of the kernel is caught, or explained.

common::mutation_tests!(level6_async_copy::LEVEL);
