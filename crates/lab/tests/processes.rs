//! `lab ranks` with each rank in a process of its own, on emulated GPUs: started by one, and by hand.

mod lab;

use std::io::{BufRead, BufReader, Read};
use std::net::TcpStream;
use std::process::{Child, ChildStderr, Stdio};
use std::time::{Duration, Instant};

use lab::{command, lab, refused};
use ranks::processes::wire::{Greeting, Hello, Message, PROTOCOL};

/// In which a rank is to notice that another is gone. It takes far less.
const SOON: Duration = Duration::from_secs(20);

#[test]
fn ranks_of_their_own_processes_have_the_bits_of_one() {
    for flags in ["--size 96 --dtype f32", "--m 50 --n 20 --k 30 --grid 3x1 --variant gather", "--size 64 --grid 2x2"] {
        let said = lab(&format!("ranks --processes {flags}"));
        assert_eq!(said.code, 0, "{said:?}");
        assert!(
            said.stdout.contains(" processes: right\nevery bit is that of the same ranks in one process\n"),
            "{said:?}"
        );
    }
    let said = lab("ranks --processes --size 32 --json");
    let json: serde_json::Value = serde_json::from_str(&said.stdout).unwrap();
    assert_eq!((json["processes"].as_u64(), json["right"].as_bool()), (Some(2), Some(true)));
    assert_eq!(json["same_bits"].as_bool(), Some(true));
}

/// A process, and what it says on stderr.
struct Rank {
    process: Child,
    said: BufReader<ChildStderr>,
}

impl Rank {
    fn start(words: &str) -> Rank {
        let mut process =
            command(&format!("ranks {words}")).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let said = BufReader::new(process.stderr.take().unwrap());
        Rank { process, said }
    }

    /// The first rank, and where it waits for the others.
    fn first(flags: &str) -> (Rank, String) {
        let mut rank = Rank::start(&format!("--rank 0 --rendezvous 127.0.0.1:0 {flags}"));
        let line = rank.line();
        let place = line.rsplit(' ').next().unwrap().to_string();
        assert!(line.ends_with(&format!("ranks meet at {place}")), "{line}");
        (rank, place)
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.said.read_line(&mut line).unwrap();
        line.trim_end().to_string()
    }

    /// Its exit code, within a time, and all that it says.
    fn end(mut self) -> (Option<i32>, String) {
        let began = Instant::now();
        while self.process.try_wait().unwrap().is_none() {
            if began.elapsed() > SOON {
                self.process.kill().unwrap();
                panic!("it hangs");
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        let code = self.process.wait().unwrap().code();
        let mut all = String::new();
        self.said.read_to_string(&mut all).unwrap();
        self.process.stdout.take().unwrap().read_to_string(&mut all).unwrap();
        (code, all)
    }
}

#[test]
fn ranks_that_are_started_by_hand_meet_at_an_address() {
    let (first, place) = Rank::first("--size 64 --dtype f32");
    let second = Rank::start(&format!("--rank 1 --rendezvous {place} --size 64 --dtype f32"));
    let (code, said) = first.end();
    assert!(code == Some(0) && said.contains("2 processes: right\n"), "{said}");
    assert_eq!(second.end(), (Some(0), "rank 1 of 2: its block of C is done, and at rank 0\n".to_string()));
}

/// A product that takes the emulator far longer than this test.
const LONG: &str = "--size 4096 --dtype f32";

/// Two ranks at work.
fn at_work() -> (Rank, Rank) {
    let (mut first, place) = Rank::first(LONG);
    let second = Rank::start(&format!("--rank 1 --rendezvous {place} {LONG}"));
    assert_eq!(first.line(), "note: all ranks are here");
    (first, second)
}

#[test]
fn a_rank_that_is_killed_ends_the_other_with_its_name() {
    let (first, mut second) = at_work();
    second.process.kill().unwrap();
    let (code, said) = first.end();
    assert!(code == Some(1) && said.starts_with("error: rank 1 is lost: its connection has ended\nhint: "), "{said}");
    assert_eq!(said.matches("error:").count(), 1, "{said}");
    second.process.wait().unwrap();
}

#[test]
fn a_host_that_is_killed_ends_the_others() {
    let (mut first, second) = at_work();
    first.process.kill().unwrap();
    let (code, said) = second.end();
    assert!(code == Some(1) && said.contains("its host has ended"), "{said}");
    first.process.wait().unwrap();
}

#[test]
fn a_rank_that_never_comes_is_named_within_the_limit() {
    let (first, place) = Rank::first("--size 64 --timeout 0.5");
    let (code, said) = first.end();
    assert!(
        code == Some(1) && said.starts_with(&format!("error: rank 1 has not come to {place} within 0.5 s\n")),
        "{said}"
    );
    let said = lab(&format!("ranks --rank 1 --rendezvous {place} --timeout 0.3"));
    assert_eq!(said.code, 1);
    assert!(
        said.stderr.starts_with(&format!("error: no rendezvous at {place}: nobody answers within 0.3 s")),
        "{said:?}"
    );
}

#[test]
fn another_version_and_another_plan_are_named() {
    let (first, place) = Rank::first("--size 64");
    let stream = TcpStream::connect(&place).unwrap();
    Greeting { protocol: PROTOCOL, rank: 1 }.write(&stream).unwrap();
    Message::Hello(Hello { program: "lab 0.0.9".to_string(), ..Hello::default() }).write(&stream).unwrap();
    let (code, said) = first.end();
    assert!(
        code == Some(1) && said.starts_with("error: rank 1 has another program: lab 0.0.9, and it is to be lab "),
        "{said}"
    );

    let (first, place) = Rank::first("--size 64");
    let second = Rank::start(&format!("--rank 1 --rendezvous {place} --size 65"));
    for rank in [first, second] {
        let (code, said) = rank.end();
        assert!(code == Some(1) && said.starts_with("error: rank 1 has another plan: 65×65×65 in bf16"), "{said}");
    }
}

#[test]
fn what_no_rank_can_be_is_said_in_a_line() {
    refused("ranks --rank 1", "--rendezvous");
    refused("ranks --rendezvous a:1", "--rank");
    refused("ranks --rank 2 --rendezvous a:1", "rank 2 of 2");
    refused("ranks --processes --rank 0 --rendezvous a:1", "cannot be used with");
    refused("ranks --processes --variant copies", "`copies` is neither gather nor collectives");
    refused("ranks --processes --timeout 0", "`0` is no number of seconds from 0.1 to 1000000");
    let said = lab("ranks --rank 0 --rendezvous nowhere");
    assert!(said.code == 1 && said.stderr.starts_with("error: no rendezvous at nowhere: "), "{said:?}");
}
