//! What each rank does: commands on two streams, with events between them, as plain data.

use std::fmt;
use std::ops::Range;

use gemm::Error;

use crate::layout::{Layout, Operand, Panel};

/// The most ranks that are planned, each with all its commands.
pub const MOST: usize = 64;

/// How panels get to the ranks that need them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Variant {
    /// One collective brings all panels; then all products.
    Gather,
    /// A collective for each step brings the panel of the next product, while the one before is multiplied.
    Collectives,
    /// Each rank copies the panel of its next product from the rank that holds it, by a copy engine, in the same way.
    Copies,
}

impl Variant {
    /// All, in the order in which they are explained.
    pub const ALL: [Variant; 3] = [Variant::Gather, Variant::Collectives, Variant::Copies];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Variant::Gather => "gather",
            Variant::Collectives => "collectives",
            Variant::Copies => "copies",
        }
    }
}

/// Memory of a rank that holds one panel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Region {
    /// A part of the rows of A that the rank multiplies, by its place among them. The rank's own panels lie there from the start.
    Rows(usize),
    /// Room for a panel of B: the first ones have the rank's own from the start.
    Room(usize),
}

impl Region {
    /// Where a panel lies on the rank that holds it.
    pub fn home(layout: &Layout, panel: Panel) -> Region {
        match panel.of {
            Operand::A => Region::Rows(layout.place(panel.owner)[1] * layout.parts(Operand::A) + panel.part),
            Operand::B => Region::Room(panel.part),
        }
    }
}

impl fmt::Display for Region {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Region::Rows(part) => write!(f, "part {part} of A"),
            Region::Room(room) => write!(f, "room {room} for B"),
        }
    }
}

/// One side of a transfer: the rank on the other side, the panel, and where it lies here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parcel {
    /// The rank that gives or takes it.
    pub peer: usize,
    /// What travels.
    pub panel: Panel,
    /// Where it lies on this rank.
    pub region: Region,
    /// How much it is.
    pub bytes: u64,
}

/// Something that a stream records and others wait for: the rank that records it, and its number there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Event {
    /// The rank whose stream records it.
    pub rank: usize,
    /// Its number there.
    pub number: usize,
}

/// What a stream is told to do. A stream does one thing after the other; streams go side by side.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// Copies a panel from where it lies on its owner, which takes no part in it.
    Copy {
        /// Of the whole product's steps, from 1 on.
        step: usize,
        /// What is copied, and to where.
        get: Parcel,
        /// Where it lies on its owner.
        from: Region,
    },
    /// Sends and receives at once, as all of a group do: none goes on before all have come to it.
    Exchange {
        /// Of the whole product's steps, from 1 on.
        step: usize,
        /// The ranks that take part, this one too.
        group: Vec<usize>,
        /// What this rank gives.
        sends: Vec<Parcel>,
        /// What it gets.
        receives: Vec<Parcel>,
    },
    /// Multiplies parts of A with a panel of B: a finished part of C.
    Multiply {
        /// The parts, which lie one behind the other.
        rows: Range<usize>,
        /// The panels that are to lie there.
        a: Vec<Panel>,
        /// Where the panel of B lies.
        room: usize,
        /// The panel that is to lie there.
        b: Panel,
    },
    /// Puts the next product's panel in the place of this one's, as a program does between two products.
    Replace {
        /// Where.
        region: Region,
    },
    /// Marks that the stream has come so far.
    Record(Event),
    /// Waits until that is so.
    Wait(Event),
}

/// Which of a rank's two streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Stream {
    /// Products.
    Compute = 0,
    /// Copies and collectives.
    Copy = 1,
}

/// What one rank does.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Rank {
    /// By [`Stream`].
    pub streams: [Vec<Command>; 2],
    /// How many panels of B it has room for, its own with them.
    pub rooms: usize,
}

/// A product over ranks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// Who holds what.
    pub layout: Layout,
    /// How panels travel.
    pub variant: Variant,
    /// What each rank does.
    pub ranks: Vec<Rank>,
}

impl Plan {
    /// All ranks' commands. `rooms` is how many panels of other ranks a rank has room for, 1 at least: with 2, one is multiplied while
    /// the next one arrives. [`Variant::Gather`] takes room for all. Collectives take a rank's panel whole, also where the layout has it in
    /// parts.
    ///
    /// # Errors
    /// [`Error::Usage`], where there are more than [`MOST`] ranks.
    pub fn new(layout: Layout, variant: Variant, rooms: usize) -> Result<Plan, Error> {
        if layout.ranks() > MOST {
            let message = format!("{} ranks are to be planned, and {MOST} are the most", layout.ranks());
            return Err(Error::usage(message, "one rank's commands and times are there for more: `Rank::new`"));
        }
        let layout = if variant == Variant::Copies { layout } else { layout.in_parts(1) };
        let ranks = (0..layout.ranks()).map(|rank| Rank::new(&layout, variant, rooms, rank)).collect();
        Ok(Plan { layout, variant, ranks })
    }

    /// The same, with another product behind it: when all that a rank has to do is done, it replaces its own panels.
    pub fn then_replaced(mut self) -> Plan {
        let layout = self.layout;
        for (owner, rank) in self.ranks.iter_mut().enumerate() {
            let own = [Operand::A, Operand::B].into_iter().flat_map(|of| layout.held(of, owner));
            let commands = own.map(|panel| Command::Replace { region: Region::home(&layout, panel) });
            rank.streams[Stream::Compute as usize].extend(commands);
        }
        self
    }
}

impl Rank {
    /// One rank's commands: as all ranks do the same, this is enough for its times and its bytes.
    pub fn new(layout: &Layout, variant: Variant, rooms: usize, rank: usize) -> Rank {
        let own = layout.parts(Operand::B);
        let others = (layout.grid()[0] - 1) * own;
        let rooms = if variant == Variant::Gather { others } else { rooms.clamp(1, others.max(1)).min(others) };
        let mut writer = Writer { layout, rank, rooms, events: 0, streams: Default::default() };
        match variant {
            Variant::Gather => writer.gather(),
            Variant::Collectives | Variant::Copies => writer.overlapped(variant),
        }
        Rank { streams: writer.streams, rooms: rooms + own }
    }
}

/// The event that says a rank's step has arrived. Each rank numbers them by steps, so that others can name them.
fn arrived(rank: usize, step: usize) -> Event {
    Event { rank, number: step }
}

/// Writes one rank's commands.
struct Writer<'a> {
    layout: &'a Layout,
    rank: usize,
    /// Of others' panels.
    rooms: usize,
    /// Events beyond those of arrivals.
    events: usize,
    streams: [Vec<Command>; 2],
}

impl Writer<'_> {
    fn on(&mut self, stream: Stream, command: Command) {
        self.streams[stream as usize].push(command);
    }

    /// A rank's group for an operand, and its place there.
    fn group(&self, of: Operand, rank: usize) -> (Vec<usize>, usize) {
        let group = self.layout.group(of, rank);
        let place = group.iter().position(|&member| member == rank).unwrap_or_default();
        (group, place)
    }

    fn parcel(&self, peer: usize, panel: Panel, region: Region) -> Parcel {
        Parcel { peer, panel, region, bytes: self.layout.bytes(panel) }
    }

    /// What travels in a step: a part, `shift` places along the group of an operand, from there to here, and from here as far the other
    /// way.
    fn shifted(&self, of: Operand, shift: usize, part: usize) -> [Parcel; 2] {
        let (group, place) = self.group(of, self.rank);
        let from = group[(place + shift) % group.len()];
        let to = group[(place + group.len() - shift) % group.len()];
        let parts = self.layout.parts(of);
        let region = match of {
            Operand::A => Region::Rows((place + shift) % group.len() * parts + part),
            Operand::B => Region::Room(parts + ((shift - 1) * parts + part) % self.rooms),
        };
        let own = Panel { of, owner: self.rank, part };
        let sent = self.parcel(to, own, Region::home(self.layout, own));
        [sent, self.parcel(from, Panel { of, owner: from, part }, region)]
    }

    /// A product of some parts of A with a panel of B, unless one of them is empty.
    fn multiply(&mut self, rows: Range<usize>, room: usize, b: Panel) {
        let (group, _) = self.group(Operand::A, self.rank);
        let all: Vec<Panel> = group.into_iter().flat_map(|owner| self.layout.held(Operand::A, owner)).collect();
        let a = all[rows.clone()].to_vec();
        if a.iter().any(|&panel| self.layout.bytes(panel) > 0) && self.layout.bytes(b) > 0 {
            self.on(Stream::Compute, Command::Multiply { rows, a, room, b });
        }
    }

    /// All panels first. The collective of A, along the row, is step 1 for all; that of B, along the column, step 2.
    fn gather(&mut self) {
        for (step, of) in [(1, Operand::A), (2, Operand::B)] {
            let (group, _) = self.group(of, self.rank);
            if group.len() > 1 {
                let (sends, receives) =
                    (1..group.len()).map(|shift| self.shifted(of, shift, 0)).map(|[s, r]| (s, r)).unzip();
                self.on(Stream::Copy, Command::Exchange { step, group, sends, receives });
            }
        }
        if self.layout.ranks() > 1 {
            self.on(Stream::Copy, Command::Record(arrived(self.rank, 1)));
            self.on(Stream::Compute, Command::Wait(arrived(self.rank, 1)));
        }
        let parts = self.layout.grid()[1];
        let (group, place) = self.group(Operand::B, self.rank);
        for shift in 0..group.len() {
            let owner = group[(place + shift) % group.len()];
            self.multiply(0..parts, shift, Panel { of: Operand::B, owner, part: 0 });
        }
    }

    /// The rank's own panels are multiplied at once. Each panel that arrives is multiplied with all that it is to be: one of A with the
    /// rank's own panels of B, then, as all of A's rows are there, one of B with all of them.
    fn overlapped(&mut self, variant: Variant) {
        let (along_a, place) = self.group(Operand::A, self.rank);
        let (along_b, _) = self.group(Operand::B, self.rank);
        let [parts_a, parts_b] = [Operand::A, Operand::B].map(|of| self.layout.parts(of));
        let steps = (along_a.len() - 1) * parts_a + (along_b.len() - 1) * parts_b;
        self.with_own(place * parts_a..(place + 1) * parts_a);
        let of_a = (1..along_a.len()).flat_map(|shift| (0..parts_a).map(move |part| (Operand::A, shift, part)));
        let of_b = (1..along_b.len()).flat_map(|shift| (0..parts_b).map(move |part| (Operand::B, shift, part)));
        // By room: the event behind the last product that reads it.
        let mut read = vec![None; self.rooms + parts_b];
        for (step, (of, shift, part)) in (1..).zip(of_a.chain(of_b)) {
            let [sent, got] = self.shifted(of, shift, part);
            if let Region::Room(room) = got.region
                && let Some(event) = read[room]
            {
                self.on(Stream::Copy, Command::Wait(event));
            }
            self.transfer(variant, step, [sent, got]);
            self.on(Stream::Copy, Command::Record(arrived(self.rank, step)));
            // Until the panel is there.
            self.on(Stream::Compute, Command::Wait(arrived(self.rank, step)));
            match got.region {
                Region::Rows(place) => self.with_own(place..place + 1),
                Region::Room(room) => {
                    self.multiply(0..along_a.len() * parts_a, room, got.panel);
                    let number = (shift - 1) * parts_b + part;
                    read[room] = self.read_again(number, (along_b.len() - 1) * parts_b, steps);
                }
            }
        }
        self.released(variant, &along_a, &along_b);
    }

    /// Some of A's rows with the rank's own panels of B.
    fn with_own(&mut self, rows: Range<usize>) {
        for own in self.layout.held(Operand::B, self.rank) {
            self.multiply(rows.clone(), own.part, own);
        }
    }

    /// Marks that the room of a panel of B has been read, where another one is to come there.
    fn read_again(&mut self, number: usize, panels: usize, steps: usize) -> Option<Event> {
        (number + self.rooms < panels).then(|| {
            self.events += 1;
            let event = Event { rank: self.rank, number: steps + self.events };
            self.on(Stream::Compute, Command::Record(event));
            event
        })
    }

    fn transfer(&mut self, variant: Variant, step: usize, [sent, got]: [Parcel; 2]) {
        let command = match variant {
            Variant::Copies if got.bytes == 0 => return,
            Variant::Copies => Command::Copy { step, get: got, from: Region::home(self.layout, got.panel) },
            _ => {
                let group = self.layout.group(got.panel.of, self.rank);
                Command::Exchange { step, group, sends: vec![sent], receives: vec![got] }
            }
        };
        self.on(Stream::Copy, command);
    }

    /// Waits until others have copied this rank's panels: only then may it write there. Of a collective it knows that from its own part.
    fn released(&mut self, variant: Variant, along_a: &[usize], along_b: &[usize]) {
        if variant != Variant::Copies {
            return;
        }
        let [parts_a, parts_b] = [Operand::A, Operand::B].map(|of| self.layout.parts(of));
        for (of, group, before, parts) in
            [(Operand::A, along_a, 0, parts_a), (Operand::B, along_b, (along_a.len() - 1) * parts_a, parts_b)]
        {
            let place = self.group(of, self.rank).1;
            for shift in 1..group.len() {
                let taker = group[(place + group.len() - shift) % group.len()];
                // It takes one part after the other: this is the last.
                self.on(Stream::Compute, Command::Wait(arrived(taker, before + shift * parts)));
            }
        }
    }
}
