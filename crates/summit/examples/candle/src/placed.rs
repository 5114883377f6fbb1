//! Where A and B lie, in candle's words and the library's: strides of any rank become layouts, leading dimensions and batches.

use candle_core::{Layout, Result, Shape as Dims, bail};
use gemm::form::Layout as Order;
use gemm::{Element, Shape};
use summit::{Batch, Product, Types};

/// A product of two tensors: one or several batches, and where each begins.
pub struct Placed {
    /// Of C, which lies row by row, one matrix behind the other.
    pub c: Dims,
    /// Elements before the first of A and of B.
    pub begin: [usize; 2],
    shape: Shape,
    orders: [Order; 2],
    leading: [usize; 2],
    batch: Batch,
    /// The dimensions of the batch that one stride does not cover, from the outermost in: so many, A and B so far apart.
    outer: Vec<[usize; 3]>,
}

/// How a matrix of these rows and columns lies, by its strides, and how many elements its rows lie apart as they are stored; nothing, where
/// no order makes them lie one behind the other.
fn order([rows, columns]: [usize; 2], [down, along]: [usize; 2]) -> Option<(Order, usize)> {
    // The stride of a dimension of one element says nothing.
    let steps = |stride: usize, length: usize| length == 1 || stride == 1;
    let apart = |stride: usize, (lines, length): (usize, usize)| match lines {
        1 => Some(length),
        _ => (stride >= length).then_some(stride),
    };
    if steps(along, columns)
        && let Some(leading) = apart(down, (rows, columns))
    {
        return Some((Order::Rows, leading));
    }
    steps(down, rows).then(|| apart(along, (columns, rows)))?.map(|leading| (Order::Columns, leading))
}

/// The last two of a tensor's dimensions, or of its strides, and those before.
fn matrix(all: &[usize]) -> Option<(&[usize], [usize; 2])> {
    all.split_last_chunk::<2>().map(|(batch, matrix)| (batch, *matrix))
}

/// Whether a tensor's matrices lie column by column, and not row by row.
pub fn is_transposed(layout: &Layout) -> bool {
    let of = matrix(layout.dims()).zip(matrix(layout.stride()));
    of.and_then(|((_, sizes), (_, strides))| order(sizes, strides)).is_some_and(|(order, _)| order == Order::Columns)
}

impl Placed {
    /// Of tensors whose dimensions fit together.
    pub fn of(a: &Layout, b: &Layout) -> Result<Placed> {
        let (Some((batch, [m, k])), Some((_, [_, n])), Some((of_a, in_a)), Some((of_b, in_b))) =
            (matrix(a.dims()), matrix(b.dims()), matrix(a.stride()), matrix(b.stride()))
        else {
            bail!("a tensor of less than two dimensions is no matrix\nhint: `unsqueeze` makes one of a vector");
        };
        let lies = |name: &str, sizes: [usize; 2], strides: [usize; 2]| match order(sizes, strides) {
            Some(found) => Ok(found),
            None => bail!(
                "{name} is {sizes:?} with strides {strides:?}: neither rows nor columns lie in one piece\nhint: `contiguous` copies it so"
            ),
        };
        let (order_of_a, leading_of_a) = lies("A", [m, k], in_a)?;
        let (order_of_b, leading_of_b) = lies("B", [k, n], in_b)?;
        // From the innermost out: what lies as one more step of the same stride joins.
        let mut joined: Vec<[usize; 3]> = Vec::new();
        for ((&count, &step_a), &step_b) in batch.iter().zip(of_a).zip(of_b).rev().filter(|((count, _), _)| **count > 1)
        {
            match joined.last_mut() {
                Some([inner, a, b]) if step_a == *a * *inner && step_b == *b * *inner => *inner *= count,
                _ => joined.push([count, step_a, step_b]),
            }
        }
        joined.reverse();
        let [count, step_a, step_b] = joined.pop().unwrap_or([1, 0, 0]);
        let [size_m, size_n, size_k, count] =
            [("M", m), ("N", n), ("K", k), ("the batch", count)].map(|(name, size)| {
                u32::try_from(size).map_err(|_| {
                    candle_core::Error::msg(format!("{name} is {size}, and at most {}\nhint: split it", u32::MAX))
                })
            });
        let shape = Shape { m: size_m?, n: size_n?, k: size_k? };
        let strides = [step_a, step_b, m * n].map(|stride| stride as u64);
        Ok(Placed {
            c: Dims::from([batch, &[m, n]].concat()),
            begin: [a.start_offset(), b.start_offset()],
            shape,
            orders: [order_of_a, order_of_b],
            leading: [leading_of_a, leading_of_b],
            batch: Batch { count: count?, strides },
            outer: joined,
        })
    }

    /// One of its batches, which are all alike, in this type.
    pub fn product(&self, element: Element) -> Result<Product> {
        let mut product = Product::new(Types::of(element), self.shape).with_batch(self.batch);
        if self.orders[0] == Order::Columns {
            product = product.with_a_as_columns();
        }
        if self.orders[1] == Order::Columns {
            product = product.with_b_as_columns();
        }
        let [a, b] = self.leading;
        product.with_leading([a, b, self.shape.n as usize]).map_err(candle_core::Error::wrap)
    }

    /// Elements of C.
    pub fn elements(&self) -> usize {
        self.c.elem_count()
    }

    /// Elements of C that one batch has.
    pub fn of_batch(&self) -> usize {
        self.shape.m as usize * self.shape.n as usize * self.batch.count as usize
    }

    /// Elements before the first of A, B and C, of each of its batches.
    pub fn batches(&self) -> impl Iterator<Item = [usize; 3]> {
        let count: usize = self.outer.iter().map(|[count, _, _]| count).product();
        (0..count).map(|number| {
            let (mut rest, [mut a, mut b]) = (number, self.begin);
            for [count, step_a, step_b] in self.outer.iter().rev() {
                let place = rest % count;
                (rest, a, b) = (rest / count, a + place * step_a, b + place * step_b);
            }
            [a, b, number * self.of_batch()]
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strides_are_rows_or_columns_or_nothing() {
        for (sizes, strides, expected) in [
            ([3, 4], [4, 1], Some((Order::Rows, 4))),
            ([3, 4], [9, 1], Some((Order::Rows, 9))),
            ([3, 4], [1, 3], Some((Order::Columns, 3))),
            ([3, 4], [1, 8], Some((Order::Columns, 8))),
            // One row, one column: the other stride alone counts.
            ([1, 4], [0, 1], Some((Order::Rows, 4))),
            ([1, 4], [0, 7], Some((Order::Columns, 7))),
            ([4, 1], [1, 0], Some((Order::Rows, 1))),
            ([4, 1], [6, 0], Some((Order::Rows, 6))),
            ([1, 1], [0, 0], Some((Order::Rows, 1))),
            // Every other element; one row for all; overlapping rows.
            ([3, 4], [8, 2], None),
            ([3, 4], [0, 1], None),
            ([3, 4], [2, 1], None),
        ] {
            assert_eq!(order(sizes, strides), expected, "{sizes:?} with {strides:?}");
        }
    }

    #[test]
    fn batches_join_where_one_stride_covers_them() {
        let placed = |a: (&[usize], &[usize]), b: (&[usize], &[usize])| {
            let layout = |(dims, strides): (&[usize], &[usize])| Layout::new(dims.into(), strides.to_vec(), 5);
            Placed::of(&layout(a), &layout(b)).unwrap()
        };
        let dense = placed((&[2, 3, 4, 5], &[60, 20, 5, 1]), (&[2, 3, 5, 6], &[90, 30, 6, 1]));
        assert_eq!((dense.batch.count, dense.batch.strides), (6, [20, 30, 24]));
        assert_eq!(dense.batches().collect::<Vec<_>>(), [[5, 5, 0]]);
        // B is one for all of the inner dimension: two batches of three.
        let repeated = placed((&[2, 3, 4, 5], &[60, 20, 5, 1]), (&[2, 3, 5, 6], &[30, 0, 6, 1]));
        assert_eq!((repeated.batch.count, repeated.batch.strides), (3, [20, 0, 24]));
        assert_eq!(repeated.batches().collect::<Vec<_>>(), [[5, 5, 0], [65, 35, 72]]);
    }
}
