//! Which way lanes go, and where they wait for each other: paths that diverge, calls of functions, meetings of a warp's lanes,
//! the barriers of a block; and what the order model is told of these. It imports `verdict` and what is below that.

pub(crate) mod barrier;
pub(crate) mod functions;
pub(crate) mod happens_before;
pub(crate) mod meeting;
pub(crate) mod paths;
pub(crate) mod register_counts;
