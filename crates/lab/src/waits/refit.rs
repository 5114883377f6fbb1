//! How good the model is for levels that its figures were not fitted to.
//!
//! A third of the levels is left out, the figures are fitted to the launches of the others, and those left out are judged;
//! then the next third. A fit begins with the first value of each figure, and changes one figure at a time, as long as
//! that helps. What is not fitted anew is how the model is made: that was decided with the whole record in view.

use gemm::Error;
use rayon::prelude::*;
use sm_model::figures::{FITTED, Figures};
use sm_model::sm::Block;

use super::model::{FIGURES, Runs};
use super::record::{Read, Shares, number};
use super::{fits, two_largest};
use crate::output::{note, progress};

/// Parts of which one is left out.
pub const FOLDS: u32 = 3;
/// Rounds over all figures.
const ROUNDS: usize = 2;

/// What came of it.
pub struct Held {
    /// The model's shares of each launch, by a fit that knew nothing of its level.
    pub shares: Vec<Shares>,
    /// The figures of each fit.
    pub figures: Vec<Figures>,
}

/// Fits the figures without each third of the levels.
pub fn held_out(launches: &[Read]) -> Result<Held, Error> {
    let fold = |read: &Read| number(&read.level).unwrap_or(0) % FOLDS;
    let bar = progress(0);
    bar.set_message("recorded");
    let runs: Vec<Runs> = launches.iter().map(Runs::of).collect::<Result<_, _>>()?;
    let mut bench = Bench { launches, runs, ahead: usize::MAX, assembled: Vec::new(), known: Vec::new() };
    let mut held = Held { shares: vec![Shares::default(); launches.len()], figures: Vec::new() };
    for left_out in 0..FOLDS {
        bar.set_message(format!("fitted without a third of the levels, {} of {FOLDS}", left_out + 1));
        let known: Vec<usize> = (0..launches.len()).filter(|&n| fold(&launches[n]) != left_out).collect();
        let figures = bench.fit(&known, || bar.tick());
        for n in (0..launches.len()).filter(|&n| fold(&launches[n]) == left_out) {
            held.shares[n] = bench.shares(&[n], &figures)[0];
        }
        let mut right = |known: bool| {
            let all = (0..launches.len()).filter(|&n| (fold(&launches[n]) != left_out) == known);
            let all: Vec<usize> = all.collect();
            let shares = bench.shares(&all, &figures);
            let right = all.iter().zip(&shares).filter(|&(&n, shares)| fits(shares, &launches[n].shares)).count();
            format!("{right} of {}", all.len())
        };
        let [seen, new] = [true, false].map(&mut right);
        note(&format!(
            "fit {} of {FOLDS}: right in {seen} launches that it saw, in {new} that it did not",
            left_out + 1
        ));
        held.figures.push(figures);
    }
    bar.finish_and_clear();
    Ok(held)
}

/// Launches that are run again and again.
struct Bench<'a> {
    launches: &'a [Read],
    runs: Vec<Runs>,
    /// What they issue, by the assembler that looks so far ahead.
    ahead: usize,
    assembled: Vec<Vec<Vec<Block>>>,
    /// What has been run: figures, launch and shares.
    known: Vec<(Figures, usize, Shares)>,
}

impl Bench<'_> {
    /// The figures that suit these launches.
    fn fit(&mut self, launches: &[usize], tick: impl Fn()) -> Figures {
        let mut best = *FIGURES;
        for figure in &FITTED {
            (figure.set)(&mut best, figure.values[0]);
        }
        let mut least = self.loss(launches, &best);
        for _ in 0..ROUNDS {
            let before = least;
            for figure in &FITTED {
                for &value in figure.values {
                    let mut other = best;
                    (figure.set)(&mut other, value);
                    let loss = self.loss(launches, &other);
                    tick();
                    if loss < least {
                        (best, least) = (other, loss);
                    }
                }
            }
            if least >= before {
                break;
            }
        }
        best
    }

    /// How far the model is off on average, and more where that is too far.
    fn loss(&mut self, launches: &[usize], figures: &Figures) -> f64 {
        let shares = self.shares(launches, figures);
        let each = launches.iter().zip(&shares).map(|(&n, modelled)| {
            let read = &self.launches[n].shares;
            let (first, second) = two_largest(read);
            let off = [first, second].map(|at| (modelled[at] - read[at]).abs());
            off[0].max(off[1]) + if fits(modelled, read) { 0.0 } else { 0.1 }
        });
        each.sum::<f64>() / launches.len().max(1) as f64
    }

    fn shares(&mut self, launches: &[usize], figures: &Figures) -> Vec<Shares> {
        let known = |n: usize, all: &[(Figures, usize, Shares)]| {
            all.iter().find(|(f, m, _)| *m == n && f == figures).map(|(_, _, shares)| *shares)
        };
        let missing: Vec<usize> = launches.iter().copied().filter(|&n| known(n, &self.known).is_none()).collect();
        if !missing.is_empty() && self.ahead != figures.ahead {
            self.assembled = self.runs.par_iter().map(|runs| runs.assembled(figures)).collect();
            self.ahead = figures.ahead;
        }
        let of = |n: usize| (*figures, n, self.runs[n].shares(&self.assembled[n], figures));
        let more: Vec<_> = missing.into_par_iter().map(of).collect();
        self.known.extend(more);
        launches.iter().map(|&n| known(n, &self.known).unwrap_or_default()).collect()
    }
}
