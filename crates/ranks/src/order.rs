//! Follows a plan, and says in which order its commands can happen; or what is wrong with it.
//!
//! Every stream has a clock of all streams, as in a search for data races: what an event has recorded is known to who has waited for it,
//! and nothing else is. So a missing wait is found whichever stream happens to be the faster.

use std::collections::HashMap;

use crate::fault::Fault;
use crate::layout::{Operand, Panel};
use crate::plan::{Command, Event, Parcel, Plan, Region};

/// A command that has happened: of which rank, on which of its streams, and which one there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Happened {
    /// The rank.
    pub rank: usize,
    /// The stream, as a number of [`crate::plan::Stream`].
    pub stream: usize,
    /// The command's place there.
    pub command: usize,
}

/// A rank that stops after so many of its commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lost {
    /// Which.
    pub rank: usize,
    /// After how many.
    pub after: usize,
}

/// The order of all commands: the same for the same plan.
///
/// # Errors
/// [`Fault`], where the plan can go wrong on some machine, or a rank is lost.
pub fn order(plan: &Plan, lost: Option<Lost>) -> Result<Vec<Happened>, Fault> {
    let mut follower = Follower::new(plan, lost);
    while follower.advance()? {}
    if follower.is_finished() { Ok(follower.happened) } else { Err(follower.stalled()) }
}

/// For each stream of all, how many of its commands are known to have happened.
type Clock = Vec<u32>;

/// What has happened to a region.
#[derive(Debug, Default)]
struct Memory {
    panel: Option<Panel>,
    /// By which stream, and when there.
    written: Option<(usize, u32)>,
    reads: Vec<Read>,
}

#[derive(Debug)]
struct Read {
    by: (usize, u32),
    panel: Panel,
    is_sent: bool,
}

struct Follower<'a> {
    plan: &'a Plan,
    lost: Option<Lost>,
    /// Commands that have happened, by stream of all.
    at: Vec<usize>,
    clocks: Vec<Clock>,
    events: HashMap<Event, Clock>,
    memory: HashMap<(usize, Region), Memory>,
    happened: Vec<Happened>,
}

impl<'a> Follower<'a> {
    fn new(plan: &'a Plan, lost: Option<Lost>) -> Follower<'a> {
        let streams = 2 * plan.ranks.len();
        let mut memory = HashMap::new();
        for owner in 0..plan.ranks.len() {
            for panel in [Operand::A, Operand::B].into_iter().flat_map(|of| plan.layout.held(of, owner)) {
                let held = Memory { panel: Some(panel), ..Memory::default() };
                memory.insert((owner, Region::home(&plan.layout, panel)), held);
            }
        }
        Follower {
            plan,
            lost,
            at: vec![0; streams],
            clocks: vec![vec![0; streams]; streams],
            events: HashMap::new(),
            memory,
            happened: Vec::new(),
        }
    }

    /// The next command of a stream of all.
    fn next(&self, stream: usize) -> Option<&'a Command> {
        self.plan.ranks[stream / 2].streams[stream % 2].get(self.at[stream])
    }

    fn is_finished(&self) -> bool {
        self.lost.is_none() && (0..self.at.len()).all(|stream| self.next(stream).is_none())
    }

    fn is_lost(&self, rank: usize) -> bool {
        self.lost.is_some_and(|lost| lost.rank == rank && self.at[2 * rank] + self.at[2 * rank + 1] >= lost.after)
    }

    /// Lets every stream go as far as it can; whether any went on.
    fn advance(&mut self) -> Result<bool, Fault> {
        let before = self.happened.len();
        for stream in 0..self.at.len() {
            while self.step(stream)? {}
        }
        Ok(self.happened.len() > before)
    }

    /// The next command of a stream, if it can happen.
    fn step(&mut self, stream: usize) -> Result<bool, Fault> {
        let rank = stream / 2;
        let Some(command) = self.next(stream).filter(|_| !self.is_lost(rank)) else { return Ok(false) };
        match command {
            Command::Wait(event) => {
                let Some(known) = self.events.get(event) else { return Ok(false) };
                join(&mut self.clocks[stream], known);
                self.tick(stream);
            }
            Command::Record(event) => {
                self.tick(stream);
                self.events.insert(*event, self.clocks[stream].clone());
            }
            Command::Copy { get, from, step } => {
                if self.is_lost(get.peer) {
                    let waiting = format!("rank {rank} copies from it in step {step}");
                    return Err(Fault::Lost { rank: get.peer, waiting });
                }
                self.tick(stream);
                self.read(stream, (get.peer, *from), get.panel, true)?;
                self.write(stream, (rank, get.region), Some(get.panel))?;
            }
            Command::Exchange { step, group, .. } => return self.exchange(*step, group),
            Command::Multiply { rows, a, room, b } => {
                self.tick(stream);
                for (part, &panel) in rows.clone().zip(a) {
                    self.read(stream, (rank, Region::Rows(part)), panel, false)?;
                }
                self.read(stream, (rank, Region::Room(*room)), *b, false)?;
            }
            Command::Replace { region } => {
                self.tick(stream);
                self.write(stream, (rank, *region), None)?;
            }
        }
        Ok(true)
    }

    /// The next command of a stream happens.
    fn tick(&mut self, stream: usize) {
        self.clocks[stream][stream] += 1;
        self.happened.push(Happened { rank: stream / 2, stream: stream % 2, command: self.at[stream] });
        self.at[stream] += 1;
    }

    /// A collective, if all of its group have come to it.
    fn exchange(&mut self, step: usize, group: &[usize]) -> Result<bool, Fault> {
        let mut parts: Vec<(usize, &'a [Parcel], &'a [Parcel])> = Vec::new();
        for &member in group {
            match self.next(2 * member + 1).filter(|_| !self.is_lost(member)) {
                Some(Command::Exchange { step: at, group: among, sends, receives })
                    if *at == step && among == group =>
                {
                    parts.push((member, sends, receives));
                }
                _ => return Ok(false),
            }
        }
        let mut known = vec![0; self.at.len()];
        for (member, sends, _) in &parts {
            join(&mut known, &self.clocks[2 * member + 1]);
            for sent in *sends {
                let receiver = parts.iter().find(|(other, ..)| *other == sent.peer);
                let got = receiver.and_then(|(.., receives)| receives.iter().find(|got| got.peer == *member));
                let expected = got.map_or(0, |got| got.bytes);
                if expected != sent.bytes {
                    let (from, to, sent) = (*member, sent.peer, sent.bytes);
                    return Err(Fault::WrongCount { step, from, to, sent, expected });
                }
            }
        }
        for (member, ..) in &parts {
            join(&mut self.clocks[2 * member + 1], &known);
            self.tick(2 * member + 1);
        }
        for (member, sends, receives) in parts {
            for sent in sends {
                self.read(2 * member + 1, (member, sent.region), sent.panel, true)?;
            }
            for got in receives {
                self.write(2 * member + 1, (member, got.region), Some(got.panel))?;
            }
        }
        Ok(true)
    }

    /// A panel is read where it is to lie. An empty one lies nowhere.
    fn read(&mut self, by: usize, place: (usize, Region), panel: Panel, is_sent: bool) -> Result<(), Fault> {
        if self.plan.layout.bytes(panel) == 0 {
            return Ok(());
        }
        let clock = &self.clocks[by];
        let memory = self.memory.entry(place).or_default();
        let is_known = memory.written.is_none_or(|(stream, time)| clock[stream] >= time);
        let (rank, (on, region)) = (by / 2, place);
        match (memory.panel == Some(panel), is_known) {
            (true, true) => {
                memory.reads.push(Read { by: (by, clock[by]), panel, is_sent });
                Ok(())
            }
            (false, false) => Err(Fault::Overwritten { region, on, reader: rank, is_sent }),
            _ => Err(Fault::ReadEarly { rank, panel, region, on }),
        }
    }

    /// Another panel comes to a region.
    fn write(&mut self, by: usize, place: (usize, Region), panel: Option<Panel>) -> Result<(), Fault> {
        if panel.is_some_and(|panel| self.plan.layout.bytes(panel) == 0) {
            return Ok(());
        }
        let clock = &self.clocks[by];
        let memory = self.memory.entry(place).or_default();
        let (on, region) = place;
        for read in &memory.reads {
            let (stream, time) = read.by;
            let reader = stream / 2;
            match clock[stream] >= time {
                true => (),
                false if panel == Some(read.panel) => {
                    return Err(Fault::ReadEarly { rank: reader, panel: read.panel, region, on });
                }
                false => return Err(Fault::Overwritten { region, on, reader, is_sent: read.is_sent }),
            }
        }
        *memory = Memory { panel, written: Some((by, clock[by])), reads: Vec::new() };
        Ok(())
    }

    /// Why nothing goes on.
    fn stalled(&self) -> Fault {
        let waiting = (0..self.at.len()).filter_map(|stream| Some((stream / 2, self.next(stream)?)));
        let waiting: Vec<(usize, &Command)> = waiting.filter(|(rank, _)| !self.is_lost(*rank)).collect();
        if let Some(lost) = self.lost {
            let for_it = waiting.iter().find_map(|(rank, command)| match command {
                Command::Wait(event) if event.rank == lost.rank => {
                    Some(format!("rank {rank} waits for its event {}", event.number))
                }
                Command::Exchange { step, group, .. } if group.contains(&lost.rank) => {
                    Some(format!("rank {rank} waits for it in the collective of step {step}"))
                }
                _ => None,
            });
            let waiting = for_it.unwrap_or_else(|| "no other rank has its part of C".to_string());
            return Fault::Lost { rank: lost.rank, waiting };
        }
        let crossed = waiting.iter().find_map(|(rank, command)| self.crossed(*rank, command));
        crossed.or_else(|| waiting.iter().find_map(|(rank, command)| self.unmet(*rank, command))).unwrap_or(
            // Who waits, waits for an event or in a collective.
            Fault::Rank { rank: 0, why: "nothing goes on".to_string() },
        )
    }

    /// A rank in a collective, and one of its group in another one.
    fn crossed(&self, one: usize, command: &Command) -> Option<Fault> {
        let Command::Exchange { step: at, group, .. } = command else { return None };
        group.iter().find_map(|&other| match self.next(2 * other + 1) {
            Some(Command::Exchange { step: there, group: among, .. })
                if among.contains(&one) && (there, among) != (at, group) =>
            {
                Some(Fault::OtherOrder { one, at: *at, other, there: *there })
            }
            _ => None,
        })
    }

    /// What a rank waits for, and nobody brings.
    fn unmet(&self, rank: usize, command: &Command) -> Option<Fault> {
        match command {
            Command::Wait(event) => {
                let streams = self.plan.ranks.get(event.rank).map(|rank| &rank.streams);
                let comes = streams.is_some_and(|all| all.iter().flatten().any(|c| *c == Command::Record(*event)));
                (!comes).then_some(Fault::Stuck { rank, event: *event })
            }
            Command::Exchange { step, group, .. } => {
                let absent = group.iter().find(|&&member| self.next(2 * member + 1).is_none());
                absent.map(|&absent| Fault::Absent { rank, step: *step, absent })
            }
            _ => None,
        }
    }
}

/// What one clock knows, and another.
fn join(clock: &mut Clock, other: &Clock) {
    clock.iter_mut().zip(other).for_each(|(mine, theirs)| *mine = (*mine).max(*theirs));
}
