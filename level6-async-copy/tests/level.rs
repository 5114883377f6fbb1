//! What every level must hold.

common::level_tests!(level6_async_copy::LEVEL);
