//! What every level must hold, and which wrong versions of this one's kernel are caught.

level_tests::level_tests!(level10_stream_k::LEVEL);

level_tests::mutation_tests!(level10_stream_k::LEVEL, without: ["leave the edge unfilled"]);
