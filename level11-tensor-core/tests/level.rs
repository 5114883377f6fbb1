//! What every level must hold.

harness::level_tests!(level11_tensor_core::LEVEL);
