//! What every level must hold.

common::level_tests!(level8_stream_k::LEVEL);
