//! What a kernel makes of the buffers that it leaves, if it is launched once more.

use emulator::Schedule;

use super::contents::Contents;
use super::element::Element;
use super::execute;
use super::plan::{Plan, Planned};

/// Says which whole numbers are to be set back, if another launch would give something else without that. Results are not meant.
pub fn say(plan: &Plan, first: &[Contents], limit: u64, is_result: &dyn Fn(&str) -> bool) -> Option<String> {
    let whole = |planned: &Planned| matches!(planned.element, Element::Signed(_) | Element::Unsigned(_));
    let is_changed = |planned: &Planned, after: &Contents| match (&planned.bytes, after.all()) {
        (Some(before), Some(after)) => before.as_slice() != after,
        _ => false,
    };
    let pairs = || plan.buffers.iter().zip(first);
    let changed = pairs().filter(|(planned, after)| !planned.variable && whole(planned) && is_changed(planned, after));
    let changed: Vec<&str> = changed.map(|(planned, _)| planned.name.as_str()).collect();
    // Where other contents change as well, as of sums that go on, nothing is to be said.
    let others = pairs().any(|(planned, after)| !whole(planned) && is_changed(planned, after));
    if changed.is_empty() || others || changed.iter().any(|name| is_result(name)) {
        return None;
    }
    let names = changed.join(", ");
    let cure = format!(
        "the last block that uses {names} sets it back, `atomicInc` wraps it, or each launch has a `cudaMemset` before it"
    );
    let Ok(again) = execute::again(plan, Schedule::FirstFirst, limit) else {
        return Some(format!(
            "launched once more on {names} as the first launch leaves it, the kernel ends in a fault: {cure}"
        ));
    };
    let is_other = |(planned, (a, b)): &(&Planned, (&Contents, &Contents))| {
        let unwritten = a.first_unwritten.is_some();
        planned.bytes.is_none() && !planned.sparse && !unwritten && a.all() != b.all()
    };
    let (planned, _) = plan.buffers.iter().zip(first.iter().zip(&again)).find(is_other)?;
    Some(format!(
        "launched once more on {names} as the first launch leaves it, {} comes out otherwise: {cure}",
        planned.name
    ))
}
