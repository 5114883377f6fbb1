//! Sockets between all ranks, for panels of emulated ranks.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::thread;
use std::time::{Duration, Instant};

use super::member::{Member, reach};
use crate::fault::Fault;

/// How often a rank looks for who has connected.
const TICK: Duration = Duration::from_millis(5);

/// A socket to every other rank.
#[derive(Debug)]
pub struct Links {
    rank: usize,
    /// By rank; none to itself.
    links: Vec<Option<TcpStream>>,
}

impl Links {
    /// Connects a rank with all others: it goes to those before it, and those behind it come.
    ///
    /// # Errors
    /// [`Fault::Lost`], where one is not reached or does not come in time.
    pub fn new(member: &Member) -> Result<Links, Fault> {
        let (rank, addresses) = (member.rank, &member.welcome.addresses);
        let lost = |rank: usize, why: String| Fault::Lost { rank, waiting: why };
        let mut links: Vec<Option<TcpStream>> = addresses.iter().map(|_| None).collect();
        for (peer, address) in addresses.iter().enumerate().take(rank) {
            let link = reach(address, member.limit).map_err(|why| lost(peer, format!("at {address} {why}")))?;
            let hello = [member.welcome.secret.to_le_bytes(), (rank as u64).to_le_bytes()].concat();
            (&link).write_all(&hello).map_err(|error| lost(peer, error.to_string()))?;
            links[peer] = Some(link);
        }
        member.listener.set_nonblocking(true).map_err(|error| lost(rank, error.to_string()))?;
        let began = Instant::now();
        while let Some(missing) = (rank + 1..links.len()).find(|&peer| links[peer].is_none()) {
            match member.listener.accept().ok().and_then(|(link, _)| known(member, link)) {
                Some((peer, link)) if peer > rank && peer < links.len() => links[peer] = Some(link),
                _ if member.shared.fault().is_some() => return Err(lost(missing, "all is over".to_string())),
                _ if began.elapsed() > member.limit => {
                    return Err(lost(missing, format!("it has not connected to rank {rank}")));
                }
                _ => thread::sleep(TICK),
            }
        }
        for link in links.iter().flatten() {
            let _ = link.set_nodelay(true);
            member.shared.keep(link);
        }
        Ok(Links { rank, links })
    }

    /// A rank's part of a collective: sends and receives at once.
    ///
    /// # Errors
    /// [`Fault::Lost`], [`Fault::OtherOrder`] and [`Fault::WrongCount`], with the ranks' numbers.
    pub fn exchange(
        &self,
        step: usize,
        sends: &[(usize, Vec<u8>)],
        receives: &mut [(usize, Vec<u8>)],
    ) -> Result<(), Fault> {
        let link = |peer: usize| {
            let link = self.links.get(peer).and_then(Option::as_ref);
            link.ok_or_else(|| self.lost(peer, step))
        };
        thread::scope(|scope| {
            let sending = |(peer, bytes): &(usize, Vec<u8>)| -> Result<(), Fault> {
                let mut link = link(*peer)?;
                let head = [(step as u64).to_le_bytes(), (bytes.len() as u64).to_le_bytes()].concat();
                link.write_all(&head).and_then(|()| link.write_all(bytes)).map_err(|_| self.lost(*peer, step))
            };
            let threads: Vec<_> = sends.iter().map(|sent| scope.spawn(move || sending(sent))).collect();
            let received =
                receives.iter_mut().try_for_each(|(peer, bytes)| self.receive(link(*peer)?, (*peer, step), bytes));
            let sent = threads.into_iter().try_for_each(|thread| thread.join().unwrap_or(Ok(())));
            received.and(sent)
        })
    }

    fn receive(&self, mut link: &TcpStream, (peer, step): (usize, usize), bytes: &mut [u8]) -> Result<(), Fault> {
        let mut head = [0; 16];
        link.read_exact(&mut head).map_err(|_| self.lost(peer, step))?;
        let [there, sent] =
            [0, 8].map(|at| head[at..at + 8].iter().rev().fold(0, |sum, &byte| sum << 8 | u64::from(byte)));
        if there != step as u64 {
            return Err(Fault::OtherOrder { one: self.rank, at: step, other: peer, there: there as usize });
        }
        if sent != bytes.len() as u64 {
            return Err(Fault::WrongCount { step, from: peer, to: self.rank, sent, expected: bytes.len() as u64 });
        }
        link.read_exact(bytes).map_err(|_| self.lost(peer, step))
    }

    fn lost(&self, rank: usize, step: usize) -> Fault {
        Fault::Lost { rank, waiting: format!("rank {} waits for it in the collective of step {step}", self.rank) }
    }
}

/// Which rank has connected, if it is one of this product.
fn known(member: &Member, link: TcpStream) -> Option<(usize, TcpStream)> {
    let read = |link: &TcpStream| -> io::Result<[u8; 16]> {
        link.set_nonblocking(false)?;
        link.set_read_timeout(Some(member.limit))?;
        let (mut hello, mut link) = ([0; 16], link);
        link.read_exact(&mut hello)?;
        link.set_read_timeout(None)?;
        Ok(hello)
    };
    let hello = read(&link).ok()?;
    let (secret, rank) = hello.split_at(8);
    let rank = rank.iter().rev().fold(0u64, |sum, &byte| sum << 8 | u64::from(byte));
    (secret == member.welcome.secret.to_le_bytes()).then_some((rank as usize, link))
}
