//! Who touched a piece of memory last, and whether the next access is ordered after it.
//!
//! A stamp packs when and by whom into 64 bits: 24 bits of the block-wide epoch (barriers passed), 10 of
//! the warp's epoch (warp-level barriers passed since), 20 of the instruction, 10 of the thread. Two
//! accesses of one epoch by different threads are unordered, unless a warp-level barrier stands between
//! two threads of one warp.

/// See the module.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Stamp(pub u64);

pub(crate) const EPOCH_LIMIT: u32 = 1 << 24;
/// No thread block comes to this epoch.
const BESIDE: u32 = EPOCH_LIMIT - 1;
/// So many barriers of a warp, since the last one of the block, have stamps of their own.
pub(crate) const WARP_EPOCH_LIMIT: u32 = 1 << 10;
pub(crate) const INSTRUCTION_LIMIT: usize = 1 << 20;

impl Stamp {
    #[inline(always)]
    pub fn new(epoch: u32, warp_epoch: u32, at: u32, thread: u32) -> Stamp {
        Stamp(
            u64::from(epoch) << 40
                | u64::from(warp_epoch % WARP_EPOCH_LIMIT) << 30
                | u64::from(at) << 10
                | u64::from(thread),
        )
    }

    /// The same moment, in another thread.
    #[inline(always)]
    pub fn of_thread(self, thread: u32) -> Stamp {
        Stamp(self.0 & !0x3ff | u64::from(thread))
    }

    /// The same for what goes on beside the threads, of which stamps do not know when it is over.
    pub fn beside(self) -> Stamp {
        Stamp(self.0 | u64::from(BESIDE) << 40)
    }

    pub fn is_beside(self) -> bool {
        self.epoch() == BESIDE
    }

    #[inline(always)]
    pub fn epoch(self) -> u32 {
        (self.0 >> 40) as u32
    }

    pub fn at(self) -> u32 {
        (self.0 >> 10) as u32 & 0xf_ffff
    }

    pub fn thread(self) -> u32 {
        self.0 as u32 & 0x3ff
    }

    /// Whether whoever conflicts with this stamp from `now` on conflicts with `now`, too, or nobody does: it is the same
    /// thread's, or lies before by a barrier.
    #[inline(always)]
    pub fn is_past(self, now: Stamp) -> bool {
        let differ = self.0 ^ now.0;
        (differ >> 40 != 0) | (differ & 0x3ff == 0) | (differ & 0x3e0 == 0) & (differ >> 30 != 0)
    }

    /// Whether another thread made this stamp, with nothing that orders it before `now`.
    #[inline(always)]
    pub fn conflicts(self, now: Stamp) -> bool {
        let differ = self.0 ^ now.0;
        let same_epoch = differ >> 40 == 0;
        let other_thread = differ & 0x3ff != 0;
        let ordered_in_warp = (differ & 0x3e0 == 0) & (differ >> 30 & 0x3ff != 0);
        same_epoch & other_thread & !ordered_in_warp
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_of_one_epoch_conflict_and_barriers_order_them() {
        let write = Stamp::new(3, 0, 7, 5);
        assert!(write.conflicts(Stamp::new(3, 0, 9, 6)), "another lane, no barrier");
        assert!(write.conflicts(Stamp::new(3, 1, 9, 40)), "another warp's own epoch orders nothing");
        assert!(!write.conflicts(Stamp::new(3, 0, 9, 5)), "the same thread");
        assert!(!write.conflicts(Stamp::new(3, 1, 9, 6)), "a warp-level barrier between");
        assert!(!write.conflicts(Stamp::new(4, 0, 9, 6)), "a block-wide barrier between");
        assert_eq!((write.epoch(), write.at(), write.thread()), (3, 7, 5));
        let copy = write.beside();
        assert_eq!((write.is_beside(), copy.is_beside(), copy.at(), copy.thread()), (false, true, 7, 5));
    }

    #[test]
    fn each_part_of_a_stamp_has_a_place_of_its_own() {
        let largest = [(1 << 24) - 1, 0x3ff, 0xf_ffff, 0x3ff];
        for n in 0..4 {
            let [epoch, warp_epoch, at, thread]: [u32; 4] =
                std::array::from_fn(|m| if m == n { largest[m] } else { 0 });
            let stamp = Stamp::new(epoch, warp_epoch, at, thread);
            assert_eq!((stamp.epoch(), stamp.at(), stamp.thread()), (epoch, at, thread));
        }
        // As many barriers of the warp as are told apart: the next one looks like none.
        let write = |passed| Stamp::new(3, passed, 7, 5);
        assert!((1..1024).all(|passed| !write(0).conflicts(Stamp::new(3, passed, 9, 6))));
        assert!(write(1024).conflicts(Stamp::new(3, 0, 9, 6)));
    }
}
