//! Every wrong version of the kernel is caught, or explained.

common::mutation_tests!(level3_double_buffer::LEVEL);
