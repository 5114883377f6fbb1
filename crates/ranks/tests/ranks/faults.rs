use ranks::layout::{Operand, Panel};
use ranks::order::{Lost, order};
use ranks::plan::{Command, Event, Region, Stream};
use ranks::{Fault, Plan, Variant};

use crate::{GRIDS, in_parts, plan};

const COMPUTE: usize = Stream::Compute as usize;
const COPY: usize = Stream::Copy as usize;

/// The fault of a plan after a change to one stream of one rank.
fn fault_of(mut plan: Plan, rank: usize, stream: usize, change: impl Fn(&mut Vec<Command>)) -> Fault {
    assert!(order(&plan, None).is_ok());
    change(&mut plan.ranks[rank].streams[stream]);
    order(&plan, None).unwrap_err()
}

/// Takes one command away.
fn without(commands: &mut Vec<Command>, is_it: impl Fn(&Command) -> bool) {
    let place = commands.iter().position(is_it).unwrap();
    commands.remove(place);
}

#[test]
fn every_plan_is_in_order_also_when_its_panels_are_replaced_behind_it() {
    for grid in GRIDS {
        for variant in Variant::ALL {
            for parts in [1, 2, 3] {
                let plan = in_parts(20, grid, variant, parts).then_replaced();
                let happened = order(&plan, None).unwrap();
                let commands: usize = plan.ranks.iter().flat_map(|rank| &rank.streams).map(Vec::len).sum();
                assert_eq!(happened.len(), commands);
                assert_eq!(happened, order(&plan, None).unwrap());
            }
        }
    }
}

/// Not one of a plan's waits is there without need.
#[test]
fn without_any_of_its_waits_a_plan_is_at_fault() {
    let mut tried = 0;
    for (grid, parts) in [([2, 1], 1), ([7, 1], 1), ([1, 3], 1), ([3, 2], 1), ([2, 1], 3), ([3, 2], 2)] {
        for variant in Variant::ALL {
            let whole = in_parts(42, grid, variant, parts).then_replaced();
            for rank in 0..whole.ranks.len() {
                for stream in [COMPUTE, COPY] {
                    for at in 0..whole.ranks[rank].streams[stream].len() {
                        let mut plan = whole.clone();
                        if let Command::Wait(_) = plan.ranks[rank].streams[stream].remove(at) {
                            tried += 1;
                            let found = order(&plan, None);
                            let named = matches!(found, Err(Fault::ReadEarly { .. } | Fault::Overwritten { .. }));
                            assert!(named, "{grid:?} {variant:?} rank {rank} stream {stream} command {at}: {found:?}");
                        }
                    }
                }
            }
        }
    }
    assert!(tried > 100, "{tried}");
}

#[test]
fn a_panel_is_read_before_its_copy_has_landed() {
    let found = fault_of(plan(8, [2, 1], Variant::Copies), 1, COMPUTE, |commands| {
        without(commands, |command| matches!(command, Command::Wait(event) if event.rank == 1));
    });
    let panel = Panel { of: Operand::B, owner: 0, part: 0 };
    assert_eq!(found, Fault::ReadEarly { rank: 1, panel, region: Region::Room(1), on: 1 });
    let said = "rank 1 reads B's panel of rank 0 in room 1 for B of rank 1 before its copy has landed\n\
                hint: wait for the event behind the copy";
    assert_eq!(found.to_string(), said);
}

#[test]
fn a_panel_is_overwritten_while_it_is_sent() {
    let found = fault_of(plan(8, [2, 1], Variant::Copies).then_replaced(), 0, COMPUTE, |commands| {
        without(commands, |command| matches!(command, Command::Wait(event) if event.rank == 1));
    });
    assert_eq!(found, Fault::Overwritten { region: Region::Room(0), on: 0, reader: 1, is_sent: true });
    assert!(found.to_string().starts_with("room 0 for B of rank 0 is overwritten while rank 1 gets what is sent"));
}

#[test]
fn a_room_is_overwritten_while_it_is_multiplied() {
    let found = fault_of(plan(20, [4, 1], Variant::Copies), 2, COPY, |commands| {
        without(commands, |command| matches!(command, Command::Wait(_)));
    });
    assert_eq!(found, Fault::Overwritten { region: Region::Room(1), on: 2, reader: 2, is_sent: false });
}

#[test]
fn a_count_is_wrong() {
    let found = fault_of(plan(8, [3, 1], Variant::Collectives), 1, COPY, |commands| {
        if let Command::Exchange { receives, .. } = &mut commands[0] {
            receives[0].bytes -= 4;
        }
    });
    let Fault::WrongCount { step: 1, from: 2, to: 1, sent, expected } = found else { panic!("{found:?}") };
    assert_eq!(sent, expected + 4);
}

#[test]
fn collectives_come_in_another_order() {
    let found = fault_of(plan(9, [3, 1], Variant::Collectives), 2, COPY, |commands| commands.swap(0, 2));
    assert_eq!(found, Fault::OtherOrder { one: 0, at: 1, other: 2, there: 2 });
    let said = found.to_string();
    assert!(said.starts_with("rank 0 is at the collective of step 1, and rank 2 at that of step 2\nhint: "), "{said}");
}

#[test]
fn a_rank_does_not_come_to_a_collective() {
    let found = fault_of(plan(8, [2, 1], Variant::Gather), 1, COPY, Vec::clear);
    assert_eq!(found, Fault::Absent { rank: 0, step: 2, absent: 1 });
}

#[test]
fn nobody_records_what_a_rank_waits_for() {
    let event = Event { rank: 0, number: 99 };
    let found =
        fault_of(plan(8, [2, 1], Variant::Copies), 1, COPY, |commands| commands.insert(0, Command::Wait(event)));
    assert_eq!(found, Fault::Stuck { rank: 1, event });
}

/// Wherever it stops, all others end, and say which one it was.
#[test]
fn a_rank_is_lost() {
    for grid in [[1, 1], [2, 1], [4, 1], [2, 2]] {
        for variant in Variant::ALL {
            let plan = plan(12, grid, variant);
            for rank in 0..plan.ranks.len() {
                for after in 0..=plan.ranks[rank].streams.iter().map(Vec::len).sum() {
                    let found = order(&plan, Some(Lost { rank, after })).unwrap_err();
                    assert!(matches!(found, Fault::Lost { rank: lost, .. } if lost == rank), "{found:?}");
                }
            }
        }
    }
    let said = order(&plan(8, [2, 1], Variant::Gather), Some(Lost { rank: 1, after: 0 })).unwrap_err().to_string();
    assert!(said.starts_with("rank 1 is lost: rank 0 waits for it in the collective of step 2\nhint: "), "{said}");
}

/// Who has been in a collective knows what others did before it: a rank may then overwrite what they copied.
#[test]
fn a_collective_tells_what_came_before_it() {
    let met = Event { rank: 0, number: 9 };
    let with = |meeting: Command| {
        let mut plan = plan(8, [2, 1], Variant::Copies).then_replaced();
        without(
            &mut plan.ranks[0].streams[COMPUTE],
            |command| matches!(command, Command::Wait(event) if event.rank == 1),
        );
        let replaced = plan.ranks[0].streams[COMPUTE].len() - 2;
        plan.ranks[0].streams[COMPUTE].insert(replaced, Command::Wait(met));
        plan.ranks.iter_mut().for_each(|rank| rank.streams[COPY].push(meeting.clone()));
        plan.ranks[0].streams[COPY].push(Command::Record(met));
        order(&plan, None)
    };
    let meeting = |group| Command::Exchange { step: 9, group, sends: Vec::new(), receives: Vec::new() };
    assert!(with(meeting(vec![0, 1])).is_ok());
    let alone = with(Command::Record(Event { rank: 0, number: 8 }));
    assert_eq!(alone, Err(Fault::Overwritten { region: Region::Room(0), on: 0, reader: 1, is_sent: true }));
}
