//! What every level must hold, and which wrong versions of this one's kernel are caught.

harness::level_tests!(level10_stream_k::LEVEL);

harness::mutation_tests!(level10_stream_k::LEVEL, without: ["leave the edge unfilled"]);
