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
/// How a product is said to read what is overwritten.
const OF_PRODUCT: [&str; 2] = [": product of what is there by ", "nothing tells that the first is done"];
const PRODUCT: &str = "wgmma.mma_async";
const WAIT: &str = "wgmma.wait_group.sync.aligned";
/// Calls in each other that are followed.
const CALLS: usize = 16;
/// How an index below 0 is said.
const BEFORE: &str = " before the start of ";
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
    match () {
        () if message.contains(NO_WAIT) => wait(line?, opcode, ptx),
        () if OF_PRODUCT.iter().all(|words| message.contains(words)) => overwritten(ptx),
        () if message.contains(BEFORE) => below(ptx),
        () => row(message, ptx),
    }
}

/// Of what an index below 0 may be that the PTX keeps in few bits with a sign.
fn below(ptx: &str) -> Option<String> {
    let kept = |bits: u32| {
        ptx.lines().map(str::trim_start).any(|line| {
            let opcode = line.split_whitespace().next().unwrap_or_default();
            opcode.starts_with("ld.") && opcode.ends_with(&format!(".s{bits}"))
                || opcode.starts_with("cvt.") && opcode.ends_with(&format!(".s{bits}"))
        })
    };
    let bits = [8, 16].into_iter().find(|bits| kept(*bits))?;
    Some(format!(
        "an index is below 0: is it kept in {bits} bits with a sign (`int{bits}_t`), of which {0} comes as -{0}? or does a guard keep the first row, column or element \
         out (`i > 0`), or is something subtracted from the index that is larger than it?",
        1 << (bits - 1)
    ))
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
    let is_row = offset > 2 * bytes && size.is_some_and(|size| size.is_multiple_of(offset) && size / offset >= ROWS);
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
            "an access of {bytes} bytes needs an address that is a multiple of {bytes}. In {name} the first element's column has to be a whole number of vectors, and so \
             has the row's length, with its padding, a multiple of {bytes} bytes"
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

/// The instructions of the PTX, each with the lines that it is attributed to: its own, and those from which it is called.
fn attributed(ptx: &str) -> impl Iterator<Item = (&str, Vec<u32>)> {
    let mut calls: HashMap<[u32; 3], [u32; 3]> = HashMap::new();
    let mut here = Vec::new();
    let numbers = |words: &str| -> Option<[u32; 3]> {
        let numbers = words.split_whitespace().map_while(|word| word.trim_matches(',').parse().ok());
        numbers.take(3).collect::<Vec<u32>>().try_into().ok()
    };
    ptx.lines().map(str::trim).filter_map(move |text| {
        let Some(rest) = text.strip_prefix(".loc") else { return Some((text, here.clone())) };
        let mut place = numbers(rest)?;
        match rest.split_once("inlined_at").and_then(|(_, rest)| numbers(rest)) {
            Some(call) => calls.insert(place, call),
            None => calls.remove(&place),
        };
        here = vec![place[1]];
        while let Some(call) = calls.get(&place).filter(|_| here.len() < CALLS) {
            here.push(call[1]);
            place = *call;
        }
        None
    })
}

/// How many groups of products a wait leaves under way.
fn left(text: &str) -> Option<u32> {
    text.split_once(WAIT)?.1.split(';').next()?.trim().parse().ok()
}

/// A wait that leaves some, in words.
fn leaves(left: u32, at: u32) -> String {
    let groups = if left == 1 { "the last group".to_string() } else { format!("the last {left} groups") };
    format!("the wait of line {at} leaves {groups} of products under way (`wgmma.wait_group {left}`)")
}

/// Which wait lets a group of products go by, of those before the instruction that touches its registers.
fn wait(line: u32, opcode: &str, ptx: &str) -> Option<String> {
    let (mut labels, mut last) = (HashMap::new(), None);
    for (number, (text, here)) in attributed(ptx).enumerate() {
        if let Some(left) = left(text) {
            last = here.last().map(|at| (left, *at, number, false));
        } else if text.contains(".entry") || text.contains(PRODUCT) {
            last = None;
        } else if let Some(label) = text.strip_suffix(':') {
            labels.insert(label, number);
        } else if let Some((_, label)) = text.trim_end_matches(';').split_once("bra") {
            let target = label.split_whitespace().next_back().and_then(|label| labels.get(label));
            if let (Some((_, _, of_wait, in_loop)), Some(target)) = (last.as_mut(), target) {
                *in_loop |= *target < *of_wait;
            }
        } else if here.contains(&line) && text.contains(opcode) {
            let (left, at, _, in_loop) = last.filter(|(left, ..)| *left > 0)?;
            let place = if in_loop { "behind the loop" } else { "there" };
            let leaves = leaves(left, at);
            return Some(format!(
                "{leaves}, and these registers are of one of them: `wgmma.wait_group 0` {place}, before they are touched"
            ));
        }
    }
    None
}

/// The same of a product whose operands are overwritten: by the first wait behind products.
fn overwritten(ptx: &str) -> Option<String> {
    let mut behind = attributed(ptx).skip_while(|(text, _)| !text.contains(PRODUCT));
    let (left, at) = behind.find_map(|(text, here)| left(text).zip(here.last().copied()))?;
    (left > 0).then(|| {
        format!(
            "a product reads until its warpgroup has waited for its group, and {}: one that leaves fewer, before its operands are overwritten. Or do the offsets of \
             its descriptor lead beyond its own tile?",
            leaves(left, at)
        )
    })
}
