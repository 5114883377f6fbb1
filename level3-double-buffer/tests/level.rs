//! What every level must hold.

harness::level_tests!(level3_double_buffer::LEVEL);
