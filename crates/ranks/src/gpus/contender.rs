//! Times of products over ranks, taken in turns.

use cudarc::driver::CudaEvent;
use cudarc::driver::sys::CUevent_flags::CU_EVENT_DEFAULT;
use device::turns::Pause;
use gemm::Error;

use super::{Cards, Gathered, Work, failed};

/// Nanoseconds in which the host submits a product for all cards, or less: before a turn all cards wait so long for each of its products,
/// so that none of them waits for the host.
const SUBMITTING: u64 = 300_000;

/// What is submitted again and again, by its name.
pub struct Contender<'a> {
    /// What it is called.
    pub name: String,
    submit: Box<dyn FnMut() -> Result<(), Error> + 'a>,
}

impl<'a> Contender<'a> {
    /// A plan.
    pub fn plan(name: impl Into<String>, mut work: Work<'a>) -> Contender<'a> {
        Contender { name: name.into(), submit: Box::new(move || work.submit()) }
    }

    /// The vendor's way.
    pub fn vendor(name: impl Into<String>, mut gathered: Gathered<'a>) -> Contender<'a> {
        Contender { name: name.into(), submit: Box::new(move || gathered.submit()) }
    }

    /// Milliseconds of so many products, each from the moment at which all cards may start to that at which all have ended, as the
    /// first card's stream sees it.
    fn timed(&mut self, cards: &Cards, pause: &Pause, runs: usize) -> Result<Vec<f64>, Error> {
        let mut marks: Vec<[CudaEvent; 2]> = Vec::new();
        let gpu = cards.cards[0].handle.gpu();
        pause.pass(gpu, SUBMITTING * runs as u64)?;
        let passed = gpu.stream().record_event(None).map_err(failed("timing"))?;
        cards.cards[0].compute.wait(&passed).map_err(failed("timing"))?;
        for _ in 0..runs {
            let start = mark(cards)?;
            (self.submit)()?;
            let first = &cards.cards[0].compute;
            for (card, copying) in cards.cards.iter().zip(&cards.copying) {
                for stream in [&card.compute, copying] {
                    let end = stream.record_event(None).map_err(failed("timing"))?;
                    first.wait(&end).map_err(failed("timing"))?;
                }
            }
            let end = first.record_event(Some(CU_EVENT_DEFAULT)).map_err(failed("timing"))?;
            marks.push([start, end]);
        }
        cards.finish()?;
        let elapsed = |[start, end]: &[CudaEvent; 2]| start.elapsed_ms(end).map(f64::from).map_err(failed("timing"));
        marks.iter().map(elapsed).collect()
    }
}

/// Lets all streams of all cards start behind the first card's.
fn mark(cards: &Cards) -> Result<CudaEvent, Error> {
    let first = &cards.cards[0].compute;
    let start = first.record_event(Some(CU_EVENT_DEFAULT)).map_err(failed("timing"))?;
    for (card, copying) in cards.cards.iter().zip(&cards.copying) {
        for stream in [&card.compute, copying] {
            stream.wait(&start).map_err(failed("timing"))?;
        }
    }
    Ok(start)
}

/// Medians in milliseconds, one for each: in every round each has a turn of some runs, behind one that does not count, and every second
/// round goes backwards.
///
/// # Errors
/// The first that a product gives.
pub fn in_turns(cards: &Cards, contenders: &mut [Contender], rounds: usize, runs: usize) -> Result<Vec<f64>, Error> {
    let mut times = vec![Vec::new(); contenders.len()];
    let pause = Pause::new(cards.cards[0].handle.gpu())?;
    for round in 0..rounds {
        let mut turns: Vec<usize> = (0..contenders.len()).collect();
        if round % 2 == 1 {
            turns.reverse();
        }
        for turn in turns {
            times[turn].extend(contenders[turn].timed(cards, &pause, 1 + runs)?.into_iter().skip(1));
        }
    }
    Ok(times.into_iter().map(median).collect())
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied().unwrap_or(f64::NAN)
}
