//! The record of Nsight Compute: launches, and what their warps waited for.

use gemm::{Build, Dtype, Error, Shape};
use levels::LEVELS;
use sm_model::waits::Why;

/// Kinds of waits that the model is judged by: throttles together.
pub const GROUPS: [(&str, &[Why]); 5] = [
    ("issue", &[Why::Issue]),
    ("long", &[Why::LongScoreboard]),
    ("short", &[Why::ShortScoreboard]),
    ("barrier", &[Why::Barrier]),
    ("throttle", &[Why::MioThrottle, Why::LgThrottle, Why::MathPipeThrottle]),
];

/// The shares of [`GROUPS`].
pub type Shares = [f64; GROUPS.len()];

/// A launch on record.
pub struct Read {
    pub level: String,
    pub arguments: String,
    pub shares: Shares,
    /// The shares of [`Why::ALL`].
    pub each: [f64; Why::ALL.len()],
}

/// A level's number, of its name.
pub fn number(level: &str) -> Option<u32> {
    level.strip_prefix("level")?.split('-').next()?.parse().ok()
}

/// The build and the problem of a launch on record.
pub fn launch_of(read: &Read) -> Result<(Build, Shape), Error> {
    let unlike = || Error::usage(format!("no such launch: {} {}", read.level, read.arguments), "renew the record");
    let level = LEVELS.iter().find(|level| level.name == read.level).ok_or_else(unlike)?;
    let mut build = level.default_build(Dtype::F32);
    let (mut shape, mut words) = (Shape { m: 0, n: 0, k: 0 }, read.arguments.split_whitespace());
    let mut tiles: Vec<(String, u32)> =
        level.tiles.iter().map(|(name, _)| ((*name).to_string(), build.configuration.tiles[name])).collect();
    while let (Some(flag), Some(value)) = (words.next(), words.next()) {
        match (flag, value.parse::<u32>(), value.split_once('=')) {
            ("--size", Ok(size), _) => shape = Shape { m: size, n: size, k: size },
            ("--m", Ok(size), _) => shape.m = size,
            ("--n", Ok(size), _) => shape.n = size,
            ("--k", Ok(size), _) => shape.k = size,
            ("--define", _, Some((name, size))) => {
                let tile = tiles.iter_mut().find(|(known, _)| known == name).ok_or_else(unlike)?;
                tile.1 = size.parse().map_err(|_| unlike())?;
            }
            _ => return Err(unlike()),
        }
    }
    let named: Vec<String> = tiles.iter().map(|(name, size)| format!("{name}={size}")).collect();
    let variant = build.configuration.variant;
    build = level.build_named(Dtype::F32, variant, &named.join(" ")).ok_or_else(unlike)?;
    Ok((build, shape))
}

/// The launches on record.
pub fn record(text: &str) -> Result<Vec<Read>, Error> {
    let unlike =
        |what: &str| Error::usage(format!("the record of waits is not whole: {what}"), "`cargo x ncu-waits` makes it");
    let mut reader = csv::ReaderBuilder::new().comment(Some(b'#')).from_reader(text.as_bytes());
    let names = reader.headers().map_err(|error| unlike(&error.to_string()))?.clone();
    let column = |why: Why| {
        let metric = format!("smsp__average_warps_issue_stalled_{}_per_issue_active.ratio", why.name());
        names.iter().position(|name| name == metric)
    };
    let mut launches = Vec::new();
    for row in reader.records() {
        let row = row.map_err(|error| unlike(&error.to_string()))?;
        let cell = |at: usize| row.get(at).unwrap_or_default();
        // Clocks that a warp waits for this reason, for each instruction; the instruction itself takes one.
        let clocks = |why: Why| match column(why) {
            Some(at) => cell(at).parse::<f64>().unwrap_or(0.0),
            None => f64::from(why == Why::Issue),
        };
        let all: f64 = Why::ALL.into_iter().map(clocks).sum();
        let shares = GROUPS.map(|(_, whys)| whys.iter().map(|&why| clocks(why)).sum::<f64>() / all);
        let each = Why::ALL.map(|why| clocks(why) / all);
        launches.push(Read { level: cell(0).to_string(), arguments: cell(1).to_string(), shares, each });
    }
    Ok(launches)
}
