//! Where a value comes from that nobody wrote.

/// What it was read from.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Place {
    /// An offset in shared memory.
    Shared(u32),
    /// An offset in shared memory to which a copy was under way: who asked for the copy, by which instruction, and what it
    /// lacks to be there.
    UnderWay { offset: u32, thread: u32, at: u32, lack: Option<Lack> },
    /// An offset in shared memory to which a bulk copy brought what nobody had written at its source.
    Brought(u32),
    /// A buffer, and an offset in it.
    Global(usize, u64),
    /// An offset in the thread's local memory.
    Local(u64),
    /// Another lane, from which a shuffle took it, and which did not execute the shuffle.
    Lane { source: u32, mask: u32, there: u32, why: Absence },
    /// A register that no instruction had set.
    Register,
}

/// What a copy under way has not had, to be there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Lack {
    /// It is in no group, and no wait came behind it.
    Both,
    /// It was in no group when a wait came.
    Commit,
    /// No wait came behind its group.
    Wait,
    /// The wait may leave so many groups; only one that leaves fewer would have waited for this copy's.
    Fewer { leaves: u32, most: u32 },
}

/// Why a lane did not execute a shuffle that others read it by.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Absence {
    /// The thread block has no such lane in that warp.
    Missing,
    Ended,
    /// The mask does not name it.
    Unnamed,
}

/// A load of something unwritten: from where, and by which instruction, thread and thread block.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Origin {
    pub place: Place,
    pub at: u32,
    pub thread: u32,
    pub block: u64,
}
