//! What every level must hold, and which wrong versions of this one's kernel are caught.

harness::level_tests!(level11_tensor_core::LEVEL);

harness::mutation_tests!(level11_tensor_core::LEVEL, without: ["leave the edge unfilled"]);
