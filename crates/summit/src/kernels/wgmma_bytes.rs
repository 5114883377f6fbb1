//! `wgmma_bytes`: f64 from bytes, where the caller allows it.

use gemm::{
    Archive, Decomposition, Dim3, Dtype, Finding, LaunchShape, Level, Needs, Neighbours, Parameter, Preparation, Shape,
    Target, Tile, Tiles, Types,
};

/// Tile sizes that are shipped, the default first.
const TILES: &[&[u32]] = &[&[128, 192, 5, 2, 132, 14], &[128, 128, 6, 2, 132, 14], &[64, 64, 8, 2, 132, 14]];

/// Elements of a step along K: 128 bytes.
const BK: u32 = 128;
/// Rows of A or columns of B that a block cuts.
const LINES: u32 = 16;

/// Products of bytes that an s32 has room for the sum of.
const MOST_K: u32 = 131_071;

/// What the compiler made of the kernel.
static PTX: Archive = gemm::beside(include_bytes!("../../kernels/wgmma_bytes.ptx.zst"));

/// Rows of A in whole clusters of tiles, and columns of B in whole tiles.
fn lines(shape: &Shape, tiles: &Tiles) -> [u64; 2] {
    let [bm, bn, cluster] = ["BM", "BN", "CLUSTER"].map(|name| u64::from(tiles[name]));
    [u64::from(shape.m).next_multiple_of(bm * cluster), u64::from(shape.n).next_multiple_of(bn)]
}

/// How many rows and columns have no scale, and so are summed plainly.
fn plain(shape: &Shape, tiles: &Tiles, scales: &[u8]) -> Option<String> {
    let rows = lines(shape, tiles)[0] as usize * 8;
    let of =
        |scales: &[u8], lines: u32| scales.chunks(8).take(lines as usize).filter(|scale| **scale == [0; 8]).count();
    let (of_a, of_b) = scales.split_at_checked(rows)?;
    let (of_a, of_b) = (of(of_a, shape.m), of(of_b, shape.n));
    if shape.k > MOST_K {
        return Some(format!("K is over {MOST_K}, which sums of bytes have room for: all is summed in f64"));
    }
    let lines = format!("{of_a} of {} rows of A and {of_b} of {} columns of B", shape.m, shape.n);
    (of_a + of_b > 0).then(|| format!("{lines} spread too far for whole numbers: products with them are summed in f64"))
}

/// Blocks of the grid: whole clusters.
fn blocks(shape: &Shape, tiles: &Tiles) -> u32 {
    let [bm, bn, cluster, blocks] = ["BM", "BN", "CLUSTER", "BLOCKS"].map(|name| tiles[name]);
    let clusters = shape.n.div_ceil(bn).saturating_mul(shape.m.div_ceil(bm * cluster));
    clusters.min(blocks / cluster) * cluster
}

/// The kernel: its text, tile sizes, launch, and what is shipped compiled.
pub static KERNEL: Level = Level {
    name: "summit wgmma_bytes",
    title: "f64 from bytes",
    idea: "a number is its remainders, each a byte, and products of bytes on tensor cores stand for one of f64",
    from: Some("level23-f64-from-bytes"),
    path: "crates/summit/kernels/wgmma_bytes.cu",
    source: include_str!("../../kernels/wgmma_bytes.cu"),
    entry: "gemm_bytes",
    variants: &[],
    tiles: &[("BM", 128), ("BN", 192), ("STAGES", 5), ("CLUSTER", 2), ("BLOCKS", 132), ("MODULI", 14)],
    types: &[Types::usual(Dtype::F64).shipping(TILES)],
    shipped: &[],
    space: &[("BM", &[64, 128]), ("BN", &[64, 128, 192]), ("STAGES", &[3, 4, 5, 6, 7, 8]), ("CLUSTER", &[1, 2])],
    ptx: &PTX,
    launch: |shape, tiles| LaunchShape {
        grid: Dim3::xy(blocks(shape, tiles), 1),
        block: Dim3::xy(3 * 128, 1),
        tile: Tile { m: tiles["BM"], n: tiles["BN"], k: BK },
    },
    needs: Needs {
        architecture: Target::only(90),
        cluster: |tiles| Dim3::xy(tiles["CLUSTER"], 1),
        parameters: &[
            Parameter::A,
            Parameter::B,
            Parameter::C,
            Parameter::Room,
            Parameter::M,
            Parameter::N,
            Parameter::K,
            Parameter::Lda,
            Parameter::Ldb,
            Parameter::Ldc,
            Parameter::Alpha,
            Parameter::Beta,
        ],
        a_by_columns: true,
        decomposition: Decomposition::Persistent("BLOCKS", Neighbours::Below),
        preparation: Some(Preparation {
            entry: "split",
            launch: |shape, tiles| {
                let all: u64 = lines(shape, tiles).iter().sum();
                let blocks = u32::try_from(all / u64::from(LINES)).unwrap_or(u32::MAX);
                (Dim3::xy(blocks, 1), Dim3::xy(LINES * 16, 1))
            },
            // A scale of each row and column, their remainders, and those of C.
            room: |shape, tiles| {
                let [rows, columns] = lines(shape, tiles);
                let along = u64::from(shape.k).next_multiple_of(u64::from(BK));
                let remainders = (rows + columns).saturating_mul(along).saturating_add(rows.saturating_mul(columns));
                remainders.saturating_mul(u64::from(tiles["MODULI"])).saturating_add((rows + columns) * 8)
            },
            // The scales, which the room begins with.
            finding: Some(Finding { bytes: |shape, tiles| lines(shape, tiles).iter().sum::<u64>() * 8, words: plain }),
        }),
        shared: |c| {
            let [bm, bn, stages] = ["BM", "BN", "STAGES"].map(|name| c.tiles[name]);
            (stages * ((bm + bn) * BK + 16)).next_multiple_of(1024)
        },
        awkward: |tiles, tile| {
            let m = tile.m * tiles["CLUSTER"];
            vec![
                // Three rows and two columns of a cluster's tiles, ragged; the ring goes on from one to the next.
                Shape { m: 2 * m + 1, n: tile.n + 1, k: 3 * tile.k + 1 },
                // Twice round the stages, and one step more, in one tile.
                Shape { m: m - 1, n: tile.n - 1, k: (2 * tiles["STAGES"] + 1) * tile.k },
                // One row of tiles more than a band has.
                Shape { m: 16 * tile.m + 1, n: tile.n + 1, k: 16 },
            ]
        },
        ..Needs::USUAL
    },
};
