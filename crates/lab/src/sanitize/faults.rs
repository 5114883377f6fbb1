//! What there is to say of faults that the emulator does not know.
//!
//! A `trap` that no one wrote: the compiler knew that a thread does there what none may do, and made nothing else of it. Without
//! optimisation it writes down what the kernel says, and so the emulator finds what is wrong, and where.
//!
//! By the kernel's PTX: how long rows are to be of which vectors are accessed, and which wait lets a product go by.

use std::collections::HashMap;

use emulator::{Fault, FaultKind, Schedule};
use gemm::Error;

use super::execute::{self, Ran};
use super::plan::Plan;

/// The compiler's option for a kernel as it is written.
pub const AS_WRITTEN: &str = "--device-debug";

/// How an access to shared memory is said to begin at no whole vector.
const OF_SHARED: &str = " (shared memory";
const AT: &str = "at offset ";
const NO_MULTIPLE: &str = ", which is no multiple of ";
/// How registers of a product are said to be touched before it is waited for.
const NO_WAIT: &str = "no `wgmma.wait_group` between";
/// Rows that an array has at least whose length its size confirms.
const ROWS: u64 = 4;

/// Puts what is wrong in the place of traps. `plan` makes a plan of the kernels as they are written.
pub fn explain(runs: &mut [Ran], instruction_limit: u64, plan: impl FnOnce() -> Result<Plan, Error>) {
    let trapped = |ran: &Ran| ran.fault.as_ref().is_some_and(|(_, fault)| is_trap(fault));
    if !runs.iter().any(trapped) {
        return;
    }
    // Where that cannot be had, the trap is what is known.
    let Ok(plan) = plan() else { return };
    for ran in runs.iter_mut().filter(|ran| trapped(ran)) {
        if let Some(found) = cause(&plan, ran.order, instruction_limit) {
            ran.fault = Some(found);
        }
    }
}

fn is_trap(fault: &Fault) -> bool {
    fault.kind == FaultKind::Trap && fault.site.opcode == "trap"
}

/// What is at fault in a kernel as it is written, if that is no trap: a trap is its own.
fn cause(plan: &Plan, order: Schedule, instruction_limit: u64) -> Option<(usize, Box<Fault>)> {
    let (launch, mut fault) = execute::run(plan, order, instruction_limit).ok()?.fault?;
    if is_trap(&fault) || fault.site.source.is_none() {
        return None;
    }
    fault.message += "; the compiler made a `trap` of it";
    Some((launch, fault))
}

/// A fault with a hint by the PTX instead of its own, if there is one.
pub fn sharpen(fault: &mut Fault, ptx: &str) {
    let (line, opcode) = (fault.site.source.as_ref().map(|(_, line)| *line), fault.site.opcode.as_str());
    if let Some(hint) = hint(&fault.message, (line, opcode), ptx) {
        fault.hint = Some(hint);
    }
}

/// The same of a fault that is written out.
pub fn sharpened(text: String, ptx: &str) -> String {
    let message = text.lines().next().unwrap_or_default();
    let place = text.lines().find_map(|line| line.trim_start().strip_prefix("--> "));
    let line = place.and_then(|place| place.split_whitespace().next()?.rsplit(':').next()?.parse().ok());
    let opcode =
        text.lines().find(|line| line.contains(", lane ")).and_then(|line| line.split_whitespace().next_back());
    let hint = hint(message, (line, opcode.unwrap_or_default()), ptx);
    match (hint, text.rfind("\nhint: ")) {
        (Some(hint), Some(at)) => format!("{}\nhint: {hint}", &text[..at]),
        _ => text,
    }
}

fn hint(message: &str, (line, opcode): (Option<u32>, &str), ptx: &str) -> Option<String> {
    match message.contains(NO_WAIT) {
        true => wait(line?, opcode, ptx),
        false => row(message, ptx),
    }
}

/// What an access says of the rows of its array in shared memory, in which not every one begins with a whole vector.
fn row(message: &str, ptx: &str) -> Option<String> {
    let (before, after) = message.split_once(OF_SHARED)?;
    let (offset, bytes) = after.split_once(AT)?.1.split_once(NO_MULTIPLE)?;
    let (offset, bytes): (u64, u64) =
        (offset.parse().ok()?, bytes.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()?);
    let name = before.rsplit(' ').next()?;
    if bytes == 0 || offset.is_multiple_of(bytes) {
        return Some(format!(
            "an access of {bytes} bytes needs an address that is a multiple of {bytes}, and {name} itself begins at none: `__align__({bytes})`, or behind a whole \
             number of vectors in dynamic shared memory"
        ));
    }
    let size = size(name, ptx);
    let is_row = offset > bytes && size.is_some_and(|size| size.is_multiple_of(offset) && size / offset >= ROWS);
    Some(match is_row {
        true => {
            let whole = offset.next_multiple_of(bytes);
            let elements: Vec<String> = [4, 2]
                .into_iter()
                .filter(|of| offset.is_multiple_of(*of))
                .map(|of| format!("{} elements of {of} bytes", whole / of))
                .collect();
            let elements = if elements.is_empty() { String::new() } else { format!(" ({})", elements.join(", or ")) };
            format!(
                "rows of {name} are {offset} bytes long, no multiple of {bytes}, so the second one begins at no whole vector. Pad each to a multiple: to {whole} bytes{elements}"
            )
        }
        false => format!(
            "an access of {bytes} bytes needs an address that is a multiple of {bytes}: in {name} the first element's column is a whole number of vectors, and the row's \
             length, with its padding, too: pad rows to a multiple of {bytes} bytes"
        ),
    })
}

/// Bytes of a variable in shared memory, where the PTX says them of one alone: `.shared .align 16 .b8 _ZZ4gemmE2As[4224];`
fn size(name: &str, ptx: &str) -> Option<u64> {
    let declared = |line: &str| {
        let (variable, size) = line.trim().strip_prefix(".shared")?.split_whitespace().last()?.split_once('[')?;
        let ends = variable == name || variable.ends_with(&format!("{}{name}", name.len()));
        ends.then(|| size.trim_end_matches(';').trim_end_matches(']').parse().ok())?
    };
    let mut all = ptx.lines().filter_map(declared);
    all.next().filter(|_| all.next().is_none())
}

/// Which wait let a group of products go by, of those before the instruction that touches its registers.
fn wait(line: u32, opcode: &str, ptx: &str) -> Option<String> {
    let mut places: HashMap<[u32; 3], [u32; 3]> = HashMap::new();
    // The lines of an instruction: its own, and those from which it is called.
    let (mut here, mut last) = (Vec::new(), None);
    for text in ptx.lines().map(str::trim) {
        if let Some(rest) = text.strip_prefix(".loc") {
            let number = |word: &str| word.trim_matches(',').parse().ok();
            let numbers = |words: &str| -> Option<[u32; 3]> {
                let numbers: Vec<u32> = words.split_whitespace().map_while(number).collect();
                numbers.get(..3)?.try_into().ok()
            };
            let Some(mut place) = numbers(rest) else { continue };
            match rest.split_once("inlined_at").and_then(|(_, rest)| numbers(rest)) {
                Some(call) => places.insert(place, call),
                None => places.remove(&place),
            };
            here = vec![place[1]];
            while let Some(call) = places.get(&place).filter(|_| here.len() < 16) {
                here.push(call[1]);
                place = *call;
            }
        } else if let Some((_, rest)) = text.split_once("wgmma.wait_group.sync.aligned") {
            last = rest.split(';').next().and_then(|left| left.trim().parse::<u32>().ok()).zip(here.last().copied());
        } else if text.contains(".entry") || text.contains("wgmma.mma_async") {
            last = None;
        } else if here.contains(&line) && text.contains(opcode) {
            let (left, at) = last.filter(|(left, _)| *left > 0)?;
            let groups = if left == 1 {
                "the last group of products".to_string()
            } else {
                format!("the last {left} groups of products")
            };
            return Some(format!(
                "the wait of line {at} leaves {groups} under way (`wgmma.wait_group {left}`), and these registers are of one of them: `wgmma.wait_group 0` there, before \
                 they are touched"
            ));
        }
    }
    None
}
