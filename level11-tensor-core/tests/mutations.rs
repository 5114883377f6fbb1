//! Every wrong version of the kernel is caught, or explained.

harness::mutation_tests!(level11_tensor_core::LEVEL, without: ["leave the edge unfilled"]);
