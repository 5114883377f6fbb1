//! Where ranks meet. One process hosts it: the first rank's, or a program that starts all ranks of a machine.
//!
//! It waits for all ranks, compares what they have with what they are to have, tells each where the others are, and gathers their blocks of
//! C. A rank that does not come, has another version, ends too early or falls silent ends the product for all, with a line that names it.

use std::hash::{BuildHasher, RandomState};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

use super::Meeting;
use super::wire::{Done, Greeting, Hello, Message, PROTOCOL, Welcome};
use crate::fault::Fault;

/// How often it looks for who has come.
const TICK: Duration = Duration::from_millis(10);
/// How long it waits, when all is over, for ranks to hear of it.
const PARTING: Duration = Duration::from_secs(1);

/// What happens to a connection.
enum Event {
    /// A rank of this protocol has come.
    Came(usize, Hello, TcpStream),
    /// One of another protocol.
    Foreign(usize, u32, TcpStream),
    Said(usize, Message),
    /// Its connection has ended, or it is silent.
    Gone(usize, String),
}

/// A rank that has come.
struct Seat {
    stream: TcpStream,
    address: String,
    done: Option<Done>,
    is_gone: bool,
}

struct Host<'a> {
    meeting: &'a Meeting,
    seats: Vec<Option<Seat>>,
    /// What the first rank brings, and by which library panels travel.
    token: Vec<u8>,
    library: Option<String>,
    sender: Sender<Event>,
    events: Receiver<Event>,
}

/// Hosts a product, and gives its blocks of C, by rank. `told` hears when all ranks have come; `wrong` is asked now and then whether the
/// host knows of anything that is wrong, for instance a process of its own that has ended.
///
/// # Errors
/// [`Fault`], by which all ranks that have come end as well: [`Fault::Missing`], [`Fault::Mismatch`], [`Fault::Lost`], what a rank tells.
pub fn host(
    listener: &TcpListener,
    meeting: &Meeting,
    told: &mut dyn FnMut(),
    wrong: &mut dyn FnMut() -> Option<Fault>,
) -> Result<Vec<Done>, Fault> {
    let address = listener.local_addr().map_or_else(|_| "its address".to_string(), |address| address.to_string());
    let refused = |error: std::io::Error| Fault::Rendezvous { address: address.clone(), why: error.to_string() };
    listener.set_nonblocking(true).map_err(refused)?;
    let (sender, events) = mpsc::channel();
    let seats = (0..meeting.ranks).map(|_| None).collect();
    let mut host = Host { meeting, seats, token: Vec::new(), library: None, sender, events };
    let met = host.gather(listener, &address, wrong).and_then(|()| {
        told();
        host.welcome();
        host.work(wrong)
    });
    host.part(
        listener,
        match &met {
            Ok(()) => Message::End,
            Err(fault) => Message::Failed(fault.to_string()),
        },
    );
    met.map(|()| host.seats.into_iter().map(|seat| seat.and_then(|seat| seat.done).unwrap_or_default()).collect())
}

impl Host<'_> {
    /// Waits for all ranks.
    fn gather(
        &mut self,
        listener: &TcpListener,
        address: &str,
        wrong: &mut dyn FnMut() -> Option<Fault>,
    ) -> Result<(), Fault> {
        let limit = self.meeting.limit;
        let began = Instant::now();
        let mut beat = Instant::now();
        while self.seats.iter().any(Option::is_none) {
            while let Ok((stream, _)) = listener.accept() {
                let (sender, ranks) = (self.sender.clone(), self.meeting.ranks);
                thread::spawn(move || listen(&stream, ranks as u32, limit, &sender));
            }
            self.hear(TICK, &mut beat, wrong)?;
            if began.elapsed() > limit {
                let ranks: Vec<usize> = (0..self.seats.len()).filter(|&rank| self.seats[rank].is_none()).collect();
                match ranks.is_empty() {
                    true => break,
                    false => return Err(Fault::Missing { ranks, address: address.to_string(), limit }),
                }
            }
        }
        Ok(())
    }

    /// Waits for all blocks.
    fn work(&mut self, wrong: &mut dyn FnMut() -> Option<Fault>) -> Result<(), Fault> {
        let mut beat = Instant::now();
        while self.seats.iter().flatten().any(|seat| seat.done.is_none()) {
            self.hear(self.meeting.beat(), &mut beat, wrong)?;
        }
        Ok(())
    }

    /// What one connection has to say, if any does within a time.
    fn hear(
        &mut self,
        within: Duration,
        beat: &mut Instant,
        wrong: &mut dyn FnMut() -> Option<Fault>,
    ) -> Result<(), Fault> {
        if beat.elapsed() >= self.meeting.beat() {
            *beat = Instant::now();
            self.tell(&Message::Alive);
        }
        let event = match self.events.recv_timeout(within) {
            Ok(event) => event,
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return wrong().map_or(Ok(()), Err),
        };
        match event {
            Event::Came(rank, hello, stream) => self.seat(rank, hello, stream),
            Event::Foreign(rank, protocol, stream) => {
                let fault = mismatch(rank, "protocol", &protocol.to_string(), &PROTOCOL.to_string());
                // It may understand this, and has the greeting in any case.
                let _ = Message::Failed(fault.to_string()).write(&stream);
                Err(fault)
            }
            Event::Said(_, Message::Failed(why)) => Err(Fault::Told(why)),
            Event::Said(rank, Message::Done(done)) => {
                if let Some(seat) = &mut self.seats[rank] {
                    seat.done = Some(done);
                }
                Ok(())
            }
            Event::Said(..) => Ok(()),
            Event::Gone(rank, why) => {
                let Some(seat) = &mut self.seats[rank] else { return Ok(()) };
                seat.is_gone = true;
                if seat.done.is_none() { Err(Fault::Lost { rank, waiting: why }) } else { Ok(()) }
            }
        }
    }

    /// A rank that has come: is it one of these, and has it what it is to have?
    fn seat(&mut self, rank: usize, hello: Hello, stream: TcpStream) -> Result<(), Fault> {
        let library = self.library.get_or_insert_with(|| hello.library.clone());
        let compared = [
            ("program", &hello.program, &self.meeting.program),
            ("plan", &hello.plan, &self.meeting.plan),
            ("library", &hello.library, library),
        ];
        let other = compared.into_iter().find(|(_, theirs, ours)| theirs != ours);
        let fault = match other {
            Some((what, theirs, ours)) => Some(mismatch(rank, what, theirs, ours)),
            None if rank >= self.seats.len() => {
                let has = format!("{rank}, counted from 0");
                Some(mismatch(rank, "number", &has, &format!("less than {}", self.seats.len())))
            }
            None if self.seats[rank].is_some() => {
                Some(mismatch(rank, "process", "a second one", "the first that came"))
            }
            None => None,
        };
        if let Some(fault) = fault {
            let _ = Message::Failed(fault.to_string()).write(&stream);
            return Err(fault);
        }
        if rank == 0 {
            self.token = hello.token;
        }
        self.seats[rank] = Some(Seat { stream, address: hello.address, done: None, is_gone: false });
        Ok(())
    }

    /// Tells each where the others are.
    fn welcome(&self) {
        let addresses = self.seats.iter().flatten().map(|seat| seat.address.clone()).collect();
        // Not to be guessed by who happens to connect.
        let secret = RandomState::new().hash_one(Instant::now());
        self.tell(&Message::Welcome(Welcome { addresses, token: self.token.clone(), secret }));
    }

    /// To all that have come. Who does not hear it is noticed by its connection.
    fn tell(&self, message: &Message) {
        self.seats.iter().flatten().for_each(|seat| _ = message.write(&seat.stream));
    }

    /// The last word, and a moment in which ranks hear it, also who comes only now. They end their connections themselves.
    fn part(&mut self, listener: &TcpListener, word: Message) {
        self.tell(&word);
        self.seats.iter().flatten().for_each(|seat| _ = seat.stream.shutdown(Shutdown::Write));
        let began = Instant::now();
        while self.seats.iter().any(|seat| seat.as_ref().is_none_or(|seat| !seat.is_gone)) && began.elapsed() < PARTING
        {
            while let Ok((stream, _)) = listener.accept() {
                let (word, ranks) = (word.clone(), self.meeting.ranks as u32);
                thread::spawn(move || too_late(&stream, ranks, &word));
            }
            match self.events.recv_timeout(TICK) {
                Ok(Event::Gone(rank, _)) => {
                    if let Some(seat) = self.seats.get_mut(rank).and_then(Option::as_mut) {
                        seat.is_gone = true;
                    }
                }
                Ok(Event::Came(_, _, stream)) => _ = word.write(&stream),
                _ => (),
            }
        }
    }
}

/// Tells a rank that has come too late what is wrong.
fn too_late(stream: &TcpStream, ranks: u32, word: &Message) -> std::io::Result<()> {
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(PARTING))?;
    Greeting { protocol: PROTOCOL, rank: ranks }.write(stream)?;
    Greeting::read(stream)?;
    Message::read(stream)?;
    word.write(stream)?;
    stream.shutdown(Shutdown::Write)?;
    // Until it ends the connection: what it has said and nobody has read would make the last word void.
    while Message::read(stream).is_ok() {}
    Ok(())
}

fn mismatch(rank: usize, what: &'static str, theirs: &str, ours: &str) -> Fault {
    Fault::Mismatch { rank, what, theirs: theirs.to_string(), ours: ours.to_string() }
}

/// All that a connection says, until it ends. Who does not greet is no rank, and not listened to.
fn listen(stream: &TcpStream, ranks: u32, limit: Duration, events: &Sender<Event>) -> Option<()> {
    stream.set_nonblocking(false).ok()?;
    stream.set_nodelay(true).ok()?;
    stream.set_read_timeout(Some(limit)).ok()?;
    stream.set_write_timeout(Some(limit)).ok()?;
    Greeting { protocol: PROTOCOL, rank: ranks }.write(stream).ok()?;
    let Greeting { protocol, rank } = Greeting::read(stream).ok()?;
    let rank = rank as usize;
    if protocol != PROTOCOL {
        return events.send(Event::Foreign(rank, protocol, stream.try_clone().ok()?)).ok();
    }
    let Ok(Message::Hello(hello)) = Message::read(stream) else { return None };
    events.send(Event::Came(rank, hello, stream.try_clone().ok()?)).ok()?;
    loop {
        match Message::read(stream) {
            Ok(Message::Alive) => (),
            Ok(message) => events.send(Event::Said(rank, message)).ok()?,
            Err(error) => {
                let why = match error.kind() {
                    std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut => {
                        format!("it has been silent for {} s", limit.as_secs_f64())
                    }
                    _ => "its connection has ended".to_string(),
                };
                return events.send(Event::Gone(rank, why)).ok();
            }
        }
    }
}
