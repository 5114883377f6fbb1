//! What an SM does with its tiles, level 14 beside level 20: how many it gets is what the launches say; the times are not to scale.

use gemm::{Dtype, Error, Level, Shape};
use levels::{level14_clusters, level20_persistent};

use super::traced::{build_of, unlike};
use lab::sheet::{Area, MARGIN, Sheet};
use lab::svg::Anchor;

/// BM, BN, STAGES, CLUSTER; and BLOCKS.
const SIZES: [u32; 5] = [128, 256, 4, 2, 132];
/// A large product, of which each SM has some tiles.
const SHAPE: Shape = Shape { m: 4096, n: 4096, k: 4096 };

/// How long a block sets up its barriers, waits for its first tiles, multiplies, and stores; how long a tile goes to shared memory.
const BEGINS: u32 = 1;
const FETCHES: u32 = 1;
const PRODUCTS: u32 = 5;
const STORES: u32 = 2;
const LEAVES: u32 = 1;
const TICK: f64 = 18.0;
const LEFT: f64 = MARGIN + 100.0;
const HEIGHT: f64 = 26.0;

/// What something does, from when to when, how it is drawn, and its words.
type Work = (u32, u32, &'static str, String);

pub fn draw() -> Result<Sheet, Error> {
    let tiles = tiles_of_an_sm()?;
    let last = tiles * (BEGINS + FETCHES + PRODUCTS + STORES);
    let mut sheet = Sheet::new(
        LEFT + TICK * f64::from(last) + MARGIN,
        &format!("{tiles} tiles on an SM"),
        "In level 14 each tile has a block of its own, which begins, fetches, multiplies and stores. In level 20 a block makes all of them: \
         the producer fetches ahead, and a tile leaves by copies while the next one is multiplied.",
    );
    let mut y = 52.0;
    let one = BEGINS + FETCHES + PRODUCTS + STORES;
    let (mut fetched, mut cores, mut stored) = (Vec::new(), Vec::new(), Vec::new());
    for tile in 0..tiles {
        let from = tile * one;
        let (products, stores) = (from + BEGINS + FETCHES, from + one - STORES);
        fetched.push((from, from + BEGINS, "o", String::new()));
        fetched.push((from + BEGINS, stores - 1, "a", tile.to_string()));
        cores.push((from, products, "x", String::new()));
        cores.push((products, stores, "c", format!("tile {tile}")));
        cores.push((stores, stores + STORES, "x", String::new()));
        stored.push((stores, stores + STORES, "b", tile.to_string()));
    }
    y = rows(
        &mut sheet,
        y,
        &level14_clusters::LEVEL,
        &[("fetched", fetched), ("tensor cores", cores), ("stored", stored)],
    );
    let (mut fetched, mut cores, mut stored) = (vec![(0, BEGINS, "o", String::new())], Vec::new(), Vec::new());
    let first = BEGINS + FETCHES;
    cores.push((0, first, "x", String::new()));
    for tile in 0..tiles {
        let products = first + tile * (PRODUCTS + LEAVES);
        let leaves = products + PRODUCTS;
        fetched.push((
            if tile == 0 { BEGINS } else { products - FETCHES - LEAVES },
            leaves - 1 - LEAVES,
            "a",
            tile.to_string(),
        ));
        cores.push((products, leaves, "c", format!("tile {tile}")));
        cores.push((leaves, leaves + LEAVES, "x", String::new()));
        stored.push((leaves, leaves + LEAVES, "b", String::new()));
        stored.push((leaves + LEAVES, leaves + LEAVES + STORES, "C", tile.to_string()));
    }
    y = rows(
        &mut sheet,
        y,
        &level20_persistent::LEVEL,
        &[("fetched", fetched), ("tensor cores", cores), ("stored", stored)],
    );
    y = sheet.legend((MARGIN, y), "o", "a block begins: its barriers are set up");
    y = sheet.legend((MARGIN, y), "a", "tiles of A and B, fetched for the tile of C with this number");
    y = sheet.legend((MARGIN, y), "b", "threads store: to C in level 14, to shared memory in level 20");
    y = sheet.legend((MARGIN, y), "C", "the copy engine brings the tile to C");
    y = sheet.legend((MARGIN, y), "x", "the tensor cores have nothing to do");
    sheet.text((MARGIN, y), "Widths are not to scale.", "small", Anchor::Start);
    Ok(sheet)
}

/// The most tiles that an SM gets: in level 14 in as many blocks.
fn tiles_of_an_sm() -> Result<u32, Error> {
    let blocks = |level: &'static Level, sizes: &[u32]| -> Result<u64, Error> {
        Ok(build_of(level, Dtype::BF16, "", sizes)?.launch(&SHAPE).grid.count())
    };
    let (tiles, at_a_time) =
        (blocks(&level14_clusters::LEVEL, &SIZES[..4])?, blocks(&level20_persistent::LEVEL, &SIZES)?);
    if at_a_time != u64::from(SIZES[4]) {
        return Err(unlike("there are fewer tiles than SMs"));
    }
    Ok(tiles.div_ceil(at_a_time) as u32)
}

/// A level's rows, each with what it does.
fn rows(sheet: &mut Sheet, y: f64, level: &Level, rows: &[(&str, Vec<Work>)]) -> f64 {
    sheet.text((MARGIN, y + 14.0), &level.short(), "bold", Anchor::Start);
    let mut y = y + 24.0;
    for (name, works) in rows {
        sheet.text((MARGIN, y + 18.0), name, "small", Anchor::Start);
        for (from, to, class, text) in works {
            let area = Area::new(LEFT + TICK * f64::from(*from) + 1.0, y, TICK * f64::from(to - from) - 2.0, HEIGHT);
            sheet.area(area, class);
            let label = if *class == "C" { "small bold white" } else { "small" };
            sheet.label(area, text, label);
        }
        y += HEIGHT + 6.0;
    }
    y + 16.0
}
