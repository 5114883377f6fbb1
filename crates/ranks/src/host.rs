//! Matrices of the host, cut into what each rank holds.

use gemm::Shape;
use summit::Types;

use crate::fault::Fault;
use crate::layout::{Layout, Operand, Panel};

/// Refuses matrices of another size.
pub(crate) fn check(layout: &Layout, a: &[u8], b: &[u8]) -> Result<(), Fault> {
    let Shape { m, n, k } = layout.shape();
    let size = layout.element().bytes();
    for (name, has, needs) in
        [("A", a.len(), m as usize * k as usize * size), ("B", b.len(), k as usize * n as usize * size)]
    {
        if has != needs {
            let why = format!(
                "{name} has {has} bytes, and {layout} needs {needs}\nhint: give whole matrices, without padding"
            );
            return Err(Fault::Rank { rank: 0, why });
        }
    }
    Ok(())
}

/// The bytes of a rank's own panels of a matrix, one behind the other.
pub(crate) fn own(layout: &Layout, of: Operand, owner: usize, matrix: &[u8]) -> Vec<u8> {
    let mut panels = layout.held(of, owner).map(|panel| bytes(layout, panel, matrix));
    // Not by an iterator over bytes: a gigabyte takes ten seconds then.
    let mut all = panels.next().unwrap_or_default();
    panels.for_each(|panel| all.extend_from_slice(&panel));
    all
}

/// The bytes of a panel: whole rows of A, or columns of B as a matrix of its own.
pub(crate) fn bytes(layout: &Layout, panel: Panel, matrix: &[u8]) -> Vec<u8> {
    let (Shape { n, k, .. }, size) = (layout.shape(), layout.element().bytes());
    let range = layout.range(panel);
    let [start, end] = [range.start, range.end].map(|at| at as usize * size);
    match panel.of {
        Operand::A => matrix[start * k as usize..end * k as usize].to_vec(),
        Operand::B => {
            let lines: Vec<&[u8]> = matrix.chunks_exact(n as usize * size).map(|line| &line[start..end]).collect();
            lines.concat()
        }
    }
}

/// Bytes of a rank's block of C, whose type may be wider than that of A and B.
pub(crate) fn block_bytes(layout: &Layout, rank: usize) -> usize {
    let [rows, columns] = layout.block(rank);
    rows.len() * columns.len() * Types::of(layout.element()).c.bytes()
}

/// C of the ranks' blocks, each row-major and without padding.
pub fn collected(layout: &Layout, blocks: &[&[u8]]) -> Vec<u8> {
    let Shape { m, n, .. } = layout.shape();
    let (n, size) = (n as usize, Types::of(layout.element()).c.bytes());
    let mut c = vec![0xff; m as usize * n * size];
    for (rank, block) in blocks.iter().enumerate() {
        let [rows, columns] = layout.block(rank);
        let lines = block.chunks_exact((columns.len() * size).max(1));
        for (row, line) in rows.zip(lines) {
            let at = (row as usize * n + columns.start as usize) * size;
            c[at..at + line.len()].copy_from_slice(line);
        }
    }
    c
}
