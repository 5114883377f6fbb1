//! A rank's end of the rendezvous.

use std::io;
use std::net::{Shutdown, TcpListener, TcpStream, ToSocketAddrs};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::Meeting;
use super::wire::{Done, Greeting, Hello, Message, PROTOCOL, Welcome};
use crate::fault::Fault;

/// How long a rank whose connection to another has ended waits to hear why.
const HEARING: Duration = Duration::from_secs(2);
/// Between two attempts to reach what may not be there yet.
const AGAIN: Duration = Duration::from_millis(50);

/// A rank that has come to a rendezvous, when all others have as well.
#[derive(Debug)]
pub struct Member {
    /// Its number.
    pub rank: usize,
    pub(crate) limit: Duration,
    pub(crate) welcome: Welcome,
    /// Where other ranks reach this one.
    pub(crate) listener: TcpListener,
    pub(crate) shared: Arc<Shared>,
    end: Receiver<Option<Welcome>>,
}

/// What the threads of a member share.
#[derive(Debug)]
pub(crate) struct Shared {
    /// To the rendezvous.
    stream: TcpStream,
    writing: Mutex<()>,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    fault: Option<Fault>,
    /// Whether this rank has left: what ends then is nothing wrong.
    has_left: bool,
    /// Sockets to other ranks, which end with the rendezvous.
    links: Vec<TcpStream>,
}

/// What is told of a product that has failed, by another thread than the one that works on it.
pub type Lost = Box<dyn FnOnce(&Fault) + Send>;

/// Comes to a rendezvous, and waits until all ranks have come. `lost` hears what is wrong from then on, also while this rank's own thread
/// waits for what never comes, as in a collective.
///
/// # Errors
/// [`Fault::Rendezvous`], where it is not reached; what the rendezvous says, in its words.
pub fn join(
    address: &str,
    rank: usize,
    meeting: &Meeting,
    [library, token]: [Vec<u8>; 2],
    lost: Lost,
) -> Result<Member, Fault> {
    let refused = |why: String| Fault::Rendezvous { address: address.to_string(), why };
    let stream = reach(address, meeting.limit).map_err(refused)?;
    let answered = |error: io::Error| refused(format!("its host answers with an error: {error}"));
    let here = stream.local_addr().map_err(answered)?;
    let listener = TcpListener::bind((here.ip(), 0)).map_err(answered)?;
    stream.set_nodelay(true).map_err(answered)?;
    stream.set_read_timeout(Some(meeting.limit)).map_err(answered)?;
    stream.set_write_timeout(Some(meeting.limit)).map_err(answered)?;
    Greeting { protocol: PROTOCOL, rank: rank as u32 }.write(&stream).map_err(answered)?;
    let theirs = Greeting::read(&stream).map_err(|_| refused("what answers there is no host of ranks".to_string()))?;
    if theirs.protocol != PROTOCOL {
        let (theirs, ours) = (PROTOCOL.to_string(), theirs.protocol.to_string());
        return Err(Fault::Mismatch { rank, what: "protocol", theirs, ours });
    }
    let hello = Hello {
        program: meeting.program.clone(),
        plan: meeting.plan.clone(),
        library: String::from_utf8_lossy(&library).into_owned(),
        address: listener.local_addr().map_err(answered)?.to_string(),
        token,
    };
    Message::Hello(hello).write(&stream).map_err(answered)?;
    let shared = Shared { stream, writing: Mutex::default(), state: Mutex::default(), changed: Condvar::new() };
    let (shared, (told, end)) = (Arc::new(shared), mpsc::channel());
    let (listens, beats, beat) = (shared.clone(), shared.clone(), meeting.beat());
    let host = address.to_string();
    thread::spawn(move || listens.listen(&host, &told, lost));
    thread::spawn(move || beats.beat(beat));
    match end.recv() {
        Ok(Some(welcome)) => Ok(Member { rank, limit: meeting.limit, welcome, listener, shared, end }),
        _ => {
            let fault = shared.fault();
            shared.leave();
            Err(fault.unwrap_or_else(|| refused("it has ended".to_string())))
        }
    }
}

impl Member {
    /// What the first rank has for all.
    pub fn token(&self) -> &[u8] {
        &self.welcome.token
    }

    /// Gives this rank's block of C, and waits until all ranks have.
    ///
    /// # Errors
    /// What is wrong with another rank.
    pub fn done(self, done: Done) -> Result<(), Fault> {
        self.shared.say(&Message::Done(done));
        let ended = matches!(self.end.recv(), Ok(None));
        let fault = self.shared.fault();
        self.shared.leave();
        fault.filter(|_| !ended).map_or(Ok(()), Err)
    }

    /// Ends the product for all, as this rank cannot go on. The fault comes back: or, where the rendezvous had a reason before, that one.
    pub fn failed(self, fault: Fault) -> Fault {
        let fault = self.shared.explained(fault);
        self.shared.say(&Message::Failed(fault.to_string()));
        self.shared.leave();
        fault
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        self.shared.leave();
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn fault(&self) -> Option<Fault> {
        self.state().fault.clone()
    }

    /// What the rendezvous says, if it says something soon: it knows who ended first.
    fn explained(&self, otherwise: Fault) -> Fault {
        let state = self.state();
        let is_silent = |state: &mut State| state.fault.is_none() && matches!(otherwise, Fault::Lost { .. });
        let waited = self.changed.wait_timeout_while(state, HEARING, is_silent);
        let (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        state.fault.clone().unwrap_or(otherwise)
    }

    /// A socket to another rank that ends when the rendezvous says that something is wrong.
    pub(crate) fn keep(&self, link: &TcpStream) {
        let mut state = self.state();
        match link.try_clone() {
            Ok(link) if state.fault.is_none() => state.links.push(link),
            // Too late, or not to be ended from elsewhere.
            _ => _ = link.shutdown(Shutdown::Both),
        }
    }

    /// To the rendezvous. If it does not hear, its connection has ended, which the thread that listens notices.
    fn say(&self, message: &Message) {
        let _writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = message.write(&self.stream);
    }

    /// Says now and then that this rank is alive.
    fn beat(&self, every: Duration) {
        let mut state = self.state();
        while !state.has_left {
            let (after, _) = self.changed.wait_timeout(state, every).unwrap_or_else(PoisonError::into_inner);
            drop(after);
            self.say(&Message::Alive);
            state = self.state();
        }
    }

    /// What the rendezvous says, until it ends.
    fn listen(&self, host: &str, told: &Sender<Option<Welcome>>, lost: Lost) {
        let fault = loop {
            match Message::read(&self.stream) {
                Ok(Message::Welcome(welcome)) => _ = told.send(Some(welcome)),
                Ok(Message::End) => {
                    _ = told.send(None);
                    return;
                }
                Ok(Message::Failed(why)) => break Fault::Told(why),
                Ok(_) => (),
                Err(_) => {
                    let why = "its host has ended, or has been silent for too long".to_string();
                    break Fault::Rendezvous { address: host.to_string(), why };
                }
            }
        };
        let mut state = self.state();
        if state.has_left {
            return;
        }
        state.fault = Some(fault.clone());
        state.links.iter().for_each(|link| _ = link.shutdown(Shutdown::Both));
        drop(state);
        self.changed.notify_all();
        lost(&fault);
    }

    fn leave(&self) {
        self.state().has_left = true;
        self.changed.notify_all();
        let _ = self.stream.shutdown(Shutdown::Both);
    }
}

/// A connection to an address at which somebody may listen only later.
pub(crate) fn reach(address: &str, limit: Duration) -> Result<TcpStream, String> {
    let began = Instant::now();
    loop {
        let mut why = "the name has no address".to_string();
        for place in address.to_socket_addrs().map_err(|error| error.to_string())? {
            let left = limit.saturating_sub(began.elapsed()).max(AGAIN);
            match TcpStream::connect_timeout(&place, left) {
                Ok(stream) => return Ok(stream),
                Err(error) => why = error.to_string(),
            }
        }
        if began.elapsed() >= limit {
            return Err(format!("nobody answers within {} s ({why})", limit.as_secs_f64()));
        }
        thread::sleep(AGAIN);
    }
}
