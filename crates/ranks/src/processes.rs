//! Ranks in processes of their own, on one machine or several, that meet at an address.
//!
//! - [`wire`]: what they say to each other over TCP
//! - [`rendezvous`]: where they meet: it waits for all, compares their versions and plans, and notices who is lost
//! - [`member`]: a rank's end of that
//! - [`links`]: sockets between ranks, for panels of emulated ranks; GPUs send theirs by NCCL
//!
//! One process hosts the rendezvous, and each rank keeps a connection to it as long as it works. Both sides say now and then that they are
//! alive. So a rank that is killed, or whose machine is gone, is noticed while others wait for it in a collective, and all end with one line.

pub mod links;
pub mod member;
pub mod rendezvous;
pub mod wire;

use std::time::Duration;

/// What all ranks of a product have to agree on, and how long they wait for each other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Meeting {
    /// How many ranks there are.
    pub ranks: usize,
    /// The program, with its version.
    pub program: String,
    /// Shape, types, grid, variant and whatever else makes the product.
    pub plan: String,
    /// How long a rank may take to come, and how long it may be silent afterwards.
    pub limit: Duration,
}

impl Meeting {
    /// How often each side says that it is alive: several times before the other one gives it up.
    pub(crate) fn beat(&self) -> Duration {
        (self.limit / 5).clamp(Duration::from_millis(20), Duration::from_secs(1))
    }
}
