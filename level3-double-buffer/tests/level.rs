//! What every level must hold.

common::level_tests!(level3_double_buffer::LEVEL);
