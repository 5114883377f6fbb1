//! What every level must hold.

harness::level_tests!(level2_register::LEVEL);
