//! A word on stderr about whatever lasts longer than a person waits without wondering.

use crate::output::note;
use std::io::IsTerminal;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// How long a step may last in silence.
const SILENCE: Duration = Duration::from_secs(2);

/// Work that is under way, as long as this lives.
#[must_use]
#[derive(Debug)]
pub struct UnderWay {
    // Sends nothing: its end is the word.
    end: Option<Sender<()>>,
    speaker: Option<JoinHandle<()>>,
}

/// If what begins now lasts more than two seconds, says on stderr what is being done: `note: checking the product …`. A
/// terminal alone is told: what is kept in a file must not depend on how fast a machine is.
pub fn begin(what: &str) -> UnderWay {
    let what = what.to_string();
    after(SILENCE, move || {
        if std::io::stderr().is_terminal() {
            note(&format!("note: {what} …"));
        }
    })
}

/// Does a work that may last.
pub fn step<R>(what: &str, work: impl FnOnce() -> R) -> R {
    let _under_way = begin(what);
    work()
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

/// Speaks once, if the work lasts longer than `silence`.
fn after(silence: Duration, speak: impl FnOnce() + Send + 'static) -> UnderWay {
    let (end, ended) = mpsc::channel();
    let wait = move || {
        if ended.recv_timeout(silence) == Err(RecvTimeoutError::Timeout) {
            speak();
        }
    };
    // Without a thread to spare there is no note, and the work is done all the same.
    UnderWay { end: Some(end), speaker: thread::Builder::new().spawn(wait).ok() }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.end.take();
        // A note is whole before the next line.
        let _ = self.speaker.take().map(JoinHandle::join);
    }
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
        static SPOKEN: AtomicBool = AtomicBool::new(false);
        drop(after(Duration::from_secs(3600), || SPOKEN.store(true, SeqCst)));
        assert!(!SPOKEN.load(SeqCst));
        let _under_way = after(Duration::from_millis(1), || SPOKEN.store(true, SeqCst));
        while !SPOKEN.load(SeqCst) {
            thread::yield_now();
        }
    }
}
