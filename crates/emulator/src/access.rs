//! What one warp memory instruction costs the hardware, from the addresses of its lanes.
//!
//! The rules were found by measuring, on one NVIDIA H200 with Nsight Compute, 524 patterns of one warp each; they give
//! the measured figure for every one of them (`tests/access_patterns.rs`). All widths from 4 to 16 bytes were measured;
//! for 1 and 2 bytes the same rules are taken to hold. No pattern tells whether an inactive partner lets loads merge
//! (see [`shared_load`]): without that clause the rule gives the same figures for all of them. All accesses must be naturally aligned, that is, each address a
//! multiple of `bytes_per_lane` (1, 2, 4, 8 or 16): PTX demands it, and the emulator faults on others before it asks here.
//!
//! An instruction without an active lane costs nothing, in every column.

/// Lanes of a warp.
const LANES: usize = 32;
/// Bytes of a sector, the unit in which L1 and L2 move global memory.
const SECTOR: u64 = 32;
/// Bytes of a word of a shared-memory bank. 32 banks give one word each in a wavefront.
const WORD: u32 = 4;
/// Bytes that one wavefront can move.
const ROW: u32 = 32 * WORD;

/// The cost of one warp instruction on global memory.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct GlobalCost {
    /// Distinct 32-byte sectors that the active lanes touch. Summed over a launch, it is ncu's
    /// `l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum` for loads, `…_op_st.sum` for stores.
    pub sectors: u32,
    /// Sectors that the distinct bytes would fill if they lay side by side from a sector's start: `unique_bytes` / 32,
    /// rounded up. The purpose is that of ncu's source metric `memory_l2_theoretical_sectors_global_ideal`; it was not
    /// compared with it.
    pub ideal_sectors: u32,
    /// Distinct bytes that the active lanes touch. Equals no ncu metric.
    pub unique_bytes: u32,
}

/// The cost of one warp instruction on shared memory.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SharedCost {
    /// Passes through the 32 banks. Summed over a launch, it is ncu's
    /// `l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum` for loads and `ldmatrix`, `…_op_st.sum` for stores, as long
    /// as one warp runs alone: under load that metric also counts passes lost to arbitration.
    pub wavefronts: u32,
    /// Passes without any bank conflict: one for each group of lanes (see [`shared_load`], [`shared_store`],
    /// [`ldmatrix`]) that has an active lane. A group never asks for more than 32 distinct words, so one pass would do if
    /// they lay in 32 different banks. `wavefronts / ideal_wavefronts` is the n of an "n-way bank conflict". The purpose
    /// is that of ncu's source metric `memory_l1_wavefronts_shared_ideal`; it was not compared with it.
    pub ideal_wavefronts: u32,
    /// Distinct bytes that the active lanes touch: ncu's `smsp__sass_data_bytes_mem_shared`.
    pub unique_bytes: u32,
}

/// The cost of a load from, or a store to, global memory by the lanes of `mask` (bit 0 is lane 0).
///
/// Wide accesses make no further requests: an instruction is one request, ncu's
/// `l1tex__t_requests_pipe_lsu_mem_global_op_ld`, whatever its width.
#[inline]
pub fn global(addresses: &[u64; LANES], mask: u32, bytes_per_lane: u32) -> GlobalCost {
    if mask == 0 {
        return GlobalCost::default();
    }
    let addresses = settle(addresses, mask, LANES);
    // An aligned access of at most a sector's size lies in one sector, and two of them are equal or apart.
    let (sectors, accesses) = match low_halves(&addresses) {
        Some(low) => (distinct(&low.map(|a| a / SECTOR as u32)), distinct(&low)),
        None => (distinct(&addresses.map(|a| a / SECTOR)), distinct(&addresses)),
    };
    let unique_bytes = accesses * bytes_per_lane;
    GlobalCost { sectors, ideal_sectors: unique_bytes.div_ceil(SECTOR as u32), unique_bytes }
}

/// Bytes of a line, which has one tag in L1.
const LINE: u64 = 128;

/// The cost of `cp.async.cg`, which copies 16 bytes per lane around L1, by the lanes of `mask` that read at all.
///
/// Lanes are served two by two: lanes 2j and 2j + 1 cost a sector if they read from the same 128-byte line, wherever in it, and
/// two if not. No sector is shared with another pair. A copy that reads a part of its bytes costs what it costs as a whole, and
/// one that reads none costs nothing. `cp.async.ca` costs what a load costs: [`global`].
///
/// This was measured, too: `tests/async_copies.rs`.
#[inline]
pub fn bypassing_copy(addresses: &[u64; LANES], mask: u32) -> GlobalCost {
    let unique_bytes = global(addresses, mask, 16).unique_bytes;
    let pair = |j: usize| match mask >> (2 * j) & 3 {
        0 => 0,
        3 if addresses[2 * j] / LINE != addresses[2 * j + 1] / LINE => 2,
        _ => 1,
    };
    let sectors = (0..LANES / 2).map(pair).sum();
    GlobalCost { sectors, ideal_sectors: unique_bytes.div_ceil(SECTOR as u32), unique_bytes }
}

/// The cost of a load from shared memory by the lanes of `mask` (bit 0 is lane 0).
///
/// Lanes are served in groups of neighbours: up to 4 bytes per lane, one group of 32; 8 bytes, two groups of 16; 16 bytes, four
/// groups of 8. Groups merge two by two (8 bytes: to one of 32; 16 bytes: to two of 16) when over the whole warp every
/// active lane's partner `lane ^ 1` is inactive or has the same address, or when the same holds for `lane ^ 2`. A group
/// costs as many wavefronts as the busiest bank has distinct 4-byte words to give.
#[inline]
pub fn shared_load(addresses: &[u32; LANES], mask: u32, bytes_per_lane: u32) -> SharedCost {
    let mut group = lanes_per_group(bytes_per_lane);
    if group < LANES && (partners_agree(addresses, mask, 1) || partners_agree(addresses, mask, 2)) {
        group *= 2;
    }
    shared(addresses, mask, bytes_per_lane, group)
}

/// The cost of a store to shared memory by the lanes of `mask` (bit 0 is lane 0).
///
/// Groups and their costs are those of [`shared_load`], but stores never merge groups.
#[inline]
pub fn shared_store(addresses: &[u32; LANES], mask: u32, bytes_per_lane: u32) -> SharedCost {
    shared(addresses, mask, bytes_per_lane, lanes_per_group(bytes_per_lane))
}

/// The cost of `ldmatrix` with 1, 2 or 4 8×8 matrices of 16-bit elements.
///
/// Lane `8 * i + r` gives the address of row `r` (16 bytes) of matrix `i`; later lanes' addresses are ignored. Each matrix
/// is one group of 8 rows, and groups never merge.
#[inline]
pub fn ldmatrix(rows: &[u32; LANES], matrices: u32) -> SharedCost {
    let used = u32::MAX >> (LANES as u32 - 8 * matrices.clamp(1, 4));
    shared(rows, used, 16, 8)
}

/// How many neighbouring lanes the banks serve at once.
fn lanes_per_group(bytes_per_lane: u32) -> usize {
    LANES.min((ROW / bytes_per_lane.max(WORD)) as usize)
}

/// Whether the partner `lane ^ distance` of every active lane is inactive or has the same address.
fn partners_agree(addresses: &[u32; LANES], mask: u32, distance: usize) -> bool {
    let differs = |lane: usize| u32::from(addresses[lane] != addresses[lane ^ distance]) << lane;
    let differ = (0..LANES).fold(0, |bits, lane| bits | differs(lane));
    // Bit `lane` of `partners` tells whether `lane ^ distance` is active.
    let low = if distance == 1 { 0x5555_5555 } else { 0x3333_3333 };
    let partners = ((mask & low) << distance) | ((mask >> distance) & low);
    mask & partners & differ == 0
}

#[inline]
fn shared(addresses: &[u32; LANES], mask: u32, bytes_per_lane: u32, group: usize) -> SharedCost {
    if mask == 0 {
        return SharedCost::default();
    }
    let addresses = settle(addresses, mask, group);
    // Aligned accesses of 8 or 16 bytes take 2 or 4 neighbouring banks whole: to count words in a bank, count accesses
    // in a "slot" as wide as the access.
    let shift = bytes_per_lane.max(WORD).trailing_zeros();
    let keys = addresses.map(|a| a >> shift);
    let mut cost = SharedCost { unique_bytes: distinct(&addresses) * bytes_per_lane, ..SharedCost::default() };
    for (i, keys) in keys.chunks_exact(group).enumerate() {
        if mask & members(i, group) != 0 {
            cost.wavefronts += busiest_slot(keys, ROW >> shift);
            cost.ideal_wavefronts += 1;
        }
    }
    cost
}

/// The lanes of the `i`-th group, as a mask.
fn members(i: usize, group: usize) -> u32 {
    (u32::MAX >> (LANES - group)) << (i * group)
}

/// The addresses with each inactive lane's replaced by that of an active lane of its group, which costs no more. Groups
/// without an active lane copy one before or after them.
#[inline]
fn settle<T: Copy>(addresses: &[T; LANES], mask: u32, group: usize) -> [T; LANES] {
    let mut settled = *addresses;
    if mask == u32::MAX {
        return settled;
    }
    let mut last = addresses[mask.trailing_zeros() as usize % LANES];
    for (i, lanes) in settled.chunks_exact_mut(group).enumerate() {
        let active = (mask & members(i, group)) >> (i * group);
        if active != 0 {
            last = lanes[active.trailing_zeros() as usize];
        }
        for (lane, address) in lanes.iter_mut().enumerate() {
            last = if active >> lane & 1 == 1 { *address } else { last };
            *address = last;
        }
    }
    settled
}

/// The low halves of the addresses, if the high halves are all the same: cheaper to compare, and as different.
#[inline]
fn low_halves(addresses: &[u64; LANES]) -> Option<[u32; LANES]> {
    let differ = addresses.iter().fold(0, |differ, a| differ | (a ^ addresses[0]));
    (differ >> 32 == 0).then(|| addresses.map(|a| a as u32))
}

/// The largest number of distinct keys that fall on one of `slots` (a power of two), where key `k` falls on `k % slots`.
#[inline]
fn busiest_slot(keys: &[u32], slots: u32) -> u32 {
    let (low, high) = keys.iter().fold((u32::MAX, 0), |(low, high), &k| (low.min(k), high.max(k)));
    // Equal keys, and neighbours within one row of the banks, do not conflict: the common case.
    if high - low < slots {
        return 1;
    }
    let mut load = [0_u8; LANES];
    for (i, key) in keys.iter().enumerate() {
        load[(key & (slots - 1)) as usize % LANES] += u8::from(!keys[..i].contains(key));
    }
    load.into_iter().max().unwrap_or(0).into()
}

/// How many different keys there are.
#[inline]
fn distinct<T: Copy + Ord>(keys: &[T; LANES]) -> u32 {
    let (mut changes, mut rises, mut falls) = (0_u32, false, false);
    for i in 1..LANES {
        changes = changes.wrapping_add(u32::from(keys[i - 1] != keys[i]));
        rises |= keys[i - 1] < keys[i];
        falls |= keys[i - 1] > keys[i];
    }
    // Rising or falling all along, each change brings a new key: the common case.
    if !(rises && falls) {
        return 1 + changes;
    }
    let repeats = |lane: usize| keys[..lane].contains(&keys[lane]);
    (0..LANES).map(|lane| u32::from(!repeats(lane))).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lanes(address: impl Fn(u32) -> u32) -> [u32; LANES] {
        std::array::from_fn(|lane| address(lane as u32))
    }

    fn wide(address: impl Fn(u64) -> u64) -> [u64; LANES] {
        std::array::from_fn(|lane| address(lane as u64))
    }

    #[test]
    fn no_active_lane_costs_nothing() {
        assert_eq!(global(&wide(|l| 4 * l), 0, 4), GlobalCost::default());
        assert_eq!(shared_load(&lanes(|l| 4 * l), 0, 4), SharedCost::default());
        assert_eq!(shared_store(&lanes(|l| 16 * l), 0, 16), SharedCost::default());
    }

    #[test]
    fn global_sectors_by_hand() {
        let cost = |address: fn(u64) -> u64, mask, bytes| {
            let c = global(&wide(address), mask, bytes);
            (c.sectors, c.ideal_sectors, c.unique_bytes)
        };
        assert_eq!(cost(|l| 4 * l, !0, 4), (4, 4, 128), "coalesced");
        assert_eq!(cost(|l| 4 * l + 4, !0, 4), (5, 4, 128), "coalesced, but off by one element");
        assert_eq!(cost(|_| 64, !0, 4), (1, 1, 4), "broadcast");
        assert_eq!(cost(|l| 4096 * l, !0, 4), (32, 4, 128), "down a column");
        assert_eq!(cost(|l| 4096 * (l % 2) + 4 * l, !0, 4), (8, 4, 128), "two rows in turn");
        assert_eq!(cost(|l| l, !0, 1), (1, 1, 32), "bytes");
        assert_eq!(cost(|l| 2 * l, 0x8000_0001, 2), (2, 1, 4), "first and last of 16-bit elements");
        assert_eq!(
            cost(|l| (1 << 40) - 16 * l, !0, 16),
            (17, 16, 512),
            "falling, above 4 GiB, across one sector's edge"
        );
    }

    #[test]
    fn shared_wavefronts_by_hand() {
        let load = |address: fn(u32) -> u32, bytes| {
            let c = shared_load(&lanes(address), !0, bytes);
            (c.wavefronts, c.ideal_wavefronts, c.unique_bytes)
        };
        assert_eq!(load(|l| 4 * l, 4), (1, 1, 128), "a row");
        assert_eq!(load(|l| 128 * l, 4), (32, 1, 128), "a column of 32 words");
        assert_eq!(load(|l| 132 * l, 4), (1, 1, 128), "a column of 33 words: padded");
        assert_eq!(load(|l| 128 * (l / 16), 4), (2, 1, 8), "two words of one bank");
        assert_eq!(load(|l| l, 1), (1, 1, 32), "bytes of one word are one access to a bank");
        assert_eq!(load(|l| 256 * l + 2 * (l % 2), 2), (32, 1, 64), "16-bit elements down a column");
        assert_eq!(load(|l| 16 * (l / 2), 16), (2, 2, 256), "pairs agree: four groups merge to two");
    }

    #[test]
    fn stores_do_not_merge() {
        let pairs = lanes(|l| 8 * (l / 2));
        assert_eq!(shared_load(&pairs, !0, 8).wavefronts, 1);
        assert_eq!(shared_store(&pairs, !0, 8).wavefronts, 2);
    }

    #[test]
    fn inactive_partners_let_loads_merge() {
        let even_lanes = 0x5555_5555;
        let row = lanes(|l| 8 * (l / 2) + 1000 * (l % 2));
        assert_eq!(
            shared_load(&row, even_lanes, 8),
            SharedCost { wavefronts: 1, ideal_wavefronts: 1, unique_bytes: 128 }
        );
        assert_eq!(shared_store(&row, even_lanes, 8).wavefronts, 2);
    }

    #[test]
    fn ldmatrix_reads_only_the_rows_of_its_matrices() {
        let column = lanes(|l| 128 * l);
        let cost = |matrices| ldmatrix(&column, matrices);
        assert_eq!(cost(1), SharedCost { wavefronts: 8, ideal_wavefronts: 1, unique_bytes: 128 });
        assert_eq!(cost(4), SharedCost { wavefronts: 32, ideal_wavefronts: 4, unique_bytes: 512 });
    }
}
