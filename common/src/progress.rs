//! A word on stderr about whatever lasts longer than a person waits without wondering.

use crate::output::note;
use std::io::IsTerminal;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

/// How long a step may last in silence.
const SILENCE: Duration = Duration::from_secs(2);

/// Does the work; if it lasts more than two seconds, says on stderr what is being done: `note: checking the product …`. A
/// terminal alone is told: what is kept in a file must not depend on how fast a machine is.
pub fn step<R>(what: &str, work: impl FnOnce() -> R) -> R {
    let speak = || {
        if std::io::stderr().is_terminal() {
            note(&format!("note: {what} …"));
        }
    };
    after(SILENCE, speak, work)
}

/// Has the emulator say on stderr how many thread blocks of a launch are done: after two seconds, and whenever it has lasted
/// twice as long. A terminal alone is told.
pub fn of_blocks(device: &mut emulator::Device) {
    if std::io::stderr().is_terminal() {
        device.on_progress(seldom(SILENCE, |done, of| note(&format!("note: {done} of {of} thread blocks are done …"))));
    }
}

/// Speaks after `silence`, and then each time that as long has passed again as had before.
fn seldom(silence: Duration, speak: impl Fn(u64, u64)) -> impl Fn(u64, u64) {
    let (start, next) = (Instant::now(), AtomicU64::new(silence.as_micros() as u64));
    move |done, of| {
        let (now, due) = (start.elapsed().as_micros() as u64, next.load(Relaxed));
        // Of several threads, one speaks.
        if now >= due && done < of && next.compare_exchange(due, 2 * now.max(1), Relaxed, Relaxed).is_ok() {
            speak(done, of);
        }
    }
}

/// Does the work, and speaks once if it lasts longer than `silence`.
fn after<R>(silence: Duration, speak: impl FnOnce() + Send, work: impl FnOnce() -> R) -> R {
    let (done, end) = mpsc::channel::<()>();
    thread::scope(|scope| {
        // Without a thread to spare there is no note, and the work is done all the same.
        let _ = thread::Builder::new().spawn_scoped(scope, move || {
            if end.recv_timeout(silence) == Err(RecvTimeoutError::Timeout) {
                speak();
            }
        });
        let result = work();
        drop(done);
        result
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

    #[test]
    fn blocks_are_spoken_of_ever_more_seldom() {
        let spoken = AtomicU64::new(0);
        let speak = |_, _| {
            spoken.fetch_add(1, SeqCst);
        };
        let never = seldom(Duration::from_secs(3600), speak);
        (0..1000).for_each(|n| never(n, 1000));
        assert_eq!(spoken.load(SeqCst), 0);
        let soon = seldom(Duration::from_micros(1), speak);
        let start = Instant::now();
        while start.elapsed() < Duration::from_millis(20) {
            soon(1, 2);
        }
        let times = spoken.load(SeqCst);
        assert!((1..=16).contains(&times), "{times}");
        std::thread::sleep(Duration::from_millis(60));
        soon(2, 2);
        assert_eq!(spoken.load(SeqCst), times, "the last block is the end");
    }

    #[test]
    fn only_what_lasts_is_spoken_of() {
        let spoken = AtomicBool::new(false);
        let speak = || spoken.store(true, SeqCst);
        assert_eq!(after(Duration::from_secs(3600), speak, || 7), 7);
        assert!(!spoken.load(SeqCst));
        let wait = || {
            while !spoken.load(SeqCst) {
                thread::yield_now();
            }
        };
        after(Duration::from_millis(1), speak, wait);
        assert!(spoken.load(SeqCst));
    }
}
