//! What is kept of a cell, and whom a later access is held against.

use super::super::Place;
use super::super::threads::Judge;
use super::*;
use crate::program::{Order, Scope};

const ALL: u32 = u32::MAX;

/// A cell of shared memory, and the warps of the thread block that accesses it.
struct Scene {
    threads: Threads,
    cell: Cell,
}

/// A plain access by lane 0 of a warp.
fn plain(kind: Kind, warp: u32, at: u32) -> Access {
    Access { block: 0, warp, lanes: 1, at, kind, force: Force::Weak, extent: 2 }
}

/// One for all threads of the device.
fn strong(kind: Kind, warp: u32, at: u32) -> Access {
    Access { force: Force::Wide, ..plain(kind, warp, at) }
}

fn near(kind: Kind, warp: u32, at: u32) -> Access {
    Access { force: Force::Near, ..plain(kind, warp, at) }
}

fn by(lanes: u32, access: Access) -> Access {
    Access { lanes, ..access }
}

impl Scene {
    fn new() -> Scene {
        Scene { threads: Threads::new(0, (64, 1), &Past::default()), cell: Cell::default() }
    }

    /// Keeps accesses that race with none.
    fn of(accesses: &[Access]) -> Scene {
        let mut scene = Scene::new();
        accesses.iter().for_each(|access| scene.keep(*access));
        scene
    }

    fn keep(&mut self, access: Access) {
        assert!(self.clash(access).is_none(), "{access:?}");
        self.cell.keep(&self.threads, access);
    }

    /// Warps meet at a barrier.
    fn meet(&mut self, warps: &[u32]) {
        warps.iter().for_each(|warp| self.threads.arrive(0, *warp, ALL));
        let waiting: Vec<(u32, u32)> = warps.iter().map(|warp| (*warp, ALL)).collect();
        self.threads.complete((0, false), &waiting, &[], |_| ALL);
    }

    /// The lane that races, and with whom: his lane, and his instruction.
    fn clash(&self, access: Access) -> Option<(u32, u32, u32)> {
        let clash = self.cell.clash(&Judge::new(&self.threads), &access, &mut |_| false)?;
        Some((clash.lane, clash.other, clash.before.at))
    }

    /// The instructions of which something is kept.
    fn kept(&self) -> Vec<u32> {
        let mut all: Vec<u32> = self.cell.records().map(|record| record.at).collect();
        all.sort_unstable();
        all
    }
}

#[test]
fn a_plain_write_stands_for_all_before_it() {
    let mut scene = Scene::of(&[0, 1, 2].map(|warp| strong(Kind::Write, warp, warp)));
    assert_eq!(scene.kept(), [0, 1, 2]);
    scene.meet(&[0, 1, 2, 3]);
    scene.keep(plain(Kind::Write, 3, 3));
    assert_eq!(scene.kept(), [3]);
    let past = Past::default();
    scene.keep(strong(Kind::Write, 3, 4));
    scene.cell.hand_on(
        (0, 1),
        &Handed { wide: Some(past.clone()), cluster: None, near: Some(past) },
        &Scoped::default(),
        Force::Wide,
    );
    assert!(!scene.cell.found((0, 1), Force::Wide).0.is_empty());
    scene.keep(plain(Kind::Write, 3, 5));
    assert!(scene.cell.found((0, 1), Force::Wide).0.is_empty(), "another value than the one that was handed on");
}

#[test]
fn a_copys_write_stands_for_all_before_it_and_its_reads_for_each_other() {
    let (first, second) = (64, 65);
    let mut scene = Scene::of(&[0, 1, 2].map(|warp| strong(Kind::Write, warp, warp)));
    scene.cell.keep_of_agent(plain(Kind::Write, first, 3), 1);
    assert_eq!(scene.kept(), [3]);
    for (agent, at, time) in [(first, 4, 2), (second, 5, 1), (first, 6, 3)] {
        scene.cell.keep_of_agent(plain(Kind::Read, agent, at), time);
    }
    assert_eq!(scene.kept(), [3, 5, 6]);
}

#[test]
fn a_strong_access_stands_for_what_the_thread_did_before() {
    for kind in [Kind::Write, Kind::Atomic] {
        let mut scene = Scene::of(&[strong(Kind::Read, 0, 0), strong(kind, 0, 1), strong(kind, 0, 2)]);
        assert_eq!(scene.kept(), [2], "{kind:?}");
        scene.keep(strong(Kind::Read, 1, 3));
        scene.keep(strong(kind, 0, 4));
        assert_eq!(scene.kept(), [3, 4], "{kind:?}: another thread's read is not before it");
    }
    // Others may race with these, and not with it.
    for before in [plain(Kind::Read, 0, 0), Access { extent: 1, ..strong(Kind::Read, 0, 0) }, near(Kind::Read, 0, 0)] {
        for kind in [Kind::Write, Kind::Atomic] {
            assert_eq!(Scene::of(&[before, strong(kind, 0, 1)]).kept(), [0, 1], "{before:?}, {kind:?}");
        }
    }
}

#[test]
fn an_atomic_stands_for_the_write_that_it_observed() {
    let stores = [strong(Kind::Write, 0, 0), strong(Kind::Write, 1, 1)];
    let mut scene = Scene::of(&stores);
    scene.keep(strong(Kind::Atomic, 2, 2));
    assert_eq!(scene.kept(), [0, 2]);
    let mut scene = Scene::of(&stores);
    scene.keep(near(Kind::Atomic, 2, 2));
    assert_eq!(scene.kept(), [0, 1, 2], "another block may race with it, and not with them");
}

#[test]
fn a_strong_read_is_kept_once_for_each_value_that_it_may_see() {
    let read = |warp: u32, at: u32| strong(Kind::Read, warp, at);
    assert_eq!(Scene::of(&[read(0, 0), read(1, 1), read(2, 2), read(2, 3)]).kept(), [0, 1, 3]);
    let mut scene = Scene::of(&[read(0, 0)]);
    scene.meet(&[0, 1]);
    scene.keep(read(0, 1));
    assert_eq!(scene.kept(), [0, 1], "what was read before the barrier is known behind it");
    assert_eq!(Scene::of(&[read(0, 0), strong(Kind::Write, 1, 1), read(0, 2)]).kept(), [0, 1, 2]);
    assert_eq!(Scene::of(&[read(0, 0), strong(Kind::Atomic, 1, 1), read(0, 2)]).kept(), [1, 2]);
}

#[test]
fn of_plain_reads_every_lane_keeps_the_instruction() {
    let read = |lanes: u32, at: u32| by(lanes, plain(Kind::Read, 1, at));
    let kept = |reads: &[Access]| -> Vec<(u32, u32)> {
        Scene::of(reads).cell.records().map(|record| (record.lanes, record.at)).collect()
    };
    assert_eq!(kept(&[read(2, 0), read(4, 0)]), [(6, 0)], "one instruction, by parts");
    assert_eq!(kept(&[read(2, 0), read(4, 1)]), [(2, 0), (4, 1)]);
    assert_eq!(kept(&[read(1, 0), read(4, 1)]), [(1, 0), (4, 1)]);
    assert_eq!(kept(&[read(2, 0), read(6, 1)]), [(6, 1)], "all who read first read again");
    assert_eq!(kept(&[read(6, 0), read(2, 1)]), [(6, 0)]);
}

#[test]
fn fifty_accesses_are_kept_and_the_oldest_goes_first() {
    let readers: Vec<Access> = (0..52).map(|warp| plain(Kind::Read, warp, warp)).collect();
    assert_eq!(Scene::of(&readers[..50]).kept(), (0..50).collect::<Vec<u32>>());
    let last: Vec<u32> = (0..FEW as u32).chain(4..52).collect();
    assert_eq!(Scene::of(&readers).kept(), last);
}

#[test]
fn with_a_read_that_is_forgotten_go_the_writes_that_it_observed() {
    // They would count as not ordered before whoever knows of the read.
    let mut scene = Scene::of(&[
        strong(Kind::Read, 0, 0),
        strong(Kind::Write, 1, 1),
        strong(Kind::Read, 2, 2),
        strong(Kind::Read, 3, 3),
        strong(Kind::Write, 4, 4),
    ]);
    (5..50).for_each(|warp| scene.keep(strong(Kind::Read, warp, warp)));
    assert_eq!(scene.kept(), (0..50).collect::<Vec<u32>>());
    scene.keep(strong(Kind::Read, 50, 50));
    assert_eq!(scene.kept(), [0].into_iter().chain(3..51).collect::<Vec<u32>>());
}

#[test]
fn every_lane_is_held_against_every_other() {
    let scene = Scene::of(&[plain(Kind::Write, 0, 7)]);
    assert_eq!(scene.clash(by(1, plain(Kind::Read, 0, 8))), None, "its own");
    assert_eq!(scene.clash(by(3, plain(Kind::Read, 0, 8))), Some((1, 0, 7)), "another lane of the warp");
    let mut scene = Scene::of(&[plain(Kind::Write, 0, 7)]);
    let told = scene.threads.past(0, ALL);
    scene.threads.set_base(1, 1, ALL, &told);
    assert_eq!(scene.clash(by(1, plain(Kind::Read, 1, 8))), None, "who knows");
    assert_eq!(scene.clash(by(3, plain(Kind::Read, 1, 8))), Some((1, 0, 7)), "who does not");
}

#[test]
fn what_somebody_saw_lies_before_him_and_his_reads_tell_of_no_other_reads() {
    // Who reads after another one knows nothing of that.
    let mut scene = Scene::of(&[strong(Kind::Read, 0, 0), strong(Kind::Read, 1, 1)]);
    scene.meet(&[1, 2]);
    assert_eq!(scene.clash(plain(Kind::Write, 2, 2)), Some((0, 0, 0)));
    // A lane that saw a write may use the place plainly; its neighbour may not.
    let seen = by(1 << 5, strong(Kind::Read, 1, 1));
    let scene = Scene::of(&[strong(Kind::Write, 0, 0), seen]);
    assert_eq!(scene.clash(by(1 << 5, plain(Kind::Read, 1, 2))), None);
    assert_eq!(scene.clash(by(1 << 6, plain(Kind::Read, 1, 2))), Some((6, 0, 0)));
    assert_eq!(scene.clash(by(1, plain(Kind::Read, 1, 2))), Some((0, 0, 0)));
}

#[test]
fn a_clash_that_does_no_harm_hides_no_other() {
    let scene = Scene::of(&[plain(Kind::Read, 0, 0), plain(Kind::Read, 1, 0)]);
    for (harmless, found) in [(&[0][..], Some(1)), (&[1], Some(0)), (&[], Some(0)), (&[0, 1], None)] {
        let harmless = &mut |clash: &Clash| harmless.contains(&clash.before.access().warp);
        let clash = scene.cell.clash(&Judge::new(&scene.threads), &plain(Kind::Write, 2, 1), harmless);
        assert_eq!(clash.map(|clash| clash.before.access().warp), found);
    }
}

#[test]
fn all_writers_of_a_row_hand_on_and_each_block_has_its_own() {
    let threads = Threads::new(0, (4, 1), &Past::default());
    let mut cell = Cell::default();
    let knows = |past: &Past, warp: u32| past.known.unknown(0, warp, ALL, 1) == 0;
    for (block, warp) in [(0, 0), (1, 2), (0, 1)] {
        let past = threads.past(warp, ALL);
        let fenced = Scoped { near: past.known.clone(), wide: past.known.clone() };
        cell.hand_on((block, 1), &Handed { wide: None, cluster: None, near: Some(past) }, &fenced, Force::Near);
    }
    for (block, known) in [(0, [true, true, false]), (1, [false, false, true])] {
        let found = cell.found((block, 1), Force::Near).0.near.expect("somebody of the block handed on");
        assert_eq!([0, 1, 2].map(|warp| knows(&found, warp)), known, "block {block}");
        let fenced = cell.fenced(block, Force::Near).expect("somebody of the block fenced");
        assert_eq!([0, 1, 2].map(|warp| fenced.near.unknown(0, warp, ALL, 1) == 0), known, "block {block}");
    }
}

#[test]
fn of_copies_that_combine_the_last_stands_for_its_instruction() {
    let mut scene = Scene::new();
    let mut combines = |(agent, lanes, at): (u32, u32, u32), time| {
        let now = Access { force: Force::Cluster, lanes, ..plain(Kind::Atomic, agent, at) };
        assert!(scene.clash(Access { warp: 0, ..now }).is_none(), "{at}: they do not race with each other");
        scene.cell.keep_of_agent(now, time);
    };
    for (n, who) in [(64, 1, 0), (65, 1, 0), (64, 2, 0), (64, 1, 1), (64, 1, 0)].into_iter().enumerate() {
        combines(who, n as u32 + 1);
    }
    let mut times: Vec<u32> = scene.cell.records().map(|record| record.time).collect();
    times.sort_unstable();
    assert_eq!(times, [2, 3, 4, 5], "another agent, lane or instruction is another one");
    let mut scene = Scene::of(&[plain(Kind::Read, 0, 0)]);
    scene.cell.keep_of_agent(plain(Kind::Atomic, 64, 0), 1);
    assert_eq!(scene.cell.records().count(), 2, "a read stays");
}

#[test]
fn what_is_handed_on_in_a_cluster_is_found_by_its_blocks_alone() {
    let threads = Threads::new(3, (4, 2), &Past::default());
    let handed = |warp| Handed { wide: None, cluster: Some(threads.past(warp, ALL)), near: None };
    let mut cell = Cell::default();
    for (block, warp) in [(3, 0), (7, 1), (2, 2)] {
        cell.hand_on((block, 2), &handed(warp), &Scoped::default(), Force::Cluster);
    }
    let knows = |past: &Past, warp: u32| past.known.unknown(3, warp, ALL, 1) == 0;
    for (block, wanted) in [(2, [true, false, true]), (3, [true, false, true]), (6, [false, true, false])] {
        for force in [Force::Cluster, Force::Wide] {
            let found = cell.found((block, 2), force).0.cluster.expect("somebody of the cluster handed on");
            assert_eq!([0, 1, 2].map(|warp| knows(&found, warp)), wanted, "block {block}");
        }
        assert!(cell.found((block, 2), Force::Near).0.is_empty(), "who asks for the block's");
    }
    for block in [0, 1, 4, 5, 8] {
        assert!(cell.found((block, 2), Force::Cluster).0.is_empty(), "block {block}");
    }
}

#[test]
fn two_strong_accesses_name_each_other_in_the_narrower_scope() {
    let by = |block, force| Access { block, force, ..strong(Kind::Write, 0, 0) };
    let forces = [Force::Weak, Force::Near, Force::Cluster, Force::Wide];
    for (a, b) in forces.into_iter().flat_map(|a| forces.map(|b| (a, b))) {
        for (other, least) in [(4, Force::Near), (5, Force::Cluster), (6, Force::Wide), (3, Force::Wide)] {
            let mutual = by(4, a).is_mutual(&by(other, b), 2);
            assert_eq!(mutual, a.min(b) >= least, "{a:?} of block 4, {b:?} of {other}");
            assert!(!by(4, a).is_mutual(&Access { extent: 3, ..by(other, b) }, 2), "of another size");
        }
    }
}

#[test]
fn writes_hand_on_in_their_scope_and_for_clusters_where_there_are_some() {
    let place = Place { buffer: None, owner: 0, cell: 0 };
    let scopes = [(Force::Near, Scope::Cta), (Force::Cluster, Scope::Cluster), (Force::Wide, Scope::Gpu)];
    for size in [1, 2] {
        for (force, _) in scopes {
            let wanted = [force == Force::Wide, force >= Force::Cluster && size > 1, true];
            let given = |handed: &Handed| [handed.wide.is_some(), handed.cluster.is_some(), handed.near.is_some()];
            let mut threads = Threads::new(0, (1, size), &Past::default());
            assert_eq!(given(&threads.handed(0, 3, place, force, true)), wanted, "a release, {force:?}");
            assert_eq!(given(&threads.handed(0, 3, place, force, false)), wanted, "behind it, {force:?}");
            assert!(threads.handed(0, 4, place, force, false).is_empty(), "by another lane");
            for (fenced, scope) in scopes {
                let mut threads = Threads::new(0, (1, size), &Past::default());
                threads.fence(0, 1 << 3, Order::AcqRel, scope);
                let least = fenced.min(force);
                let wanted = [least == Force::Wide, least >= Force::Cluster && size > 1, true];
                assert_eq!(given(&threads.handed(0, 3, place, force, false)), wanted, "{fenced:?}, {force:?}, {size}");
                assert!(threads.handed(0, 4, place, force, false).is_empty(), "by another lane");
            }
        }
    }
}

#[test]
fn with_a_plain_read_that_is_forgotten_no_write_goes() {
    let mut scene = Scene::of(&[strong(Kind::Write, 1, 0), strong(Kind::Read, 3, 1)]);
    scene.meet(&[1, 2]);
    scene.keep(plain(Kind::Read, 2, 2));
    (4..51).for_each(|warp| scene.keep(strong(Kind::Read, warp, warp)));
    assert_eq!(scene.kept().len(), 50);
    scene.keep(strong(Kind::Read, 51, 51));
    assert_eq!(scene.kept(), [0, 1].into_iter().chain(4..52).collect::<Vec<u32>>());
}
