//! What every level must hold.

common::level_tests!(level2_register::LEVEL);
