//! Times of products over ranks, taken in turns.
//!
//! An event of one card reaches another after microseconds, which a short product would be charged with twice. So the clock is the host's: it
//! submits a whole product while each card is held back by a gate of its own, opens all gates, and looks until the last card has ended.

use std::time::Instant;

use cudarc::driver::CudaEvent;
use device::peers::Gate;
use gemm::Error;

use super::{Card, Cards, LIMIT, failed};

/// What is submitted again and again, by its name.
pub struct Contender<'a> {
    /// What it is called.
    pub name: String,
    submit: Box<dyn FnMut() -> Result<(), Error> + 'a>,
}

impl<'a> Contender<'a> {
    /// What a function submits.
    pub fn new(name: impl Into<String>, submit: impl FnMut() -> Result<(), Error> + 'a) -> Contender<'a> {
        Contender { name: name.into(), submit: Box::new(submit) }
    }

    /// Milliseconds of so many products, each from the moment at which the host lets all cards go to that at which it finds all at their end.
    fn timed(&mut self, gates: &mut Gates, runs: usize) -> Result<Vec<f64>, Error> {
        (0..runs)
            .map(|_| {
                gates.close()?;
                (self.submit)()?;
                gates.milliseconds()
            })
            .collect()
    }
}

/// A gate for each card, in front of all its streams.
#[derive(Debug)]
pub(super) struct Gates<'a> {
    cards: &'a Cards,
    gates: Vec<Gate>,
    /// By card, one for each of its streams.
    events: Vec<[CudaEvent; 3]>,
}

impl<'a> Gates<'a> {
    /// Open ones.
    pub(super) fn new(cards: &'a Cards) -> Result<Gates<'a>, Error> {
        let gate = |card: &Card| Gate::new(card.handle.context()).map_err(failed("making a gate"));
        let event = |card: &Card| card.handle.context().new_event(None).map_err(failed("making an event"));
        let events = |card: &Card| Ok([event(card)?, event(card)?, event(card)?]);
        let gates = cards.cards.iter().map(gate).collect::<Result<_, Error>>()?;
        let events = cards.cards.iter().map(events).collect::<Result<_, Error>>()?;
        Ok(Gates { cards, gates, events })
    }

    /// Holds back all that is submitted from now on.
    pub(super) fn close(&mut self) -> Result<(), Error> {
        let closing = failed("closing a gate");
        for (number, (gate, [closed, ..])) in self.gates.iter_mut().zip(&self.events).enumerate() {
            let (first, others) = self.cards.streams(number);
            gate.close(first).and_then(|()| closed.record(first)).map_err(&closing)?;
            others.iter().try_for_each(|stream| stream.wait(closed)).map_err(&closing)?;
        }
        Ok(())
    }

    /// Lets all cards go.
    pub(super) fn open(&self) {
        self.gates.iter().for_each(Gate::open);
    }

    /// The time of what has been submitted behind the gates.
    fn milliseconds(&self) -> Result<f64, Error> {
        let timing = failed("timing");
        for (number, [end, ends @ ..]) in self.events.iter().enumerate() {
            let (first, others) = self.cards.streams(number);
            for (stream, end) in others.iter().zip(ends) {
                end.record(stream).and_then(|()| first.wait(end)).map_err(&timing)?;
            }
            end.record(first).map_err(&timing)?;
        }
        let began = Instant::now();
        self.open();
        for (rank, [end, ..]) in self.events.iter().enumerate() {
            while !end.try_is_complete().map_err(failed("running a product over ranks"))? {
                if began.elapsed() > LIMIT {
                    return Err(Cards::lost(rank));
                }
            }
        }
        Ok(began.elapsed().as_secs_f64() * 1e3)
    }
}

/// A product longer than so many milliseconds may bring a card to its power limit, within tenths of a second. It is then run for so many
/// milliseconds before anything counts: the clock of a card that has rested is too high at first, then too low, and settles within a second.
const HOT: (f64, f64) = (0.5, 1500.0);

/// Milliseconds of all that count, for each: in every round each has a turn of some runs, behind one that does not count, and every second
/// round goes backwards. All are to keep the same cards busy: a card that rests in another's turn is quicker in the next.
///
/// # Errors
/// The first that a product gives.
pub fn in_turns(
    cards: &Cards,
    contenders: &mut [Contender],
    rounds: usize,
    runs: usize,
) -> Result<Vec<Vec<f64>>, Error> {
    let mut times = vec![Vec::new(); contenders.len()];
    let mut gates = Gates::new(cards)?;
    if let Some(first) = contenders.first_mut() {
        let one = first.timed(&mut gates, 1)?[0];
        let runs = if one > HOT.0 { (HOT.1 / one) as usize } else { 0 };
        first.timed(&mut gates, runs)?;
    }
    for round in 0..rounds {
        let mut turns: Vec<usize> = (0..contenders.len()).collect();
        if round % 2 == 1 {
            turns.reverse();
        }
        for turn in turns {
            times[turn].extend(contenders[turn].timed(&mut gates, 1 + runs)?.into_iter().skip(1));
        }
    }
    Ok(times)
}
