//! A word on stderr about whatever lasts longer than a person waits without wondering.

use std::io::IsTerminal;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

/// How long a step may last in silence.
const SILENCE: Duration = Duration::from_secs(2);

/// Does the work; if it lasts more than two seconds, says on stderr what is being done: `note: checking the product …`. A
/// terminal alone is told: what is kept in a file must not depend on how fast a machine is.
pub fn step<R>(what: &str, work: impl FnOnce() -> R) -> R {
    let speak = || {
        if std::io::stderr().is_terminal() {
            eprintln!("note: {what} …");
        }
    };
    after(SILENCE, speak, work)
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
