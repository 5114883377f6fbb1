//! Ranks that meet at an address. Here each is a thread, with sockets of its own; the lab's tests have processes.

use std::net::{TcpListener, TcpStream};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use ranks::processes::Meeting;
use ranks::processes::links::Links;
use ranks::processes::member::{Member, join};
use ranks::processes::rendezvous::host;
use ranks::processes::wire::{Done, Greeting, Hello, Message, PROTOCOL};
use ranks::{Fault, Plan, Variant, collected, emulated};

use crate::{bytes, layout, numbers, plan, shape};

/// Long enough for a busy machine, where nothing is wrong.
const LONG: Duration = Duration::from_secs(60);
/// Where something is: nobody waits longer than a few of these.
const SHORT: Duration = Duration::from_millis(600);

fn meeting(ranks: usize, limit: Duration) -> Meeting {
    Meeting { ranks, program: "lab 1".to_string(), plan: "a plan".to_string(), limit }
}

/// What the host says, with each of these ranks on a thread of its own; and what each rank says.
fn met<R: Send>(
    meeting: &Meeting,
    ranks: &[usize],
    work: impl Fn(&str, usize) -> R + Sync,
) -> (Result<Vec<Done>, Fault>, Vec<R>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    thread::scope(|scope| {
        let (work, address) = (&work, &address);
        let threads: Vec<_> = ranks.iter().map(|&rank| scope.spawn(move || work(address, rank))).collect();
        let hosted = host(&listener, meeting, &mut || (), &mut || None);
        // As when its process ends: who comes now is not kept waiting.
        drop(listener);
        (hosted, threads.into_iter().map(|thread| thread.join().unwrap()).collect())
    })
}

fn come(address: &str, rank: usize, meeting: &Meeting) -> Result<Member, Fault> {
    join(address, rank, meeting, [Vec::new(), Vec::new()], Box::new(|_| ()))
}

/// A rank's whole part of a product.
fn part(address: &str, rank: usize, meeting: &Meeting, plan: &Plan, [a, b]: [&[u8]; 2]) -> Result<(), Fault> {
    let member = come(address, rank, meeting)?;
    let links = Links::new(&member)?;
    let block =
        emulated::run_rank(plan, rank, [a, b], &mut |step, sends, receives| links.exchange(step, sends, receives));
    member.done(Done { block: block?, milliseconds: None })
}

/// A and B of a plan.
fn inputs(plan: &Plan) -> [Vec<u8>; 2] {
    let shape = plan.layout.shape();
    [numbers(shape.m, shape.k, 1), numbers(shape.k, shape.n, 2)].map(|numbers| bytes(&numbers))
}

#[test]
fn ranks_that_meet_have_the_bits_of_one_process() {
    for (sizes, grid) in [((40, 24, 16), [2, 1]), ((13, 7, 5), [1, 2]), ((33, 50, 20), [2, 2]), ((9, 2, 4), [3, 1])] {
        for variant in [Variant::Gather, Variant::Collectives] {
            let plan = Plan::new(layout(shape(sizes), grid), variant, 2).unwrap();
            let [a, b] = inputs(&plan);
            let ranks: Vec<usize> = (0..plan.layout.ranks()).collect();
            let meeting = meeting(ranks.len(), LONG);
            let (hosted, parts) = met(&meeting, &ranks, |address, rank| part(address, rank, &meeting, &plan, [&a, &b]));
            assert!(parts.iter().all(Result::is_ok), "{parts:?}");
            let done = hosted.unwrap();
            let blocks: Vec<&[u8]> = done.iter().map(|done| done.block.as_slice()).collect();
            let one = emulated::run(&plan, &a, &b, None).unwrap();
            assert!(collected(&plan.layout, &blocks) == one, "{sizes:?} over {grid:?} by {variant:?}");
        }
    }
}

#[test]
fn copies_are_refused_where_memory_is_anothers() {
    let plan = plan(16, [2, 1], Variant::Copies);
    let [a, b] = inputs(&plan);
    let refused = emulated::run_rank(&plan, 0, [&a, &b], &mut |_, _, _| Ok(()));
    assert!(refused.unwrap_err().to_string().starts_with("rank 0: no copy reads another process's memory"));
}

#[test]
fn a_rank_that_never_comes_is_named_to_all() {
    let meeting = meeting(3, SHORT);
    let began = Instant::now();
    let (hosted, said) = met(&meeting, &[2, 0], |address, rank| come(address, rank, &meeting).unwrap_err());
    let missing = hosted.unwrap_err();
    assert!(matches!(&missing, Fault::Missing { ranks, .. } if *ranks == [1]), "{missing}");
    assert!(missing.to_string().starts_with("rank 1 has not come to 127.0.0.1:"), "{missing}");
    assert_eq!(said, [Fault::Told(missing.to_string()), Fault::Told(missing.to_string())]);
    assert!(began.elapsed() < 10 * SHORT);
}

#[test]
fn a_rank_of_another_version_is_named_to_all() {
    let ours = meeting(2, LONG);
    for (what, theirs) in [
        ("program", Meeting { program: "lab 2".to_string(), ..ours.clone() }),
        ("plan", Meeting { plan: "another plan".to_string(), ..ours.clone() }),
    ] {
        let come = |address: &str, rank| come(address, rank, if rank == 1 { &theirs } else { &ours });
        let (hosted, said) = met(&ours, &[0, 1], |address, rank| come(address, rank).map(|_| ()));
        let fault = hosted.unwrap_err();
        assert!(fault.to_string().starts_with(&format!("rank 1 has another {what}: ")), "{fault}");
        // The first may be refused before it has come at all; the other one hears it in any case.
        assert_eq!(said[1], Err(Fault::Told(fault.to_string())));
        assert!(said[0].is_err());
    }
}

#[test]
fn a_rank_of_another_protocol_is_named_whatever_it_says_next() {
    let meeting = meeting(2, LONG);
    let (hosted, _) = met(&meeting, &[1], |address, rank| {
        let stream = TcpStream::connect(address).unwrap();
        Greeting { protocol: PROTOCOL + 1, rank: rank as u32 }.write(&stream).unwrap();
        let theirs = Greeting::read(&stream).unwrap();
        assert_eq!(theirs, Greeting { protocol: PROTOCOL, rank: 2 });
    });
    let said = hosted.unwrap_err().to_string();
    assert!(
        said.starts_with(&format!("rank 1 has another protocol: {}, and it is to be {PROTOCOL}", PROTOCOL + 1)),
        "{said}"
    );
}

#[test]
fn a_host_of_another_protocol_is_named_by_the_rank() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let answers = thread::spawn(move || {
        let (stream, _) = listener.accept().unwrap();
        Greeting { protocol: PROTOCOL + 1, rank: 2 }.write(&stream).unwrap();
        Greeting::read(&stream).unwrap();
    });
    let said = come(&address, 1, &meeting(2, LONG)).unwrap_err().to_string();
    answers.join().unwrap();
    assert!(
        said.starts_with(&format!("rank 1 has another protocol: {PROTOCOL}, and it is to be {}", PROTOCOL + 1)),
        "{said}"
    );
}

#[test]
fn a_rank_that_is_lost_in_the_middle_ends_the_others() {
    let meeting = meeting(3, LONG);
    let began = Instant::now();
    let (heard, hears) = mpsc::channel();
    let (hosted, said) = met(&meeting, &[0, 1, 2], |address, rank| {
        let heard = heard.clone();
        let lost = Box::new(move |fault: &Fault| heard.send((rank, fault.clone())).unwrap());
        let member = join(address, rank, &meeting, [Vec::new(), Vec::new()], lost).unwrap();
        let links = Links::new(&member).unwrap();
        if rank == 1 {
            // All its sockets end, as those of a process that is killed.
            return None;
        }
        let fault = links.exchange(1, &[], &mut [(1, vec![0; 8])]).unwrap_err();
        Some(member.failed(fault))
    });
    let said: Vec<Fault> = said.into_iter().flatten().collect();
    let fault = hosted.unwrap_err().to_string();
    assert!(fault.starts_with("rank 1 is lost: "), "{fault}");
    assert_eq!(said, [Fault::Told(fault.clone()), Fault::Told(fault.clone())]);
    // Also who would wait in a collective for ever is told.
    let mut told: Vec<(usize, Fault)> = hears.try_iter().collect();
    told.sort_by_key(|(rank, _)| *rank);
    assert_eq!(told, [0, 2].map(|rank| (rank, Fault::Told(fault.clone()))));
    assert!(began.elapsed() < LONG / 2);
}

#[test]
fn a_rank_that_falls_silent_is_lost() {
    let meeting = meeting(2, SHORT);
    let (hosted, said) = met(&meeting, &[0, 1], |address, rank| {
        if rank == 0 {
            let member = come(address, rank, &meeting).unwrap();
            return member.done(Done::default()).unwrap_err().to_string();
        }
        // Greets as a rank, and then does nothing, with its sockets open: as a process that is stopped.
        let stream = TcpStream::connect(address).unwrap();
        Greeting { protocol: PROTOCOL, rank: 1 }.write(&stream).unwrap();
        let hello = Hello { program: meeting.program.clone(), plan: meeting.plan.clone(), ..Hello::default() };
        Message::Hello(hello).write(&stream).unwrap();
        thread::sleep(4 * SHORT);
        drop(stream);
        String::new()
    });
    let fault = hosted.unwrap_err().to_string();
    assert!(fault.starts_with("rank 1 is lost: it has been silent for 0.6 s"), "{fault}");
    assert_eq!(said[0], fault);
}

/// Rank 1 keeps its sockets open and sends nothing, as a process that is stopped; rank 2 says that all is over.
#[test]
fn who_waits_for_a_panel_is_released_when_all_is_over() {
    let meeting = meeting(3, LONG);
    let (released, waits) = mpsc::channel();
    let waits = std::sync::Mutex::new(waits);
    let (_, said) = met(&meeting, &[0, 1, 2], |address, rank| {
        let member = come(address, rank, &meeting).unwrap();
        // Where all is over before all are connected, there are no links.
        let links = Links::new(&member);
        match rank {
            0 => {
                let ended = links.and_then(|links| links.exchange(1, &[], &mut [(1, vec![0; 8])])).is_err();
                released.send(()).unwrap();
                ended
            }
            1 => waits.lock().unwrap().recv_timeout(LONG / 6).is_ok(),
            _ => {
                // The first waits by then.
                thread::sleep(SHORT);
                member.failed(Fault::Rank { rank, why: "no room".to_string() });
                true
            }
        }
    });
    assert_eq!(said, [true; 3]);
}

/// Ranks say that they are alive, so a long product is no silence.
#[test]
fn a_rank_may_work_for_longer_than_it_may_be_silent() {
    let meeting = meeting(2, SHORT);
    let (hosted, said) = met(&meeting, &[0, 1], |address, rank| {
        let member = come(address, rank, &meeting).unwrap();
        thread::sleep(3 * SHORT);
        member.done(Done { block: vec![rank as u8], milliseconds: Some(rank as f64) })
    });
    assert_eq!(said, [Ok(()), Ok(())]);
    let done = |rank: u8| Done { block: vec![rank], milliseconds: Some(rank.into()) };
    assert_eq!(hosted.unwrap(), [done(0), done(1)]);
}

#[test]
fn what_a_rank_cannot_do_ends_the_others_in_its_words() {
    let meeting = meeting(2, LONG);
    let (hosted, said) = met(&meeting, &[0, 1], |address, rank| {
        let member = come(address, rank, &meeting).unwrap();
        match rank {
            0 => member.done(Done::default()).unwrap_err(),
            _ => member.failed(Fault::Rank { rank, why: "no room".to_string() }),
        }
    });
    assert_eq!(hosted.unwrap_err(), Fault::Told("rank 1: no room".to_string()));
    assert_eq!(said[0], Fault::Told("rank 1: no room".to_string()));
}

#[test]
fn a_second_process_of_a_rank_and_a_rank_beyond_the_last_are_refused() {
    for (ranks, said) in
        [([1, 1], "rank 1 has another process: a second one"), ([0, 5], "rank 5 has another number: 5")]
    {
        let meeting = meeting(2, LONG);
        let (hosted, _) = met(&meeting, &ranks, |address, rank| come(address, rank, &meeting).map(|_| ()));
        let fault = hosted.unwrap_err().to_string();
        assert!(fault.starts_with(said), "{fault}");
    }
}

#[test]
fn who_is_no_rank_is_not_listened_to() {
    use std::io::Write;
    let meeting = meeting(2, LONG);
    let (hosted, said) = met(&meeting, &[0, 1], |address, rank| {
        if rank == 0 {
            TcpStream::connect(address).unwrap().write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
            drop(TcpStream::connect(address).unwrap());
        }
        come(address, rank, &meeting).unwrap().done(Done::default())
    });
    assert!(hosted.is_ok() && said == [Ok(()), Ok(())], "{hosted:?} {said:?}");
}

#[test]
fn what_the_host_knows_to_be_wrong_ends_the_ranks() {
    let meeting = meeting(2, LONG);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let lost = || Fault::Lost { rank: 1, waiting: "its process has ended".to_string() };
    thread::scope(|scope| {
        let comes = scope.spawn(|| come(&address, 0, &meeting).map(|_| ()));
        let began = Instant::now();
        let wrong = &mut || (began.elapsed() > SHORT).then(lost);
        assert_eq!(host(&listener, &meeting, &mut || (), wrong), Err(lost()));
        assert_eq!(comes.join().unwrap(), Err(Fault::Told(lost().to_string())));
    });
}
