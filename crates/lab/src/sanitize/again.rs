//! What a kernel makes of the buffers that it leaves, if it is launched once more.

use emulator::Schedule;

use super::contents::Contents;
use super::element::Element;
use super::execute;
use super::expect::Expected;
use super::plan::{Plan, Planned};

/// What comes of a second launch.
pub enum Again {
    /// It ends in a fault, in words.
    Fault(String),
    /// Something else comes out, in words, and as what is not as expected; the buffer that was to be set back.
    Otherwise(String, Box<Expected>, usize),
}

/// Which whole numbers are to be set back, if another launch would give something else without that. Results are not meant.
pub fn tried(plan: &Plan, first: &[Contents], limit: u64, is_result: &dyn Fn(&str) -> bool) -> Option<Again> {
    let whole = |planned: &Planned| matches!(planned.element, Element::Signed(_) | Element::Unsigned(_));
    let change = |(planned, after): (&Planned, &Contents)| {
        let (before, after) = (planned.bytes.as_ref()?, after.all()?);
        before.iter().zip(after).position(|(before, after)| before != after)
    };
    let pairs = || plan.buffers.iter().zip(first).enumerate();
    let changed = pairs().filter_map(|(index, (planned, after))| {
        let at = change((planned, after)).filter(|_| !planned.variable && whole(planned))?;
        Some((index, at / planned.element.bytes()))
    });
    let changed: Vec<(usize, usize)> = changed.collect();
    let name = |index: usize| plan.buffers[index].name.as_str();
    // Where other contents change as well, as of sums that go on, nothing is to be said.
    let others = pairs().any(|(_, (planned, after))| !whole(planned) && change((planned, after)).is_some());
    if changed.is_empty() || others || changed.iter().any(|(index, _)| is_result(name(*index))) {
        return None;
    }
    let names = changed.iter().map(|(index, _)| name(*index)).collect::<Vec<_>>().join(", ");
    let head = format!("launched once more on {names} as the first launch leaves it");
    let cure = format!(
        "the last block that uses {names} sets it back, `atomicInc` wraps it, or each launch has a `cudaMemset` before it"
    );
    let of = |order| execute::again(plan, order, limit);
    let (Ok(again), Ok(_)) = (of(Schedule::FirstFirst), of(Schedule::LastFirst)) else {
        return Some(Again::Fault(format!("{head}, the kernel ends in a fault: {cure}")));
    };
    let mut all = plan.buffers.iter().zip(first.iter().zip(&again));
    all.find_map(|(planned, (a, b))| {
        let is_new = planned.bytes.is_none() && !planned.sparse && a.first_unwritten.is_none();
        let (a, b) = a.all().zip(b.all()).filter(|_| is_new)?;
        let size = planned.element.bytes();
        let pairs = || a.chunks_exact(size).zip(b.chunks_exact(size)).enumerate();
        let (at, (wanted, got)) = pairs().find(|(_, (a, b))| a != b)?;
        let number = |bytes: &[u8]| planned.element.number(bytes).to_string();
        let (index, of_changed) = changed[0];
        let width = plan.buffers[index].element.bytes() as u64;
        let bytes = of_changed as u64 * width..(of_changed as u64 + 1) * width;
        let expected = Expected {
            expected: format!("{} of a second launch as of the first", planned.name),
            holds: false,
            wrong: pairs().filter(|(_, (a, b))| a != b).count(),
            of: planned.count,
            first: Some((at, number(got), number(wanted))),
            wraps: None,
            alike: Some(format!("{head}: {cure}")),
            stored: execute::stored(plan, Schedule::FirstFirst, limit, (index, bytes)),
        };
        Some(Again::Otherwise(
            format!("{head}, {} comes out otherwise: {cure}", planned.name),
            Box::new(expected),
            index,
        ))
    })
}
