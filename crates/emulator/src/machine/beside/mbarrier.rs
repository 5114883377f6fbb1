//! Barriers in shared memory (`mbarrier`): phases, arrivals, and bytes that copies bring.
//!
//! A phase is complete once as many threads have arrived as it is for and all bytes are there that were expected. Who
//! sees that is behind all that those did who arrived. What lands on its own (copies) lands when somebody asks in vain whether the
//! phase is complete: so the first to ask is told that it is not, as on a GPU, where a copy takes its time.

use crate::machine::lanes::{LANES, each};
use crate::machine::memory::by_clocks::parts;
use crate::machine::order::{Agent, Then};
use crate::machine::state::mbarriers::{BYTES, Event, MOST, Mbarrier};
use crate::machine::state::warp::Warp;
use crate::machine::state::worker::Worker;
use crate::program::{Access, Arrive, Extended, Mbarrier as Deed, Order, Scope};
use crate::{Fault, Schedule};
impl Worker<'_> {
    pub(crate) fn mbarrier(
        &mut self,
        warp: &mut Warp,
        extended: &Extended,
        deed: Deed,
        mask: u32,
    ) -> Result<(), Box<Fault>> {
        let program = self.context.program;
        let access = &program.accesses[extended.accesses[0] as usize];
        let given: [u64; LANES] = match extended.reads.first() {
            Some(&(file, slot)) => std::array::from_fn(|lane| warp.wide(file, slot, lane)),
            None => [1; LANES],
        };
        let mut out = <[u64; LANES]>::default();
        if self.may_be_elsewhere(access) {
            self.shared_addresses(warp, access, mask)?;
            let at_peer = |worker: &mut Self, warp: &mut Warp, lanes: u32| {
                let offsets = worker.offsets(warp, access, lanes)?;
                worker.mbarrier_at(warp, access, deed, (&offsets, lanes), (&given, &mut out))
            };
            if self.at_each_rank(warp, access, mask, at_peer)?.is_some() {
                return Ok(());
            }
        }
        let offsets = self.shared_offsets(warp, access, mask)?;
        self.mbarrier_at(warp, access, deed, (&offsets, mask), (&given, &mut out))?;
        if let Some(&(file, d)) = extended.writes.first() {
            warp.set_wide(file, d, &out, mask);
        }
        if let Deed::Wait { .. } = deed {
            self.polled(warp, access.at, each(mask).map(|lane| out[lane]));
        }
        Ok(())
    }

    /// The same at the shared memory at hand, where the lanes name barriers by these offsets.
    fn mbarrier_at(
        &mut self,
        warp: &mut Warp,
        access: &Access,
        deed: Deed,
        (offsets, mask): (&[u32; LANES], u32),
        (given, out): (&[u64; LANES], &mut [u64; LANES]),
    ) -> Result<(), Box<Fault>> {
        for (lanes, place) in parts(offsets, mask, true) {
            if deed == Deed::Init {
                self.init_mbarrier(warp, access, (lanes, place), given)?;
                continue;
            }
            self.check_mbarrier(warp, access, lanes, place)?;
            match deed {
                Deed::Init => {}
                Deed::Invalidate => self.invalidate(warp, access, (lanes, place))?,
                Deed::Expect | Deed::Complete => {
                    let block = self.state.block;
                    if let Some(clocks) = self.clocks.as_mut().filter(|_| block != self.state.owner) {
                        // Who sees the phase knows that this is over.
                        let relaxed = (Order::Relaxed, Scope::Cta);
                        clocks.arrive_in_memory(block as u32, place, (warp.number, lanes), relaxed);
                    }
                    for lane in each(lanes) {
                        let bytes = given[lane] as u32 as i64;
                        let bytes = if deed == Deed::Expect { bytes } else { -bytes };
                        self.expect(warp, access, (lane, place), bytes)?;
                    }
                }
                Deed::Arrive(arrive) => self.arrive_at(warp, access, (lanes, place), (arrive, given), out)?,
                Deed::Wait { parity, order, scope } => {
                    self.test_phase(warp, access, (lanes, place), (parity, (order, scope), given), out)?;
                }
                Deed::AfterCopies { counts } => self.arrive_after_copies(warp, access, (lanes, place), counts),
            }
        }
        Ok(())
    }

    pub(crate) fn event(&mut self, warp: &Warp, lane: usize, at: u32) -> Event {
        let block = self.acting();
        let time = match &mut self.clocks {
            Some(clocks) if self.on_behalf.is_none() => clocks.time(block as u32, warp.number),
            _ => 0,
        };
        Event { block, thread: warp.number * LANES as u32 + lane as u32, at, time }
    }

    fn init_mbarrier(
        &mut self,
        warp: &Warp,
        access: &Access,
        (lanes, place): (u32, u32),
        given: &[u64; LANES],
    ) -> Result<(), Box<Fault>> {
        for lane in each(lanes) {
            let count = given[lane] as u32;
            // Several threads that say the same of one that nobody has used: as stores of one value.
            let again = |object: &Mbarrier| !(object.users.is_empty() && object.count == count);
            if let Some(object) = self.state.mbarriers.live.get(&place).filter(|object| again(object)) {
                let before = object.init;
                return Err(self.convict_second_init(warp, access, lane, place, before));
            }
            if count == 0 || count > MOST {
                let what = format!("for {count} arrivals, and may be for 1 to {MOST}");
                return Err(self.convict_object(
                    warp,
                    access,
                    lane,
                    place,
                    &what,
                    "is the count the block's, and set?",
                ));
            }
            let init = self.event(warp, lane, access.at);
            let object = Mbarrier {
                count,
                pending: count,
                bytes: 0,
                expected: 0,
                phase: 0,
                init,
                fenced: false,
                last: None,
                expectation: None,
                agent: None,
                users: Vec::new(),
                seen: Vec::new(),
            };
            self.state.mbarriers.live.insert(place, object);
            self.state.wrote();
            if let Some(clocks) = &mut self.clocks {
                clocks.begin_phases(self.state.block as u32, place);
            }
        }
        Ok(())
    }

    /// Lanes are about to use a barrier: is there one, and do they know of it?
    pub(crate) fn check_mbarrier(
        &mut self,
        warp: &Warp,
        access: &Access,
        lanes: u32,
        place: u32,
    ) -> Result<(), Box<Fault>> {
        let lane = lanes.trailing_zeros();
        let now = self.event(warp, lane as usize, access.at);
        let Some(object) = self.state.mbarriers.live.get_mut(&place) else {
            return Err(self.convict_no_object(warp, access, lane as usize, place));
        };
        let own = |user: &Event| (user.block, user.thread / LANES as u32) == (now.block, warp.number);
        match object.users.iter_mut().find(|(_, user)| own(user)) {
            Some(user) => *user = (lanes, now),
            None => object.users.push((lanes, now)),
        }
        let init = object.init;
        let block = self.state.block as u32;
        let Some(clocks) = &mut self.clocks else { return Ok(()) };
        match clocks.ignorant(block, (warp.number, lanes), init.then(), true) {
            0 => Ok(()),
            lanes => Err(self.convict_unknown_object(warp, access, lanes.trailing_zeros(), place, init)),
        }
    }

    fn invalidate(&mut self, warp: &Warp, access: &Access, (lanes, place): (u32, u32)) -> Result<(), Box<Fault>> {
        let lane = lanes.trailing_zeros();
        if !lanes.is_power_of_two() {
            let what = format!("invalidated by {} lanes at once", lanes.count_ones());
            return Err(self.convict_object(warp, access, lane as usize, place, &what, "one thread does it"));
        }
        let block = self.state.block as u32;
        let Some(object) = self.state.mbarriers.live.get(&place) else { return Ok(()) };
        for &(lanes, user) in &object.users {
            let Some(clocks) = &mut self.clocks else { break };
            let other = user.thread / LANES as u32;
            // One lane may speak for those that have met it: libraries do so.
            let unknown = |of: usize| {
                let then = Then { lane: of as u32, ..user.then() };
                clocks.ignorant(block, (warp.number, 1 << lane), then, false) != 0
            };
            if (user.block, other) != (self.state.block, warp.number) && each(u32::MAX).all(unknown) {
                let thread = other * LANES as u32 + lanes.trailing_zeros();
                return Err(self.convict_end_of_object(warp, access, lane, place, Event { thread, ..user }));
            }
        }
        let now = self.event(warp, lane as usize, access.at);
        self.state.mbarriers.live.remove(&place);
        self.state.mbarriers.dead.insert(place, now);
        self.state.wrote();
        Ok(())
    }

    /// So many more bytes are expected, or have come where the number is negative.
    pub(crate) fn expect(
        &mut self,
        warp: &Warp,
        access: &Access,
        (lane, place): (usize, u32),
        bytes: i64,
    ) -> Result<(), Box<Fault>> {
        let now = self.event(warp, lane, access.at);
        let Some(object) = self.state.mbarriers.live.get_mut(&place) else { return Ok(()) };
        object.bytes += bytes;
        if bytes > 0 {
            object.expected += bytes;
            object.expectation = Some(now);
        }
        if object.bytes.unsigned_abs() > MOST.into() {
            let what = format!("expecting {} bytes, and may expect {MOST} in a phase", object.bytes);
            return Err(self.convict_object(
                warp,
                access,
                lane,
                place,
                &what,
                "is the number of bytes that of one stage?",
            ));
        }
        self.state.wrote();
        self.probing.seen.changed = true;
        self.end_phase(warp, access, (lane, place))
    }

    fn arrive_at(
        &mut self,
        warp: &Warp,
        access: &Access,
        (lanes, place): (u32, u32),
        (arrive, given): (Arrive, &[u64; LANES]),
        out: &mut [u64; LANES],
    ) -> Result<(), Box<Fault>> {
        let count_of = |lane: usize| if arrive.expects { 1 } else { given[lane] as u32 };
        let all: u64 = each(lanes).map(|lane| u64::from(count_of(lane))).sum();
        let block = self.state.block as u32;
        if self.context.schedule == Schedule::EvenFirst {
            self.land_loads(place)?;
        }
        let Some(object) = self.state.mbarriers.live.get(&place) else { return Ok(()) };
        if all > object.pending.into() {
            // Who is one too many would arrive in the next phase, and nobody waits for him there.
            let lane = lanes.trailing_zeros() as usize;
            return Err(self.convict_arrivals(warp, access, lane, place, all));
        }
        if let Some(clocks) = &mut self.clocks {
            clocks.arrive_in_memory(block, place, (warp.number, lanes), (arrive.order, arrive.scope));
        }
        for lane in each(lanes) {
            let now = self.event(warp, lane, access.at);
            let count = count_of(lane);
            let Some(object) = self.state.mbarriers.live.get_mut(&place) else { return Ok(()) };
            out[lane] = object.token(place);
            if arrive.expects {
                let bytes = given[lane] as u32 as i64;
                object.bytes += bytes;
                object.expected += bytes;
                object.expectation = Some(now);
                if object.bytes.unsigned_abs() > MOST.into() {
                    let what = format!("expecting {} bytes, and may expect {MOST} in a phase", object.bytes);
                    let hint = "is the number of bytes that of one stage?";
                    return Err(self.convict_object(warp, access, lane, place, &what, hint));
                }
            }
            if count == 0 {
                return Err(self.convict_arrivals(warp, access, lane, place, 0));
            }
            if !arrive.completes && count == object.pending {
                let what = "by the last arrival of a phase with `.noComplete`, which must not complete it";
                return Err(self.convict_object(warp, access, lane, place, what, "the last one arrives without it"));
            }
            object.pending -= count;
            object.count -= if arrive.drops { count.min(object.count) } else { 0 };
            object.last = Some(now);
            self.state.wrote();
            self.end_phase(warp, access, (lane, place))?;
        }
        Ok(())
    }

    /// Ends the present phase of a barrier if nothing is missing.
    pub(crate) fn end_phase(
        &mut self,
        warp: &Warp,
        access: &Access,
        (lane, place): (usize, u32),
    ) -> Result<(), Box<Fault>> {
        let Some(object) = self.state.mbarriers.live.get_mut(&place) else { return Ok(()) };
        if object.pending > 0 || object.bytes > 0 {
            return Ok(());
        }
        if object.bytes < 0 {
            return Err(self.convict_unexpected(warp, access, lane, place));
        }
        if let Some(load) = self.state.mbarriers.loads.iter().find(|load| load.barrier == place) {
            return Err(self.convict_left_out(load, place));
        }
        let Some(object) = self.state.mbarriers.live.get_mut(&place) else { return Ok(()) };
        object.phase += 1;
        (object.pending, object.expected) = (object.count, 0);
        let agent = object.agent.map(|number| Agent { number, time: object.phase });
        if let Some(clocks) = &mut self.clocks {
            clocks.complete_phase(self.state.block as u32, place, agent);
        }
        Ok(())
    }

    /// Lanes ask whether a phase is complete.
    fn test_phase(
        &mut self,
        warp: &mut Warp,
        access: &Access,
        (lanes, place): (u32, u32),
        (parity, order, given): (bool, (Order, Scope), &[u64; LANES]),
        out: &mut [u64; LANES],
    ) -> Result<(), Box<Fault>> {
        let Some(object) = self.state.mbarriers.live.get(&place) else { return Ok(()) };
        let (phase, acting, mut done) = (object.phase, self.acting(), 0);
        for lane in each(lanes) {
            let complete = match parity {
                true => u64::from(phase & 1) != given[lane] & 1,
                false => {
                    let token = given[lane];
                    let age = phase.wrapping_sub((token >> 40) as u32) & 0xff_ffff;
                    if token >> 20 & 0xf_ffff != u64::from(place / BYTES) || age > 1 {
                        return Err(self.convict_token(warp, access, lane, place, (age, token)));
                    }
                    age == 1
                }
            };
            out[lane] = complete.into();
            done |= u32::from(complete) << lane;
        }
        if done != 0
            && let Some(clocks) = &mut self.clocks
        {
            if let Some(object) = self.state.mbarriers.live.get_mut(&place) {
                object.note_seen(acting, warp.number, access.at);
            }
            clocks.observe_phase(self.state.block as u32, place, (warp.number, done), warp.live, order);
        }
        if done != lanes {
            self.land_at(warp, place)?;
        }
        Ok(())
    }
}
