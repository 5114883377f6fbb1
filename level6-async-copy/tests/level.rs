//! What every level must hold.

harness::level_tests!(level6_async_copy::LEVEL);
