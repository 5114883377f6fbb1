//! The plans of products over ranks, as the reader has left `crates/ranks/src/plan.rs`: this program is built with it.

use gemm::{Element, Error, Shape};
use ranks::order::order;
use ranks::{Fault, Layout, Plan, Variant};

use super::tables::Exercise;
use super::{TRIES, head};
use crate::check::done::Done;
use crate::output::print;
use crate::words::say;

/// The file that the reader changes.
const FILE: &str = "crates/ranks/src/plan.rs";

/// A condition, and whether it holds.
struct Line {
    text: String,
    met: bool,
}

/// Judges the plans that this program makes, and says what is missing.
pub fn judged(exercise: &Exercise, hint: &str, wants_hint: bool, record: &std::path::Path) -> Result<bool, Error> {
    let layout = Layout::new(Shape { m: 64, n: 64, k: 64 }, Element::Bf16, [2, 1])?;
    let fault = |variant| Ok::<_, Error>(order(&Plan::new(layout, variant, 2)?, None).err());
    let [gather, copies] = [fault(Variant::Gather)?, fault(Variant::Copies)?];
    let lines = lines(gather.as_ref(), copies.as_ref());
    let mut text = head(exercise) + &say("plan     {0}, with which this program was built\n", &[&FILE]);
    for line in &lines {
        text += &say(if line.met { "met      {0}\n" } else { "not met  {0}\n" }, &[&line.text]);
    }
    let missing = lines.iter().filter(|line| !line.met).count();
    if missing == 0 {
        print(&(text + &say("solved\n", &[])))?;
        return Ok(true);
    }
    text += &say("not solved yet: {0} of {1} conditions not met\n", &[&missing, &lines.len()]);
    let done = Done::read(record);
    let untouched = gather.is_none() && copies.is_none();
    text += &match wants_hint || done.tries(&exercise.id) >= TRIES && !untouched {
        true => say("hint: {0}\n", &[&say(hint, &[])]),
        false if untouched => say("{0} is as it was given: the exercise is to change it\n", &[&FILE]),
        false => say("`--hint` says what to do\n", &[]),
    };
    print(&text)?;
    if !untouched {
        done.tried(record, &exercise.id)?;
    }
    Ok(false)
}

/// Without the one wait, a panel of `copies` is read early, and nothing else is wrong.
fn lines(gather: Option<&Fault>, copies: Option<&Fault>) -> [Line; 2] {
    let said = |fault: Option<&Fault>| {
        let text = fault.map(|fault| fault.to_string().lines().next().unwrap_or_default().to_string());
        text.unwrap_or_else(|| say("no fault", &[]))
    };
    [
        Line {
            text: say("`copies` reads a panel before its copy has landed: {0}", &[&said(copies)]),
            met: matches!(copies, Some(Fault::ReadEarly { .. })),
        },
        Line { text: say("`gather` is right: {0}", &[&said(gather)]), met: gather.is_none() },
    ]
}

#[cfg(test)]
mod tests {
    use ranks::plan::Command;

    use super::*;

    /// What is said of the plans without one wait each, of all that they have.
    fn without_a_wait(variant: Variant) -> Vec<Option<Fault>> {
        let layout = Layout::new(Shape { m: 64, n: 64, k: 64 }, Element::Bf16, [2, 1]).unwrap();
        let plan = Plan::new(layout, variant, 2).unwrap();
        let all = plan.ranks.iter().enumerate().flat_map(|(rank, of)| {
            let streams = of.streams.iter().enumerate();
            streams.flat_map(move |(stream, of)| (0..of.len()).map(move |command| (rank, stream, command)))
        });
        let waits = all
            .filter(|&(rank, stream, command)| matches!(plan.ranks[rank].streams[stream][command], Command::Wait(_)));
        waits
            .map(|(rank, stream, command)| {
                let mut without = plan.clone();
                without.ranks[rank].streams[stream].remove(command);
                order(&without, None).err()
            })
            .collect()
    }

    #[test]
    fn the_wait_that_is_asked_for_is_told_from_others_and_from_none() {
        fn solved(gather: Option<&Fault>, copies: Option<&Fault>) -> bool {
            lines(gather, copies).iter().all(|line| line.met)
        }
        assert!(!solved(None, None));
        let copies = without_a_wait(Variant::Copies);
        let early = copies.iter().filter(|fault| matches!(fault, Some(Fault::ReadEarly { .. }))).count();
        let said = copies.iter().filter(|fault| solved(None, fault.as_ref())).count();
        assert!(early > 0 && said == early && said < copies.len(), "{copies:?}");
        // Without gather's own wait it is another change.
        for gather in without_a_wait(Variant::Gather) {
            assert!(gather.is_some() && !solved(gather.as_ref(), copies[0].as_ref()), "{gather:?}");
        }
    }
}
