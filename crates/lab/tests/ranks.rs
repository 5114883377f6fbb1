//! `lab ranks`: a plan, its bytes and its model; and the plan runs on emulated ranks, in one process and in one each.

mod lab;

use std::io::{BufRead, BufReader, Read};
use std::net::TcpStream;
use std::process::{Child, ChildStderr, Stdio};
use std::time::{Duration, Instant};

use lab::{command, lab, refused};
use ranks::processes::wire::{Greeting, Hello, Message, PROTOCOL};

#[test]
fn a_plan_says_who_sends_what_when_and_how_much() {
    let said = lab("ranks --size 4096 --grid 2x1");
    assert_eq!(said.code, 0, "{said:?}");
    assert!(said.stdout.starts_with("4096×4096×4096 in bf16 over 2×1 ranks\n"), "{said:?}");
    // Half of B, into each of two ranks.
    let steps: Vec<Vec<&str>> = words(&said.stdout, "step 1").collect();
    assert_eq!(steps, [["step", "1", "1", "0", "B's", "16777216"], ["step", "1", "0", "1", "B's", "16777216"]]);
    for variant in ["gather", "collectives", "copies"] {
        let row = words(&said.stdout, variant).next().unwrap();
        assert_eq!((row.len(), row[1]), (6, "16777216"), "{said:?}");
    }
    assert!(said.stdout.contains("times by a model, of no measurement"), "{said:?}");
}

fn words<'a>(text: &'a str, begin: &'a str) -> impl Iterator<Item = Vec<&'a str>> {
    text.lines().filter(move |line| line.starts_with(begin)).map(|line| line.split_whitespace().collect())
}

#[test]
fn a_slower_link_makes_products_wait() {
    let waiting = |link: &str| {
        let said = lab(&format!("ranks --size 4096 --grid 2x1 --json --link {link}"));
        let json: serde_json::Value = serde_json::from_str(&said.stdout).unwrap();
        json["variants"][2]["modelled"]["waiting_ms"].as_f64().unwrap()
    };
    assert!(waiting("100000") < 1e-9 && waiting("1") > 10.0);
}

#[test]
fn every_variant_runs_on_emulated_ranks() {
    for flags in ["--size 40 --grid 3x1 --rooms 1", "--m 50 --n 20 --k 30 --grid 2x2 --dtype f32"] {
        let said = lab(&format!("ranks {flags} --backend emulator"));
        assert_eq!((said.code, said.stdout.matches(" emulated ranks: right: ").count()), (0, 3), "{said:?}");
    }
}

#[test]
fn what_cannot_be_planned_is_said_in_a_line() {
    refused("ranks --grid 0x2", "a grid of 0×2 has no rank, or more than 1024");
    refused("ranks --grid 65x1", "65 ranks are to be planned, and 64 are the most");
    refused("ranks --dtype e4m3", "no product over ranks in e4m3");
    refused("ranks --link 0", "`0` is no number above 0");
    // What is too large for any card has a plan.
    assert_eq!(lab("ranks --size 2147483647 --grid 8x8").code, 0);
}

/// 103 GB of matrices on a card of 80: B and C travel once, A once for each of four parts of B.
#[test]
fn a_streamed_product_says_its_parts_and_its_bytes() {
    let said = lab("ranks --streamed --size 131072");
    assert_eq!(said.code, 0, "{said:?}");
    assert!(said.stdout.contains("parts           64, of 8192 rows of A with 32768 columns of B\n"), "{said:?}");
    assert!(said.stdout.contains("over the link   171.799 GB to the card, 34.360 GB from there\n"), "{said:?}");
    let whole = lab("ranks --streamed --m 65536 --n 65536 --k 4096 --panels 65536x65536");
    assert!(whole.stdout.contains("parts           1, "), "{whole:?}");
    refused("ranks --streamed --dtype tf32", "no streamed product in tf32");
    refused("ranks --streamed --panels 1x1 --size 2000000", "4000000000000 parts, and 1048576 are the most");
    refused("ranks --streamed --panels 0x1", "in parts of 0 rows and 1 columns");
    refused("ranks --streamed --backend emulator", "a streamed product runs on a GPU");
    refused("ranks --panels 4x4", "--streamed");
}

/// What the page shows is what the program draws. `lab ranks --size 8192 --grid 4x1 --timeline book/src/figures/ranks-variants.svg` makes it anew.
#[test]
fn the_pages_timelines_are_those_of_the_program() {
    let file = lab::scratch("ranks-variants").join("drawn.svg");
    let said = lab(&format!("ranks --size 8192 --grid 4x1 --json --timeline {}", file.display()));
    assert_eq!(said.code, 0, "{said:?}");
    let drawn = std::fs::read_to_string(file).unwrap();
    assert!(drawn == std::fs::read_to_string(lab::root().join("book/src/figures/ranks-variants.svg")).unwrap());
    // As many transfers and products as the plan has, and the last one ends with the whole.
    let json: serde_json::Value = serde_json::from_str(&said.stdout).unwrap();
    for (variant, transfers) in [(0, 1), (1, 3), (2, 3)] {
        let modelled = &json["variants"][variant]["modelled"];
        let all = modelled["timeline"].as_array().unwrap();
        let count = |stream: &str| all.iter().filter(|stretch| stretch["stream"] == stream).count();
        assert_eq!((count("transfers"), count("products")), (transfers, 4), "{modelled}");
        let end = all.iter().map(|stretch| stretch["end_ms"].as_f64().unwrap()).fold(0.0, f64::max);
        assert_eq!(Some(end), modelled["ms"].as_f64());
    }
    refused("ranks --size 2147483647 --timeline a.svg", "no times are predicted of 2147483647");
    refused("ranks --timeline /no/such/folder/a.svg", "/no/such/folder/a.svg cannot be written: ");
}

/// Every variant side by side: as many bytes as the formula says, and run on emulated ranks.
#[test]
fn variants_are_compared_over_gpus() {
    let said = lab("compare --gpus 4 --size 256 --dtype f32 --backend emulator --json");
    assert_eq!(said.code, 0, "{said:?}");
    let json: serde_json::Value = serde_json::from_str(&said.stdout).unwrap();
    let rows = json["rows"].as_array().unwrap();
    let names: Vec<&str> = rows.iter().map(|row| row["kernel"].as_str().unwrap()).collect();
    assert_eq!(names, ["gather", "collectives", "copies"]);
    for row in rows {
        // 256² · 3/4 elements of four bytes.
        assert_eq!((row["received_bytes"].as_u64(), row["ranks"].as_u64()), (Some(196_608), Some(4)), "{row}");
        assert_eq!((row["verdict"].as_str(), row["ms_is"].as_str()), (Some("right"), Some("predicted")), "{row}");
    }
    // The model is the one of `lab ranks`.
    let same = lab("ranks --size 256 --dtype f32 --grid 1x4 --json");
    let same: serde_json::Value = serde_json::from_str(&same.stdout).unwrap();
    for (row, of) in rows.iter().zip(same["variants"].as_array().unwrap()) {
        assert_eq!(row["ms"], of["modelled"]["ms"]);
        assert_eq!(row["efficiency"], of["modelled"]["efficiency"]);
    }
    let text = lab("compare --gpus 2 --backend emulator").stdout;
    assert!(text.contains("C (8192 x 8192)") && text.contains("times by a model, of no measurement"), "{text}");
    assert!(text.contains("has run on emulated ranks at 128×128×128"), "{text}");
    refused("compare --gpus 65", "65 is not in 1..=64");
    refused("compare --gpus 2 --levels 1", "'--gpus <N>' cannot be used with '--levels <LEVELS>'");
    refused("compare --gpus 2 --no-sanitize", "a product over several GPUs does not take --no-sanitize");
    refused("compare --gpus 2 --dtype e4m3", "no product over ranks in e4m3");
}

#[test]
fn a_sweep_over_gpus_is_a_row_for_each_variant_and_number() {
    let said = lab("sweep --over gpus --size 100 --gpus 1,3 --backend emulator --csv");
    assert_eq!((said.code, said.stdout.lines().count()), (0, 1 + 2 * 3), "{said:?}");
    let text = lab("sweep --over gpus --size 8192 --dtype bf16 --gpus 1,2 --backend emulator").stdout;
    let bytes: Vec<Vec<&str>> = words(text.split("bytes into a GPU").nth(1).unwrap(), "2 GPUs").collect();
    assert_eq!(bytes[0][2..], ["67108864"; 3], "{text}");
    refused("sweep --over gpus --sizes 64", "a sweep over GPUs does not take --sizes");
    refused("sweep --over gpus --levels 1", "a sweep over GPUs does not take --levels");
    refused("sweep --over gpus --svg a.svg", "a sweep over GPUs does not take --svg");
    refused("sweep --gpus 2", "a sweep over sizes does not take --gpus");
    refused("sweep --over gpus --gpus 0", "0 is not in 1..=64");
}

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
