//! What is wrong with barriers in shared memory, put into words.

use super::words::{fault, place as line};
use crate::machine::lanes::LANES;
use crate::machine::state::mbarriers::Event;
use crate::machine::state::probe::Stuck;
use crate::machine::state::warp::{State, Warp};
use crate::machine::state::worker::Worker;
use crate::program::{Access, BLOCK_WINDOW, Extension, Mbarrier, Op};
use crate::{Cause, Fault, FaultKind, Site};

const AHEAD: &str = "behind `mbarrier.init` comes `fence.mbarrier_init.release.cluster`, then a cluster barrier: only behind that may other blocks use it";

impl Worker<'_> {
    /// `full (shared memory) at offset 8`.
    pub(crate) fn in_shared_words(&self, place: u32) -> String {
        let (name, offset) = self.shared_name(place);
        format!("{name} (shared memory{}) at offset {offset}", self.of_whom())
    }

    pub(crate) fn event_site(&self, event: Event) -> Site {
        self.context.site(event.block, event.thread, event.at)
    }

    fn event_before(fault: &mut Box<Fault>, what: &str, site: Site) {
        fault.other = Some((what.to_string(), site));
    }

    /// A barrier in shared memory is used in a way that it must not.
    pub(crate) fn convict_object(
        &self,
        warp: &Warp,
        access: &Access,
        lane: usize,
        place: u32,
        what: &str,
        hint: &str,
    ) -> Box<Fault> {
        let site = self.site_of(warp, lane as u32, access.at);
        let message = format!("the mbarrier {} is used {what}", self.in_shared_words(place));
        fault(FaultKind::Barrier, message, site, hint)
    }

    #[inline(never)]
    pub(crate) fn convict_no_object(&self, warp: &Warp, access: &Access, lane: usize, place: u32) -> Box<Fault> {
        let site = self.site_of(warp, lane as u32, access.at);
        let name = self.in_shared_words(place);
        if let Some(&end) = self.state.mbarriers.dead.get(&place) {
            let message = format!("use by `{}` of {name}, whose mbarrier was invalidated", site.opcode);
            let hint = "`mbarrier.inval` comes last: behind a barrier that all have passed who use it";
            let mut fault = fault(FaultKind::Barrier, message, site, hint);
            Self::event_before(&mut fault, "it was invalidated here:", self.event_site(end));
            return fault;
        }
        let message = format!("use by `{}` of {name}, where no mbarrier was initialised", site.opcode);
        let hint = match self.state.owner == self.state.block {
            true => "one thread calls `mbarrier.init` for it, and a `__syncthreads()` follows before the others use it",
            false => AHEAD,
        };
        fault(FaultKind::Barrier, message, site, hint)
    }

    #[inline(never)]
    pub(crate) fn convict_second_init(
        &self,
        warp: &Warp,
        access: &Access,
        lane: usize,
        place: u32,
        before: Event,
    ) -> Box<Fault> {
        let site = self.site_of(warp, lane as u32, access.at);
        let message = format!("the mbarrier {} is initialised again while it is one", self.in_shared_words(place));
        let hint = "one thread initialises it, once; `mbarrier.inval` comes before its memory has another use";
        let mut fault = fault(FaultKind::Barrier, message, site, hint);
        Self::event_before(&mut fault, "it was initialised here:", self.event_site(before));
        fault
    }

    #[inline(never)]
    pub(crate) fn convict_unknown_object(
        &self,
        warp: &Warp,
        access: &Access,
        lane: u32,
        place: u32,
        init: Event,
    ) -> Box<Fault> {
        let (site, other) = (self.site_of(warp, lane, access.at), self.event_site(init));
        let far = init.block != self.state.block;
        let who = |site: &Site, block: u64| match far {
            true => self.of_rank(site, block),
            false => format!("thread {}", site.thread),
        };
        let message = format!(
            "the mbarrier {} is initialised by {} at {}, and used by {} at {}, with no {}barrier between",
            self.in_shared_words(place),
            who(&other, init.block),
            line(&other),
            who(&site, self.state.block),
            line(&site),
            if far { "fence for it and cluster " } else { "" }
        );
        let hint = match far {
            true => AHEAD,
            false => "behind `mbarrier.init` comes a `__syncthreads()`, or the others may use what is none yet",
        };
        let mut fault = fault(FaultKind::Barrier, message, site, hint);
        Self::event_before(&mut fault, "it is initialised here:", other);
        fault
    }

    #[inline(never)]
    pub(crate) fn convict_end_of_object(
        &self,
        warp: &Warp,
        access: &Access,
        lane: u32,
        place: u32,
        user: Event,
    ) -> Box<Fault> {
        let (site, other) = (self.site_of(warp, lane, access.at), self.event_site(user));
        let message = format!(
            "the mbarrier {} is used by thread {} at {}, and invalidated by thread {} at {}, with no barrier between",
            self.in_shared_words(place),
            other.thread,
            line(&other),
            site.thread,
            line(&site)
        );
        let hint = "a `__syncthreads()` before `mbarrier.inval`: all have to be done with it";
        let mut fault = fault(FaultKind::Barrier, message, site, hint);
        Self::event_before(&mut fault, "it is used here:", other);
        fault
    }

    /// A plain access to the bytes of a barrier.
    #[inline(never)]
    pub(crate) fn convict_plain_use(
        &self,
        warp: &Warp,
        access: &Access,
        lane: u32,
        place: u32,
        verb: &str,
    ) -> Box<Fault> {
        let site = self.site_of(warp, lane, access.at);
        let message = format!("{verb} of the mbarrier {}, whose bytes mean nothing", self.in_shared_words(place));
        let hint = "only `mbarrier` instructions use it until `mbarrier.inval`: does an index run into it?";
        let mut fault = fault(FaultKind::Barrier, message, site, hint);
        if let Some(object) = self.state.mbarriers.live.get(&place) {
            Self::event_before(&mut fault, "it was initialised here:", self.event_site(object.init));
        }
        fault
    }

    #[inline(never)]
    pub(crate) fn convict_arrivals(
        &self,
        warp: &Warp,
        access: &Access,
        lane: usize,
        place: u32,
        count: u64,
    ) -> Box<Fault> {
        let site = self.site_of(warp, lane as u32, access.at);
        let name = self.in_shared_words(place);
        let Some(object) = self.state.mbarriers.live.get(&place) else {
            return self.convict_no_object(warp, access, lane, place);
        };
        let message = format!(
            "{count} arrivals at the mbarrier {name}, where {} of {} are missing in phase {}",
            object.pending, object.count, object.phase
        );
        let hint = match (object.pending, count) {
            // Who tells alone has told before, and nobody has waited for that phase.
            (0, 1) => "who arrives for the next phase waits until this one is over: for the place to be free, with a parity that flips whenever the stages come round".to_string(),
            _ => format!(
                "the count of `mbarrier.init` is {}: does it fit who arrives in a phase, all threads, or one of each warp?",
                object.count
            ),
        };
        let mut fault = fault(FaultKind::Barrier, message, site, hint).because(Cause::Overlap);
        if let Some(last) = object.last {
            Self::event_before(&mut fault, "the arrival before it:", self.event_site(last));
        }
        fault
    }

    /// All have arrived, and more bytes have come than were expected.
    #[inline(never)]
    pub(crate) fn convict_unexpected(&self, warp: &Warp, access: &Access, lane: usize, place: u32) -> Box<Fault> {
        let site = self.site_of(warp, lane as u32, access.at);
        let Some(object) = self.state.mbarriers.live.get(&place) else {
            return self.convict_no_object(warp, access, lane, place);
        };
        let message = format!(
            "the mbarrier {} expects {} bytes in phase {}, and {} come",
            self.in_shared_words(place),
            object.expected,
            object.phase,
            object.expected - object.bytes
        );
        let hint = match object.expected {
            0 => {
                "`expect_tx` with the bytes of all copies of a phase comes before the last arrival, as `mbarrier.arrive.expect_tx` does: is there one for this phase?"
            }
            _ => {
                "is what `expect_tx` names the bytes of all copies of a phase, and does it come before the last arrival?"
            }
        };
        let mut fault = fault(FaultKind::Barrier, message, site, hint);
        if let Some(expectation) = object.expectation.filter(|then| then.at != access.at) {
            Self::event_before(&mut fault, "bytes are expected here:", self.event_site(expectation));
        }
        fault
    }

    /// A state of another barrier, or of a phase that was over long ago.
    #[inline(never)]
    pub(crate) fn convict_token(
        &self,
        warp: &Warp,
        access: &Access,
        lane: usize,
        place: u32,
        (age, token): (u32, u64),
    ) -> Box<Fault> {
        let site = self.site_of(warp, lane as u32, access.at);
        let phase = self.state.mbarriers.live.get(&place).map_or(0, |object| object.phase);
        let message = match token >> 20 & 0xf_ffff == u64::from(place / 8) {
            true => format!(
                "wait for phase {} of the mbarrier {}, which is in phase {phase}",
                phase.wrapping_sub(age),
                self.in_shared_words(place)
            ),
            false => format!("wait at the mbarrier {} with a state that is not its own", self.in_shared_words(place)),
        };
        let hint =
            "a state is that of the phase that is not complete, or of the one before: it comes from the last arrival";
        fault(FaultKind::Barrier, message, site, hint)
    }

    /// What a warp that repeats itself waits for: the place of a barrier, and whether by a parity.
    fn awaited(&self, stuck: &Stuck) -> Option<(u32, u32, u32)> {
        let (at, lane, address) = stuck.loads.example?;
        let Op::Extended(index) = self.context.program.code[at as usize].op else { return None };
        match self.context.program.extended[index as usize].what {
            Extension::Mbarrier(Mbarrier::Wait { .. }) => Some((at, lane, (address % BLOCK_WINDOW) as u32)),
            _ => None,
        }
    }

    /// What the others wait for that repeat themselves, each with all warps that wait for the same.
    fn waits_beside(&self, stuck: &Stuck) -> Vec<Wait> {
        let mut waits: Vec<Wait> = Vec::new();
        for other in self.probing.stuck.iter().filter(|other| other.warp != stuck.warp) {
            let Some((at, lane, place)) = self.awaited(other) else { continue };
            let site = self.site_of(&self.state.warps[other.warp as usize], lane, at);
            let phase = self.state.mbarriers.live.get(&place).map_or(0, |object| object.phase);
            let what = (place, phase, line(&site));
            match waits.iter_mut().find(|wait| wait.what == what) {
                Some(wait) => wait.warps.push(other.warp),
                None => waits.push(Wait { what, warps: vec![other.warp], site }),
            }
        }
        waits
    }

    /// Whether copies arrive at mbarriers, and none of them as one of those that are counted.
    fn adds_to_its_count(&self) -> bool {
        let opcodes = || self.context.program.info.iter().map(|info| &*info.opcode);
        let mut arrivals = opcodes().filter(|opcode| opcode.starts_with("cp.async.mbarrier.arrive")).peekable();
        arrivals.peek().is_some() && arrivals.all(|opcode| !opcode.contains("noinc"))
    }

    /// Of an mbarrier at which more threads arrive than its count: a phase ends before all of them have said what they say by it.
    pub(super) fn more_arrivals_in_words(&self) -> Option<String> {
        let is_arrival = |at: u32| {
            let opcode = &self.context.program.info[at as usize].opcode;
            opcode.starts_with("mbarrier.arrive") && !opcode.contains("expect_tx")
        };
        let (place, object, arrivals) = self.state.mbarriers.live.iter().find_map(|(place, object)| {
            let arrivals: Vec<_> = object.users.iter().filter(|(_, user)| is_arrival(user.at)).collect();
            let threads: u32 = arrivals.iter().map(|(lanes, _)| lanes.count_ones()).sum();
            // Who waits for each phase sees one, and the next is over at most: groups that take turns arrive so.
            let seen = object.seen.iter().map(|seen| seen.phase).max()?;
            let runs_ahead = i64::from(object.phase) - 1 > seen + 1;
            (threads > object.count && runs_ahead).then_some((place, object, arrivals))
        })?;
        let threads: u32 = arrivals.iter().map(|(lanes, _)| lanes.count_ones()).sum();
        let some: Vec<String> = arrivals
            .iter()
            .take(2)
            .map(|(lanes, user)| {
                let first = user.thread / LANES as u32 * LANES as u32 + lanes.trailing_zeros();
                let site = self.context.site(user.block, first, user.at);
                format!("thread {} at {}", site.thread, line(&site))
            })
            .collect();
        Some(format!(
            "{threads} threads arrive at {}, {}{}, and the `mbarrier.init` at {} counts {}: a phase is over before all of them have arrived. The count is \
             that of all who arrive in a phase, {threads} if each of them does",
            self.in_shared_words(*place),
            some.join(" and "),
            if arrivals.len() > some.len() { " and others" } else { "" },
            line(&self.event_site(object.init)),
            object.count
        ))
    }

    /// Whether some have arrived where it waits, and others have not: that tells more than a wait for nobody.
    pub(super) fn has_arrivals(&self, stuck: &Stuck) -> bool {
        let object = self.awaited(stuck).and_then(|(_, _, place)| self.state.mbarriers.live.get(&place));
        object.is_some_and(|object| object.pending > 0 && object.pending < object.count)
    }

    /// A warp waits for a phase that nobody can complete.
    #[inline(never)]
    pub(crate) fn convict_phase(&self, stuck: &Stuck) -> Option<Box<Fault>> {
        let (at, lane, place) = self.awaited(stuck)?;
        let object = self.state.mbarriers.live.get(&place)?;
        let warp = &self.state.warps[stuck.warp as usize];
        let site = self.site_of(warp, lane, at);
        let arrived = object.count.max(object.pending) - object.pending;
        let mut missing = format!("{arrived} of {} arrivals have come", object.count.max(object.pending));
        if object.expected > 0 || object.bytes != 0 {
            missing += &format!(", and {} of {} bytes", object.expected - object.bytes, object.expected);
        }
        let who = match self.context.unit() {
            1 => format!("thread {}", site.thread),
            _ => self.of_rank(&site, self.state.block),
        };
        let mut message = format!(
            "deadlock: {who} waits for phase {} of the mbarrier {}: {missing}, and nobody is left who could bring the rest",
            object.phase,
            self.in_shared_words(place)
        );
        let others = self.waits_beside(stuck);
        let own = (place, object.phase, line(&site));
        // Who waits for something else may be who was to come here.
        let other_site = others.iter().find(|wait| wait.what != own).or(others.first()).map(|wait| wait.site.clone());
        for Wait { what: (place, phase, at), warps, .. } in others.iter().take(4) {
            let awaited = self.in_shared_words(*place);
            message += &format!("; {} for phase {phase} of {awaited} at {at}", subject(warps));
        }
        let rest: usize = others.iter().skip(4).map(|wait| wait.warps.len()).sum();
        if rest > 0 {
            message += &format!("; {rest} more wait elsewhere");
        }
        let waiting = self.state.warps.iter().filter(|warp| warp.state == State::Waiting).count();
        if waiting > 0 {
            let s = if waiting == 1 { "" } else { "s" };
            message += &format!("; {waiting} other warp{s} of its block at barriers");
        }
        let came = object.expected - object.bytes;
        let hint = match (object.pending, object.bytes) {
            (1.., _) if object.expected == 0 && object.bytes < 0 => {
                "bytes have come, and nobody has said that they are expected: `mbarrier.arrive.expect_tx` with the bytes of all copies of a phase, for each mbarrier".to_string()
            }
            (0, bytes) if bytes > 0 && came == 0 => {
                "no copy that tells this mbarrier has come in this phase: is one begun for each phase, and is this the mbarrier that it names?".to_string()
            }
            (0, bytes) if bytes > 0 => format!(
                "is what `expect_tx` names what the copies bring? they have brought {came} bytes, and {} were expected",
                object.expected
            ),
            _ if object.phase == 0 && object.last.is_none() && object.expected == 0 => {
                "nobody has arrived here yet: one that says that a place is free is waited for with parity 1 first, for the phase before the first is complete; else who is to arrive?".to_string()
            }
            _ if arrived == 0 && self.adds_to_its_count() => "`cp.async.mbarrier.arrive` adds its own arrival to the count first: with `.noinc` it counts as one of those of `mbarrier.init`".to_string(),
            _ if arrived > 0 => format!(
                "the count of `mbarrier.init` is {}, and {arrived} arrived in this phase: is it the number of those who arrive, one thread or all of each warp?",
                object.count.max(object.pending)
            ),
            _ if self.more_arrivals_in_words().is_some() => self.more_arrivals_in_words().unwrap_or_default(),
            _ if object.phase > 1 || self.context.program.needs.partial => {
                "does each side flip its parity whenever its stages come round, and arrive for each phase?".to_string()
            }
            _ => "does everyone arrive for whom the count of `mbarrier.init` is, and is the parity that of the phase awaited?".to_string(),
        };
        let mut fault = fault(FaultKind::NoProgress, message, site, hint).because(Cause::Deadlock);
        let barrier = self
            .state
            .warps
            .iter()
            .find(|warp| warp.state == State::Waiting)
            .and_then(|warp| self.where_it_waits(self.state.block, warp));
        if let Some(last) = object.last.map(|last| self.event_site(last)) {
            fault.other = Some(("the last arrival:".to_string(), last));
        }
        if let Some(site) = other_site.or(barrier) {
            fault.other = Some(("another warp waits here:".to_string(), site));
        }
        Some(fault)
    }
}

/// What warps wait for: the place of a barrier, its phase, and the line; and where the first of them is.
struct Wait {
    what: (u32, u32, String),
    warps: Vec<u32>,
    site: Site,
}

/// `warp 8 waits`, `warps 1 to 3 and 5 wait`.
fn subject(warps: &[u32]) -> String {
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for &warp in warps {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == warp => *last = warp,
            _ => runs.push((warp, warp)),
        }
    }
    let words: Vec<String> = runs
        .iter()
        .map(|&(first, last)| if first == last { first.to_string() } else { format!("{first} to {last}") })
        .collect();
    match (warps.len(), words.split_last()) {
        (1, _) => format!("warp {} waits", words.concat()),
        (_, Some((last, []))) => format!("warps {last} wait"),
        (_, Some((last, front))) => format!("warps {} and {last} wait", front.join(", ")),
        (_, None) => String::new(),
    }
}
