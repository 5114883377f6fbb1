//! Agents and their places, and how their accesses meet those of threads: by lines, and by cells.

use super::super::Block;
use super::super::line::Side;
use super::*;

#[test]
fn every_agent_has_a_place_of_its_own_by_which_it_is_known() {
    for warps in [1, 4, 32] {
        let mut places = std::collections::HashSet::new();
        for number in 0..MOST {
            let (warp, lanes) = Agent { number, time: 1 }.place(warps);
            assert!(warp >= warps && warp <= u8::MAX.into(), "{number}: {warp}");
            assert_eq!(lanes == u32::MAX, number < ALONE, "{number}");
            for lane in each(lanes).filter(|lane| number >= ALONE || *lane == 0) {
                assert!(places.insert((warp, lane)), "{number}");
                assert_eq!(Agent::of(warp, lane as u32, warps), Some(number));
            }
        }
        assert_eq!(Agent::of(warps - 1, 3, warps), None, "a thread");
        let last = Agent { number: MOST - 1, time: 1 }.place(warps);
        assert_eq!(Agent { number: MOST + 7, time: 1 }.place(warps), last, "those beyond the last share its place");
    }
}

/// Two warps and the line behind the first one, by rows as long as it goes, or by cells from the start.
struct Scene {
    clocks: Clocks,
    agents: [(u32, u32); 2],
}

const CELLS: Range<u32> = LINE as u32..2 * LINE as u32;

impl Scene {
    fn new(by_cells: bool) -> Scene {
        let nothing = Past::default();
        let present = Block::new(0, (2, 1), &nothing);
        let (aside, ended, clusters) = (Default::default(), Default::default(), Default::default());
        let mut clocks = Clocks {
            shared: true,
            global: false,
            nothing,
            warps: 2,
            size: 1,
            present,
            aside,
            ended,
            buffers: Vec::new(),
            clusters,
            askers: Default::default(),
        };
        if by_cells {
            clocks.open(None, CELLS);
        }
        Scene { clocks, agents: [(0, 1), (1, 1)] }
    }

    /// Sixteen lanes of a warp access a word each.
    fn row(&mut self, warp: u32, first: u8, kind: Kind, at: u32) -> Option<&'static str> {
        let side = Side { first, step: 1, shift: 0 };
        let now = Access { block: 0, warp, lanes: 0, at, kind, force: Force::Weak, extent: 0 };
        if self.clocks.keep_lines(None, &[(1, side)], &now) != 0 {
            return None;
        }
        self.clocks.open(None, CELLS);
        let of = |cell: u32| Access { lanes: 1 << (u32::from(first) + cell - CELLS.start), ..now };
        let clash = CELLS.into_iter().find_map(|cell| self.clocks.view(None).clash(cell, &of(cell), &mut |_| false));
        CELLS.for_each(|cell| self.clocks.keep(None, cell..cell + 1, Order::Weak, of(cell)));
        clash.map(|_| "race")
    }

    /// An agent accesses it, for a lane of its warp.
    fn copy(&mut self, agent: u32, lane: u32, kind: Kind, at: u32) -> Option<&'static str> {
        let (number, time) = self.agents[agent as usize];
        let force = if kind == Kind::Atomic { Force::Cluster } else { Force::Weak };
        let now = Access { block: 0, warp: agent, lanes: 1 << lane, at, kind, force, extent: u8::MAX };
        match self.clocks.access_by_agent(&now, (0, Agent { number, time }), (None, CELLS), None) {
            Ok(()) => None,
            Err((_, Conflict::Race(_))) => Some("race"),
            Err((_, Conflict::Unfenced(_))) => Some("no fence"),
        }
    }

    /// Its warp waits until it is done.
    fn wait(&mut self, agent: u32) {
        let (number, time) = &mut self.agents[agent as usize];
        self.clocks.learn_of_agent(0, (agent, u32::MAX), u32::MAX, Agent { number: *number, time: *time });
        *time += 1;
    }

    fn meet(&mut self) {
        (0..2).for_each(|warp| self.clocks.arrive(0, 0, warp, u32::MAX));
        self.clocks.complete(0, (0, false), &[(0, u32::MAX), (1, u32::MAX)], &[], |_| u32::MAX);
    }
}

#[test]
fn what_is_in_order_is_kept_in_one() {
    let mut scene = Scene::new(false);
    let is_one = |scene: &mut Scene| line_in(scene.clocks.at(None).1, 1).cells().is_empty();
    for round in 0..4 {
        for (warp, first, kind) in [(0, 0, Kind::Write), (0, 16, Kind::Read), (1, 16, Kind::Read)] {
            scene.meet();
            assert_eq!((scene.row(warp, first, kind, round), is_one(&mut scene)), (None, true), "{round}, {warp}");
        }
        scene.clocks.proxy_fence(0, (1, u32::MAX), u32::MAX);
        scene.meet();
        for (agent, lane, kind) in [(0, 5, Kind::Read), (0, 9, Kind::Read), (1, 3, Kind::Write), (1, 31, Kind::Read)] {
            let said = (scene.copy(agent, lane, kind, 10 + round), is_one(&mut scene));
            assert_eq!(said, (None, true), "{round}, agent {agent}");
            scene.wait(agent);
            scene.meet();
        }
        // Behind its own reads, too, that nobody waits for in between.
        for at in 20..23 {
            assert_eq!((scene.copy(0, 7, Kind::Read, at), is_one(&mut scene)), (None, true), "{round}");
        }
        scene.wait(0);
        scene.meet();
    }
    // Two agents that read at once are two records.
    assert_eq!(scene.copy(0, 5, Kind::Read, 30), None);
    assert_eq!(scene.copy(1, 5, Kind::Read, 31), None);
    assert!(!is_one(&mut scene));
}

#[test]
fn copies_and_rows_meet_by_lines_as_they_do_by_cells() {
    let mut state = 1_u32;
    let mut chance = move |n: u32| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 16) % n
    };
    let (mut races, mut steps) = (0, 0);
    for _ in 0..4000 {
        let mut scenes = [Scene::new(false), Scene::new(true)];
        for at in 0..12 {
            let (what, who, lane, kind) = (chance(10), chance(2), chance(32), chance(3));
            let kind = [Kind::Read, Kind::Read, Kind::Write][kind as usize];
            let [lines, cells] = scenes.each_mut().map(|scene| match what {
                0..3 => scene.row(who, 16 * (lane as u8 % 2), kind, at),
                3..6 => scene.copy(who, lane, kind, at),
                6 => {
                    scene.wait(who);
                    None
                }
                7 | 8 => {
                    scene.meet();
                    None
                }
                _ => {
                    scene.clocks.proxy_fence(0, (who, u32::MAX), u32::MAX);
                    None
                }
            });
            assert_eq!(lines, cells, "{at}");
            steps += 1;
            if lines.is_some() {
                races += 1;
                break;
            }
        }
    }
    assert!(races > 1000 && steps > 10_000, "{races} races in {steps} steps");
}
