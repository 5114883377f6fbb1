//! What every level must hold.

harness::level_tests!(level10_stream_k::LEVEL);
