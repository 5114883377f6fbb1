//! `lab ranks --processes`, and `--rank` with `--rendezvous`: each rank a process of its own.

use std::env;
use std::net::TcpListener;
use std::process::{self, Child, Command, ExitCode, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use clap::Args;
use common::progress::step;
use device::Backend;
use gemm::Error;
use gemm::check::Reference;
use gemm::problem::{Fill, Problem};
use ranks::gpus::member::{Alone, there};
use ranks::gpus::{By, Cards, Work};
use ranks::processes::links::Links;
use ranks::processes::member::{Lost, Member, join};
use ranks::processes::wire::Done;
use ranks::processes::{Meeting, rendezvous};
use ranks::{Fault, Plan, Variant, collected, emulated};
use serde::Serialize;

use super::{Ranks, json, measured, nccl};
use crate::output::{note, print};
use crate::provenance;
use crate::table::number;

/// How long others may take to hear that all is over.
const PARTING: Duration = Duration::from_secs(3);
/// Products that are timed, behind one that is not.
const RUNS: usize = 20;
/// Whether what is wrong has been said: two threads notice it.
static SAID: AtomicBool = AtomicBool::new(false);

/// Which ranks this process is.
#[derive(Debug, Clone, Args)]
pub struct Apart {
    /// Each rank in a process of its own, all started here: they meet at an address, and panels travel by sockets, or among GPUs by NCCL
    #[arg(long, conflicts_with_all = ["streamed", "rank"])]
    processes: bool,
    /// This process is one rank; the others are started elsewhere, with the same flags but this one
    #[arg(long, value_name = "I", requires = "rendezvous", conflicts_with = "streamed")]
    rank: Option<u16>,
    /// Where ranks meet: rank 0 listens there
    #[arg(long, value_name = "HOST:PORT", requires = "rank")]
    rendezvous: Option<String>,
    /// How panels travel between processes
    #[arg(long, value_name = "gather|collectives", value_parser = variant, default_value = "collectives")]
    variant: Variant,
    /// How long a rank may take to come to the rendezvous, and how long it may be silent
    #[arg(long, value_name = "SECONDS", value_parser = seconds, default_value = "60")]
    timeout: Duration,
    /// Whoever has started this process says what is wrong
    #[arg(long, hide = true, requires = "rank")]
    launched: bool,
}

fn variant(text: &str) -> Result<Variant, String> {
    let among = [Variant::Gather, Variant::Collectives];
    let found = among.into_iter().find(|variant| variant.name() == text);
    found.ok_or_else(|| format!("`{text}` is neither gather nor collectives; a copy reads no other process's memory"))
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse().ok().filter(|seconds: &f64| (0.1..=1e6).contains(seconds));
    seconds.map(Duration::from_secs_f64).ok_or_else(|| format!("`{text}` is no number of seconds from 0.1 to 1000000"))
}

impl Apart {
    /// Whether ranks are processes.
    pub fn is_asked(&self) -> bool {
        self.processes || self.rank.is_some()
    }
}

/// What is said of the whole product.
#[derive(Debug, Serialize)]
struct Said {
    plan: String,
    processes: usize,
    right: bool,
    /// Of the same plan in one process; nothing where this was not compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    same_bits: Option<bool>,
    /// Of the slowest rank.
    #[serde(skip_serializing_if = "Option::is_none")]
    ms: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tflops: Option<f64>,
}

/// A product whose ranks are processes.
struct Product<'a> {
    ranks: &'a Ranks,
    plan: Plan,
    meeting: Meeting,
    on_gpus: bool,
}

/// Runs one rank, or all.
pub fn run(ranks: &Ranks, plan: &dyn Fn(Variant) -> Result<Plan, Error>) -> Result<ExitCode, Error> {
    let on_gpus = matches!(ranks.backend, Some(Backend::Cuda | Backend::Auto));
    let plan = plan(ranks.apart.variant)?;
    let words = format!("{} by {}, {} rooms, seed {}", plan.layout, plan.variant.name(), ranks.rooms, ranks.seed);
    let device = if on_gpus { "GPUs" } else { "the emulator" };
    let meeting = Meeting {
        ranks: plan.layout.ranks(),
        program: format!("lab {}", provenance::version()),
        plan: format!("{words}, on {device}"),
        limit: ranks.apart.timeout,
    };
    let product = Product { ranks, plan, meeting, on_gpus };
    match ranks.apart.rank {
        None => product.launch(),
        Some(rank) => product.rank(rank.into()),
    }
}

impl Product<'_> {
    /// Starts a process for each rank, and hosts their rendezvous.
    fn launch(&self) -> Result<ExitCode, Error> {
        let ranks = self.meeting.ranks;
        if self.on_gpus && there()? < ranks {
            let message = format!("{ranks} ranks need as many GPUs, and this machine has {}", there()?);
            return Err(Error::usage(message, "`--rendezvous` lets ranks meet that run on several machines"));
        }
        let refused = |error| Error::usage(format!("cannot start a rank: {error}"), "see above");
        let listener = TcpListener::bind("127.0.0.1:0").map_err(refused)?;
        let address = listener.local_addr().map_err(refused)?.to_string();
        let mut children = Vec::new();
        let started = (0..ranks).try_for_each(|rank| {
            self.command(rank, &address).and_then(|mut command| command.spawn()).map(|child| children.push(child))
        });
        let ended = started.map_err(refused).and_then(|()| {
            let wrong = &mut || ended_early(&mut children);
            let hosted = step("running all ranks", || rendezvous::host(&listener, &self.meeting, &mut || (), wrong));
            hosted.map_err(|fault| Error::Fault(fault.to_string()))
        });
        part(children);
        self.report(ended?, true)
    }

    /// A rank's process.
    fn command(&self, rank: usize, address: &str) -> std::io::Result<Command> {
        let (ranks, layout) = (self.ranks, &self.plan.layout);
        let ([rows, columns], shape) = (layout.grid(), layout.shape());
        let mut command = Command::new(env::current_exe()?);
        command.args(["ranks", "--launched", "--rendezvous", address, "--rank", &rank.to_string()]);
        for (flag, value) in [
            ("--m", shape.m.to_string()),
            ("--n", shape.n.to_string()),
            ("--k", shape.k.to_string()),
            ("--dtype", ranks.dtype.name().to_string()),
            ("--grid", format!("{rows}x{columns}")),
            ("--rooms", ranks.rooms.to_string()),
            ("--seed", ranks.seed.to_string()),
            ("--backend", if self.on_gpus { "cuda" } else { "emulator" }.to_string()),
            ("--variant", self.plan.variant.name().to_string()),
            ("--timeout", self.meeting.limit.as_secs_f64().to_string()),
        ] {
            command.args([flag, &value]);
        }
        command.stdin(Stdio::null()).stdout(Stdio::null());
        Ok(command)
    }

    /// One rank; the first hosts the rendezvous, unless somebody else has started it.
    fn rank(&self, rank: usize) -> Result<ExitCode, Error> {
        let (apart, ranks) = (&self.ranks.apart, self.meeting.ranks);
        if rank >= ranks {
            let message = format!("rank {rank} of {ranks}");
            return Err(Error::usage(message, "ranks count from 0, and the grid says how many there are"));
        }
        // Before anything is begun: this process starts anew where NCCL is to be found.
        if self.on_gpus {
            nccl::reachable()?;
        }
        let address = apart.rendezvous.clone().unwrap_or_default();
        let hosts = rank == 0 && !apart.launched;
        let (address, host) = if hosts { self.host(&address)? } else { (address, None) };
        let worked = self.work(rank, &address, hosts);
        match (worked, host) {
            (Ok(()), Some(host)) => {
                let done = host.recv_timeout(PARTING).unwrap_or_else(|_| Err(gone(&address)));
                self.report(done.map_err(|fault| Error::Fault(fault.to_string()))?, false)
            }
            (Ok(()), None) => {
                print(&format!("rank {rank} of {ranks}: its block of C is done, and at rank 0\n"))?;
                Ok(ExitCode::SUCCESS)
            }
            (Err(error), host) => {
                // Others have heard of it then; and who hosts knows best.
                let hosted = host.map(|host| host.recv_timeout(PARTING));
                let error = match hosted {
                    Some(Ok(Err(fault))) => Error::Fault(fault.to_string()),
                    _ => error,
                };
                if SAID.swap(true, Ordering::SeqCst) {
                    // The other thread has said it, and ends the process.
                    thread::sleep(PARTING);
                }
                if apart.launched { Ok(ExitCode::from(error.exit_code())) } else { Err(error) }
            }
        }
    }

    /// Listens at the address. What comes of it is told by the receiver.
    #[allow(clippy::type_complexity)]
    fn host(&self, address: &str) -> Result<(String, Option<Receiver<Result<Vec<Done>, Fault>>>), Error> {
        let refused = |error: std::io::Error| {
            let fault = Fault::Rendezvous { address: address.to_string(), why: error.to_string() };
            Error::Fault(fault.to_string())
        };
        let listener = TcpListener::bind(address).map_err(refused)?;
        let place = listener.local_addr().map_err(refused)?.to_string();
        note(&format!("note: {} ranks meet at {place}", self.meeting.ranks));
        let (sender, receiver) = mpsc::channel();
        let meeting = self.meeting.clone();
        thread::spawn(move || {
            let all = &mut || note("note: all ranks are here");
            // Nobody listens any more, where this process ends.
            let _ = sender.send(rendezvous::host(&listener, &meeting, all, &mut || None));
        });
        Ok((place, Some(receiver)))
    }

    /// A rank's part, from the rendezvous to the block of C.
    fn work(&self, rank: usize, address: &str, hosts: bool) -> Result<(), Error> {
        let fault = |fault: Fault| Error::Fault(fault.to_string());
        let gpu = self.on_gpus.then(|| Alone::open(rank)).transpose();
        nccl::loaded();
        let gpu = gpu?;
        let library = gpu.as_ref().map(|gpu| format!("NCCL {}", gpu.nccl())).unwrap_or_default();
        let token = match &gpu {
            Some(gpu) if rank == 0 => gpu.token()?,
            _ => Vec::new(),
        };
        let lost = end(self.ranks.apart.launched, hosts);
        let met = || join(address, rank, &self.meeting, [library.into_bytes(), token], lost);
        let member = step("waiting for the other ranks", met).map_err(fault)?;
        match self.block(gpu, &member) {
            Ok(done) => member.done(done).map_err(fault),
            Err(error) => Err(fault(member.failed(error))),
        }
    }

    /// A rank's block of C.
    fn block(&self, gpu: Option<Alone>, member: &Member) -> Result<Done, Fault> {
        let (rank, what) = (member.rank, "multiplying");
        let failed = |error: Error| Fault::Rank { rank, why: error.to_string() };
        let Some(gpu) = gpu else {
            let links = Links::new(member)?;
            let problem = self.problem().map_err(failed)?;
            let inputs = [problem.a.bytes(), problem.b.bytes()];
            let exchange = &mut |step: usize, sends: &[_], receives: &mut [_]| links.exchange(step, sends, receives);
            let block = step(what, || emulated::run_rank(&self.plan, rank, inputs, exchange))?;
            return Ok(Done { block, milliseconds: None });
        };
        let connect = || gpu.connect(rank, self.meeting.ranks, member.token());
        let connected = step("connecting the ranks", connect).map_err(failed)?;
        let problem = self.problem().map_err(failed)?;
        let inputs = [problem.a.bytes(), problem.b.bytes()];
        let (block, mut times) = step(what, || connected.run(&self.plan, inputs, RUNS)).map_err(failed)?;
        times.sort_by(f64::total_cmp);
        Ok(Done { block, milliseconds: times.get(RUNS / 2).copied() })
    }

    fn fill(&self) -> Fill {
        if self.on_gpus { Fill::Reals } else { Fill::Integers }
    }

    fn problem(&self) -> Result<Problem, Error> {
        Problem::new(self.plan.layout.shape(), self.ranks.dtype, self.fill(), self.ranks.seed)
    }

    /// Checks the whole product, and says how it is.
    fn report(&self, done: Vec<Done>, compares: bool) -> Result<ExitCode, Error> {
        let problem = self.problem()?;
        let blocks: Vec<&[u8]> = done.iter().map(|done| done.block.as_slice()).collect();
        let c = collected(&self.plan.layout, &blocks);
        let same_bits = if compares { self.in_one_process(&problem)?.map(|one| one == c) } else { None };
        let right = measured::check(&Reference::of(&problem), &problem, self.fill(), c).right;
        let times: Option<Vec<f64>> = done.iter().map(|done| done.milliseconds).collect();
        let ms = times.map(|times| times.into_iter().fold(0.0, f64::max));
        let operations = 2.0 * self.plan.layout.shape().multiply_adds() as f64;
        let (plan, processes) = (self.meeting.plan.clone(), self.meeting.ranks);
        let tflops = ms.map(|ms| operations / ms / 1e9);
        let said = Said { plan, processes, right, same_bits, ms, tflops };
        print(&if self.ranks.json { json(&said)? } else { said.text() })?;
        Ok(if right && same_bits != Some(false) { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }

    /// The same plan, with all ranks in this process.
    fn in_one_process(&self, problem: &Problem) -> Result<Option<Vec<u8>>, Error> {
        let (a, b) = (problem.a.bytes(), problem.b.bytes());
        if !self.on_gpus {
            let one = step("running all ranks in one process", || emulated::run(&self.plan, a, b, None));
            return one.map(Some).map_err(|fault| Error::Fault(fault.to_string()));
        }
        let cards = Cards::open(self.meeting.ranks)?;
        let mut work = Work::new(&cards, self.plan.clone(), By::Summit, a, b)?;
        work.submit()?;
        work.product().map(Some)
    }
}

/// What ends this process when the rendezvous says that the product has failed: NCCL waits for ever for a rank that is lost.
fn end(launched: bool, hosts: bool) -> Lost {
    Box::new(move |fault| {
        if SAID.swap(true, Ordering::SeqCst) {
            return;
        }
        if !launched {
            note(&format!("error: {fault}"));
        }
        if hosts {
            // Others hear of it from this process.
            thread::sleep(Duration::from_millis(1200));
        }
        // The driver may wait for the GPU at the end of a process, and the GPU for the lost rank.
        thread::spawn(|| {
            thread::sleep(PARTING);
            process::abort();
        });
        process::exit(1);
    })
}

fn gone(address: &str) -> Fault {
    Fault::Rendezvous { address: address.to_string(), why: "its host does not answer".to_string() }
}

/// A rank whose process has ended before its time.
fn ended_early(children: &mut [Child]) -> Option<Fault> {
    children.iter_mut().enumerate().find_map(|(rank, child)| match child.try_wait() {
        Ok(Some(status)) if !status.success() => {
            Some(Fault::Lost { rank, waiting: format!("its process has ended, {status}") })
        }
        _ => None,
    })
}

/// Waits until all have ended; who does not is ended.
fn part(mut children: Vec<Child>) {
    let began = Instant::now();
    while began.elapsed() < PARTING && children.iter_mut().any(|child| matches!(child.try_wait(), Ok(None))) {
        thread::sleep(Duration::from_millis(10));
    }
    for child in &mut children {
        // It has ended, or ends now.
        let _ = child.kill();
        let _ = child.wait();
    }
}

impl Said {
    fn text(&self) -> String {
        let mut text = format!("{}\neach rank a process of its own\n\n", self.plan);
        let right = if self.right { "right" } else { "WRONG" };
        text += &format!("{} processes: {right}\n", self.processes);
        match self.same_bits {
            Some(true) => text += "every bit is that of the same ranks in one process\n",
            Some(false) => text += "NOT the bits of the same ranks in one process\n",
            None => (),
        }
        if let (Some(ms), Some(tflops)) = (self.ms, self.tflops) {
            text += &format!("{ms:.4} ms, {} TFLOP/s: the slowest rank's median of {RUNS}\n", number(tflops));
        }
        text
    }
}
