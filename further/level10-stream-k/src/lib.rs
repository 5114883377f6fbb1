//! Level 10: stream-K.

use gemm::{Archive, Decomposition, Dim3, Dtype, LaunchShape, Level, Needs, Shape, Target, Tile, Types};

/// What the compiler made of the kernel.
static PTX: Archive = gemm::beside(include_bytes!("../kernel.ptx.zst"));

/// The level: kernel, tile sizes, launch, and what is shipped compiled.
pub static LEVEL: Level = Level {
    name: "level10-stream-k",
    title: "stream-K",
    idea: "where tiles do not fill the last round of blocks, each block takes an equal share of what is left, \
           wherever a tile ends",
    from: Some("level8-rasterization"),
    path: "further/level10-stream-k/kernel.cu",
    source: include_str!("../kernel.cu"),
    entry: "gemm_stream_k",
    variants: &[],
    tiles: &[
        ("BM", 128),
        ("BN", 256),
        ("BK", 8),
        ("WM", 64),
        ("WN", 64),
        ("TM", 8),
        ("TN", 16),
        ("STAGES", 4),
        // The SMs of an H200, each of which has room for one block.
        ("BLOCKS", 132),
    ],
    types: &[
        Types::usual(Dtype::F32),
        // A double is two registers wide: half the sums fit into those of a thread.
        Types { tiles: Some(&[64, 128, 8, 32, 64, 8, 8, 4, 264]), ..Types::usual(Dtype::F64) },
    ],
    shipped: &[&[128, 256, 8, 64, 64, 8, 16, 4, 132], &[64, 128, 8, 32, 64, 8, 8, 4, 264]],
    space: &[
        ("BM", &[64, 128]),
        ("BN", &[64, 128, 256]),
        ("BK", &[8, 16]),
        ("WM", &[32, 64]),
        ("WN", &[32, 64]),
        ("TM", &[4, 8, 16]),
        ("TN", &[4, 8, 16]),
        ("STAGES", &[3, 4]),
        ("BLOCKS", &[132, 264, 396]),
    ],
    ptx: &PTX,
    // ANCHOR: launch
    launch: |shape, tiles| {
        let [bm, bn, bk, wm, wn, blocks] = ["BM", "BN", "BK", "WM", "WN", "BLOCKS"].map(|name| tiles[name]);
        let tiles = shape.n.div_ceil(bn).saturating_mul(shape.m.div_ceil(bm));
        LaunchShape {
            // As many as there are tiles, but full rounds: the blocks of the last one share what is left.
            grid: Dim3::xy(tiles.div_ceil(blocks).saturating_mul(blocks), 1),
            block: Dim3::xy((bm / wm) * (bn / wn) * 32, 1),
            tile: Tile { m: bm, n: bn, k: bk },
        }
    },
    // ANCHOR_END: launch
    needs: Needs {
        // cp.async came with sm_80.
        architecture: Target::since(80),
        asynchronous_copies: true,
        // With its default, 3, ptxas puts the multiply-adds into another order, and neighbours share fewer operands.
        optimization: Some(1),
        shared: |c| {
            let [bm, bn, bk, stages] = ["BM", "BN", "BK", "STAGES"].map(|name| c.tiles[name]);
            stages * bk * ((bm + bn) * c.dtype.input.bytes() as u32 + 16)
        },
        decomposition: Decomposition::StreamK("BLOCKS"),
        awkward: |tiles, tile| {
            let (shape, round) = (|m, n, k| Shape { m, n, k }, tiles["BLOCKS"]);
            vec![
                // Shares of six steps, which fill the pipeline; some are the end of one tile and the beginning of the next.
                shape(2 * tile.m, 3 * tile.n, ((5 * round / 6) | 1) * tile.k),
                // Three blocks share two tiles, so that one of them has its part of both.
                shape(1, 2 * round / 3 * tile.n, 3 * tile.k),
                // A full round, and one tile for all blocks of the next.
                shape(1, round * tile.n + 1, 2 * tile.k + 1),
            ]
        },
        ..Needs::USUAL
    },
};
