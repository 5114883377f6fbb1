//! What a fault means in the words of CUDA's own library, where its functions led there.

use crate::{Fault, FaultKind, Site};

/// Functions of the library, and what is to be done in its words.
const WORDS: [(&[&str], &str); 3] = [
    (
        &["__memcpy_async_pipeline", "producer_acquire", "consumer_wait"],
        "A stage of a `cuda::pipeline` is filled between `producer_acquire()` and `producer_commit()`, read behind `consumer_wait()`, and given back by \
         `consumer_release()`, all with one stage's index",
    ),
    (
        &["__memcpy_async_barrier", "arrive_and_wait"],
        "Of a `cuda::barrier`, `init` names the number of threads that arrive, and who reads what was copied waits at it first, by `arrive_and_wait()`",
    ),
    (
        &["_memcpy_async_bytes", "accelerated_async_copy"],
        "What `cooperative_groups::memcpy_async` copies (a size in bytes) is there behind `wait(group)`, and for other threads behind a `sync()` of all",
    ),
];

/// The same fault, with a word more where it is a race, a deadlock or a value that nobody has set, and the library has part in it.
pub fn told(mut fault: Box<Fault>) -> Box<Fault> {
    let sites = || [Some(&fault.site), fault.other.as_ref().map(|(_, site)| site)].into_iter().flatten();
    let calls = |names: &[&str]| {
        let of = |site: &Site| site.calls.iter().any(|step| names.contains(&&*step.function));
        sites().any(of)
    };
    let is_meant = matches!(fault.kind, FaultKind::Race | FaultKind::NoProgress | FaultKind::Uninitialised);
    let found = WORDS.into_iter().find(|(names, _)| is_meant && calls(names));
    if let Some((hint, (_, words))) = fault.hint.as_mut().zip(found) {
        let stop = if hint.ends_with('?') { "" } else { "." };
        *hint += &format!("{stop} {words}");
    }
    fault
}
