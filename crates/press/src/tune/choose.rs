//! From measured rows to the record: for each shape, the configuration that each level is to use.

use gemm::Shape;
use summit::tuned::Best;

use lab::row::{Row, distinct};

/// One configuration for each level, element type and shape that has a right row. Those within `slack` of the fastest count as
/// equally fast; of these, the one that serves the most shapes of the level, so that few configurations have to be shipped.
pub fn choose(rows: &[Row], slack: f64) -> Vec<Best> {
    let measured: Vec<&Row> = rows
        .iter()
        .filter(|row| row.is_right() && row.ms.is_some_and(f64::is_finite) && !row.tiles.is_empty())
        .collect();
    let mut chosen: Vec<&Row> = Vec::new();
    for (dtype, level) in distinct(measured.iter().map(|row| (row.dtype, level(row)))) {
        let of_level: Vec<&Row> =
            measured.iter().filter(|row| row.dtype == dtype && level == self::level(row)).copied().collect();
        chosen.extend(cover(&of_level, slack));
    }
    let order = distinct(rows.iter().map(|row| (row.dtype, row.shape())));
    chosen.sort_by_key(|row| order.iter().position(|key| *key == (row.dtype, row.shape())));
    chosen.into_iter().map(|row| best(row, rows)).collect()
}

/// The rows of one level and type that are chosen: as few configurations as possible, taken greedily.
fn cover<'a>(rows: &[&'a Row], slack: f64) -> Vec<&'a Row> {
    let least = |shape: Shape| {
        let at = rows.iter().filter(|row| row.shape() == shape).filter_map(|row| row.ms);
        at.fold(f64::INFINITY, f64::min)
    };
    let is_good = |row: &&&Row| row.ms.is_some_and(|ms| ms <= least(row.shape()) * (1.0 + slack));
    let good: Vec<&Row> = rows.iter().filter(is_good).copied().collect();
    let mut open = distinct(rows.iter().map(|row| row.shape()));
    let mut chosen = Vec::new();
    while !open.is_empty() {
        let serves = |name: &(String, String)| {
            let rows = good.iter().filter(|row| configuration(row) == *name && open.contains(&row.shape()));
            let lost: f64 = rows.clone().filter_map(|row| Some(row.ms? / least(row.shape()) - 1.0)).sum();
            (rows.count(), lost)
        };
        let names = distinct(good.iter().map(|row| configuration(row)));
        let most = names.iter().map(|name| (serves(name), name)).reduce(|a, b| {
            let better = b.0.0 > a.0.0 || (b.0.0 == a.0.0 && b.0.1 < a.0.1);
            if better { b } else { a }
        });
        // Every open shape has a row that is as fast as its fastest.
        let Some((_, name)) = most.filter(|((shapes, _), _)| *shapes > 0) else { break };
        let served: Vec<&Row> =
            good.iter().filter(|row| configuration(row) == *name && open.contains(&row.shape())).copied().collect();
        open.retain(|shape| served.iter().all(|row| row.shape() != *shape));
        chosen.extend(served);
    }
    chosen
}

fn best(row: &Row, rows: &[Row]) -> Best {
    let is_vendor = |other: &&Row| {
        other.is_vendor() && other.is_right() && (other.dtype, other.shape()) == (row.dtype, row.shape())
    };
    Best {
        dtype: row.dtype,
        m: row.m,
        n: row.n,
        k: row.k,
        level: level(row).to_string(),
        variant: variant(row).to_string(),
        tiles: row.tiles.clone(),
        ms: row.ms.unwrap_or(f64::INFINITY),
        batch: None,
        cublas_ms: rows.iter().find(is_vendor).and_then(|row| row.ms),
    }
}

/// The kernel's name, one word or `summit wgmma_thin`, and its variant.
fn name(row: &Row) -> (&str, &str) {
    let words = if row.kernel.starts_with("summit ") { 2 } else { 1 };
    let end = row.kernel.match_indices(' ').nth(words - 1).map_or(row.kernel.len(), |(at, _)| at);
    let (level, variant) = row.kernel.split_at(end);
    (level, variant.trim_start())
}

fn level(row: &Row) -> &str {
    name(row).0
}

fn variant(row: &Row) -> &str {
    name(row).1
}

fn configuration(row: &Row) -> (String, String) {
    (variant(row).to_string(), row.tiles.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use gemm::Dtype;
    use lab::row::Kind;

    #[test]
    fn a_kernel_of_the_library_has_a_name_of_two_words() {
        let split = |kernel: &str| {
            let row = row(kernel, "", 64, 1.0);
            [level(&row).to_string(), variant(&row).to_string()]
        };
        assert_eq!(split("level0-naive"), ["level0-naive", ""]);
        assert_eq!(split("level4-vectorized spread"), ["level4-vectorized", "spread"]);
        assert_eq!(split("summit mma_sync"), ["summit mma_sync", ""]);
        assert_eq!(split("summit wgmma_fp8 fast"), ["summit wgmma_fp8", "fast"]);
    }

    fn row(kernel: &str, tiles: &str, size: u32, ms: f64) -> Row {
        let shape = Shape { m: size, n: size, k: size };
        let mut row = Row::new(kernel.into(), tiles.into(), Dtype::F32, shape, Kind::Measured);
        row.time(ms);
        row.verdict = "right".into();
        row
    }

    fn chosen(rows: &[Row], slack: f64) -> Vec<(u32, String, String)> {
        choose(rows, slack).into_iter().map(|best| (best.m, best.variant, best.tiles)).collect()
    }

    fn of(m: u32, tiles: &str) -> (u32, String, String) {
        (m, String::new(), tiles.into())
    }

    #[test]
    fn within_the_slack_few_configurations_serve_many_shapes() {
        let rows = [
            row("level1-tiling", "TILE=8", 64, 1.00),
            row("level1-tiling", "TILE=16", 64, 1.01),
            row("level1-tiling", "TILE=16", 128, 2.00),
            row("level1-tiling", "TILE=8", 128, 2.50),
        ];
        assert_eq!(chosen(&rows, 0.02), [of(64, "TILE=16"), of(128, "TILE=16")]);
        assert_eq!(chosen(&rows, 0.005), [of(64, "TILE=8"), of(128, "TILE=16")]);
        assert_eq!(choose(&rows, 0.02)[0].ms, 1.01, "its own time is on record");
    }

    #[test]
    fn only_right_rows_count_and_each_level_has_its_own() {
        let mut rows = vec![
            row("cuBLAS 13.1.0", "", 64, 0.5),
            row("level0-naive uncoalesced", "BLOCK=8", 64, 3.0),
            row("level1-tiling", "TILE=8", 64, 0.1),
            row("level1-tiling", "TILE=16", 64, 1.0),
        ];
        rows[2].verdict = "wrong: 1 of 4096".into();
        let best = choose(&rows, 0.0);
        let names: Vec<(&str, &str)> = best.iter().map(|best| (best.level.as_str(), best.variant.as_str())).collect();
        assert_eq!(names, [("level0-naive", "uncoalesced"), ("level1-tiling", "")]);
        assert_eq!((best[1].ms, best[1].cublas_ms), (1.0, Some(0.5)));
        assert_eq!(choose(&[], 0.0), []);
    }
}
