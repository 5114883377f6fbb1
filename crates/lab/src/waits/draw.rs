//! A timeline of a launch, as a picture, and what it comes to, in words.

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use gemm::{Error, Shape};
use sm_model::assemble::Kind;
use sm_model::gpus::Published;
use sm_model::sm::{Block, Outcome, Span};
use sm_model::waits::{Tally, Why};

use super::model::{LENGTHS, Machine, Recorded, Runs};
use super::record::{GROUPS, Read, launch_of, number, record};
use super::{RECORD, Waits};
use crate::flags;
use crate::output::{note, say};
use crate::sheet::Sheet;
use crate::timeline::{self as picture, KINDS, Tile, Timeline};

/// The lessons that show a timeline, and of which size.
const SHOWN: [u32; 4] = [2, 3, 5, 6];
const SIZE: &str = "--size 1024";

/// Shares of [`Why::ALL`].
type Each = [f64; Why::ALL.len()];

/// What is drawn of a launch.
struct Drawn {
    machine: Machine,
    launch: String,
    /// What the model says of the launch, and what it is to be held against: Nsight Compute, or the model of the GPU that it read.
    shares: Each,
    against: Each,
    outcome: Outcome,
    /// The block of each warp.
    blocks: Vec<usize>,
    tiles: Vec<Tile>,
    /// The clocks that are shown.
    shown: (u32, u32),
    steps: u32,
}

impl Drawn {
    /// The clocks that are asked for or, from the middle of the run on, those of a step along K.
    fn of(read: &Read, machine: Machine, shown: Option<(u32, u32)>) -> Result<Drawn, Error> {
        let (build, shape) = launch_of(read)?;
        let shape = Shape { k: shape.k.min(LENGTHS[1]), ..shape };
        let recorded = Recorded::of(&build, shape, &machine)?;
        let (assembled, outcome) = recorded.timeline();
        let steps = shape.k.div_ceil(build.tile().k).max(1);
        let middle = outcome.clocks / 2;
        let (from, to) = shown.unwrap_or((middle, middle + outcome.clocks / steps));
        let (from, to) = (from.min(outcome.clocks), to.min(outcome.clocks.max(from + 1)));
        let shares = shares(read, &machine)?;
        let against = if machine.is_measured() { read.each } else { self::shares(read, &Machine::of_the_record())? };
        Ok(Drawn {
            machine,
            launch: format!("{} {}", read.level, read.arguments),
            shares,
            against,
            blocks: assembled.iter().enumerate().flat_map(|(block, warps)| warps.iter().map(move |_| block)).collect(),
            tiles: tiles(&assembled, &outcome, steps),
            outcome,
            shown: (from, to),
            steps,
        })
    }

    /// What it is, and how far it can be trusted, in lines.
    fn model(&self) -> Vec<String> {
        let name = self.machine.gpu.name;
        let article = if name.starts_with(['A', 'H', 'L', 'R']) { "an" } else { "a" };
        let mut lines = vec![format!("MODEL of {article} {name}'s SM")];
        lines.extend((!self.machine.is_measured()).then(|| "by published figures, not measured here".to_string()));
        lines
    }

    fn picture(&self) -> Sheet {
        let grouped = |each: &Each| KINDS.map(|(_, whys)| whys.iter().map(|&why| each[why as usize]).sum());
        let (own, other) =
            if self.machine.is_measured() { ("model", "Nsight Compute") } else { (self.machine.gpu.name, "H200") };
        picture::draw(&Timeline {
            title: "What warps do in a step along K",
            launch: &self.launch.replace(" --size", ", n ="),
            model: &self.model().iter().map(String::as_str).collect::<Vec<_>>(),
            columns: [(own, grouped(&self.shares)), (other, grouped(&self.against))],
            outcome: &self.outcome,
            blocks: &self.blocks,
            tiles: &self.tiles,
            shown: self.shown,
        })
    }

    /// The shares, and what stands in brackets beside them.
    fn in_words(&self) -> String {
        let share = |each: &Each, whys: &[Why]| -> f64 { whys.iter().map(|&why| 100.0 * each[why as usize]).sum() };
        let each = GROUPS.iter();
        let words = each
            .map(|(name, whys)| format!("{name} {:.0} ({:.0})", share(&self.shares, whys), share(&self.against, whys)));
        let words = words.collect::<Vec<_>>().join(", ");
        match Published::of(self.machine.gpu).filter(|_| !self.machine.is_measured()) {
            None => format!("shares in percent, in brackets as Nsight Compute read them: {words}"),
            Some(published) => format!(
                "shares in percent, in brackets those of the model of an H200: {words}\nfigures: {}; they were not held \
                 against such a GPU",
                published.source
            ),
        }
    }
}

/// The model's shares of a launch.
fn shares(read: &Read, machine: &Machine) -> Result<Each, Error> {
    let runs = Runs::on(read, machine)?;
    let tally: Tally = runs.tally(&runs.assembled(&machine.figures), &machine.figures);
    Ok(Why::ALL.map(|why| tally.share(why)))
}

/// When each block multiplies with which tile: from the first of its warps to the last.
fn tiles(blocks: &[Block], outcome: &Outcome, steps: u32) -> Vec<Tile> {
    let issues = |lane: &[Span]| -> Vec<u32> {
        lane.iter().filter(|span| span.why == Why::Issue).flat_map(|span| span.from..span.to).collect()
    };
    let mut lanes = outcome.lanes.iter();
    let mut tiles = Vec::new();
    for (block, warps) in blocks.iter().enumerate() {
        let mut spans = vec![(u32::MAX, 0); steps as usize];
        for (ops, lane) in warps.iter().zip(&mut lanes) {
            let fmas: Vec<u32> =
                ops.iter().zip(issues(lane)).filter(|(op, _)| op.kind == Kind::Fma).map(|(_, clock)| clock).collect();
            for (step, some) in fmas.chunks_exact((fmas.len() / steps as usize).max(1)).take(spans.len()).enumerate() {
                let (first, last) = (some[0], some[some.len() - 1] + 1);
                spans[step] = (spans[step].0.min(first), spans[step].1.max(last));
            }
        }
        // Where warps are at two tiles, the next one begins.
        for step in 1..spans.len() {
            spans[step - 1].1 = spans[step - 1].1.min(spans[step].0);
        }
        let used = spans.into_iter().enumerate().filter(|(_, (from, to))| from < to);
        tiles.extend(used.map(|(step, (from, to))| (block, step as u32, from, to)));
    }
    tiles
}

/// A timeline of a launch into a file, and what it comes to.
pub fn draw(waits: &Waits, read: &Read, file: &Path) -> Result<ExitCode, Error> {
    let machine = match &waits.gpu {
        Some(name) => Machine::of(flags::modelled(name)?)?,
        None => Machine::of_the_record(),
    };
    let drawn = Drawn::of(read, machine, waits.clocks)?;
    fs::write(file, drawn.picture().finish())
        .map_err(|error| Error::usage(format!("cannot write {}: {error}", file.display()), "name another file"))?;
    let Drawn { launch, outcome, shown, steps, .. } = &drawn;
    say(&format!(
        "{}: {launch}, clocks {} to {}\n{}\n{} clocks for {steps} steps along K; {:.2} instructions a clock\n",
        drawn.model().join(" "),
        shown.0,
        shown.1,
        drawn.in_words(),
        outcome.clocks,
        outcome.issued as f64 / f64::from(outcome.clocks.max(1)),
    ))?;
    note(&format!("{} written", file.display()));
    Ok(ExitCode::SUCCESS)
}

/// The timelines that the lessons show, by their files in the repository: what `lab waits --timeline` draws.
pub fn pictures(text: &str) -> Result<Vec<(String, String)>, Error> {
    sheets(text)?.into_iter().map(|(name, sheet)| Ok((name, sheet.finish()))).collect()
}

fn sheets(text: &str) -> Result<Vec<(String, Sheet)>, Error> {
    let launches = record(text)?;
    let lesson = |level: u32| {
        let is = |read: &&Read| number(&read.level) == Some(level) && read.arguments == SIZE;
        let read = launches.iter().find(is);
        let read =
            read.ok_or_else(|| Error::usage(format!("{RECORD} lacks level {level} {SIZE}"), "renew the record"))?;
        let drawn = Drawn::of(read, Machine::of_the_record(), None)?;
        Ok((format!("book/src/figures/lesson{level}-warps.svg"), drawn.picture()))
    };
    SHOWN.into_iter().map(lesson).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(level: u32, gpu: &str) -> Result<Drawn, Error> {
        let launches = record(include_str!("../../../../book/measurements/nvidia-h200-waits.csv")).unwrap();
        let is = |read: &&Read| number(&read.level) == Some(level) && read.arguments == SIZE;
        Drawn::of(launches.iter().find(is).unwrap(), Machine::of(flags::modelled(gpu)?)?, None)
    }

    fn refusal(level: u32, gpu: &str) -> (String, u8) {
        let error = of(level, gpu).err().unwrap();
        let Error::Usage { message, .. } = &error else { panic!("{error}") };
        (message.clone(), error.exit_code())
    }

    #[test]
    fn texts_have_room_on_every_gpu() {
        for (name, sheet) in sheets(include_str!("../../../../book/measurements/nvidia-h200-waits.csv")).unwrap() {
            assert_eq!(sheet.crowded(), Vec::<String>::new(), "{name}");
        }
        for (level, gpu) in [(2, "t4"), (2, "a100"), (3, "l20"), (5, "t4"), (5, "rtx 5090"), (6, "a100"), (6, "l20")] {
            let drawn = of(level, gpu).unwrap();
            assert_eq!(drawn.picture().crowded(), Vec::<String>::new(), "{level} {gpu}");
            assert_eq!(drawn.model().last().unwrap(), "by published figures, not measured here");
            assert!(!drawn.tiles.is_empty() && drawn.outcome.clocks > 1000);
        }
    }

    #[test]
    fn an_sm_holds_as_many_blocks_as_fit_there() {
        let blocks = |level, gpu| of(level, gpu).unwrap().blocks.last().map_or(0, |last| last + 1);
        // 1,024 tiles of 32 × 32: eight blocks fit on an SM of a T4, and an H200 has 132 SMs for them all.
        assert_eq!((blocks(2, "t4"), blocks(2, "h200")), (8, 8));
        assert_eq!((blocks(3, "t4"), blocks(3, "l20")), (4, 5));
    }

    #[test]
    fn a_slower_memory_is_waited_for_longer() {
        let launches = record(include_str!("../../../../book/measurements/nvidia-h200-waits.csv")).unwrap();
        let is = |read: &&Read| number(&read.level) == Some(5) && read.arguments == SIZE;
        let read = launches.iter().find(is).unwrap();
        let long = |times: u32| {
            let mut machine = Machine::of(flags::modelled("a100").unwrap()).unwrap();
            machine.figures.dram *= times;
            machine.figures.l2 *= times;
            shares(read, &machine).unwrap()[Why::LongScoreboard as usize]
        };
        let (one, two) = (long(1), long(2));
        assert!(two > one + 0.05, "{one} {two}");
        let wide = shares(read, &Machine::of(flags::modelled("h200").unwrap()).unwrap()).unwrap();
        let far = shares(read, &Machine::of(flags::modelled("rtx 5090").unwrap()).unwrap()).unwrap();
        assert!(far[Why::LongScoreboard as usize] > wide[Why::LongScoreboard as usize]);
    }

    #[test]
    fn what_a_gpu_cannot_run_or_nobody_published_is_refused_in_a_line() {
        let (message, code) = refusal(6, "t4");
        assert!(message.contains("which came with sm_80, and T4 is sm_75"), "{message}");
        assert_eq!((code, message.lines().count()), (2, 1));
        for gpu in ["k80", "gtx1080"] {
            let (message, code) = refusal(2, gpu);
            assert!(message.starts_with("no figures of a "), "{message}");
            assert_eq!((code, message.lines().count()), (2, 1));
        }
        assert_eq!(refusal(2, "voodoo 2"), ("no GPU named \"voodoo 2\" is modelled".to_string(), 2));
    }
}
