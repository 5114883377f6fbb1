//! What every level must hold.

harness::level_tests!(level7_register_pipeline::LEVEL);
