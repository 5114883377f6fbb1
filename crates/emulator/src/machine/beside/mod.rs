//! What goes on beside the threads that asked for it: asynchronous copies, barriers in shared memory that are told of
//! them, and products of warpgroups. It imports `memory` and what is below that.

pub(crate) mod async_copy;
pub(crate) mod bulk;
pub(crate) mod destinations;
pub(crate) mod global_agents;
pub(crate) mod landing;
pub(crate) mod map_changes;
pub(crate) mod mbarrier;
pub(crate) mod shared_agents;
pub(crate) mod tensor_copy;
pub(crate) mod warpgroup;
