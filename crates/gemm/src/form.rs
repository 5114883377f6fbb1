//! What a product is, beside its sizes and types: factors, and how the matrices lie in memory.

use std::fmt;

use serde::Serialize;

use crate::dtype::Dtype;
use crate::error::Error;
use crate::shape::Shape;

/// How A or B lies in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Layout {
    /// As it is multiplied: A as M × K, B as K × N.
    #[default]
    Rows,
    /// The other way round, a row for each column: A as K × M, B as N × K, as the weights of a layer are stored.
    Columns,
}

impl Layout {
    /// Whether it is the first.
    pub fn is_rows(&self) -> bool {
        *self == Layout::Rows
    }

    /// Rows and columns as they are stored, of a matrix that is multiplied as these.
    pub fn stored<T>(self, (rows, columns): (T, T)) -> (T, T) {
        if self.is_rows() { (rows, columns) } else { (columns, rows) }
    }
}

/// What a product is, beside its sizes and types.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Form {
    /// The factor of A·B.
    pub alpha: f64,
    /// The factor of C.
    pub beta: f64,
    /// How A lies in memory.
    #[serde(skip_serializing_if = "Layout::is_rows")]
    pub a: Layout,
    /// How B lies in memory.
    pub layout: Layout,
    /// Elements between the end of a row and the next, in A, B and C.
    pub padding: [u32; 3],
}

impl Form {
    /// A·B, row-major and without padding.
    pub const PLAIN: Form = Form { alpha: 1.0, beta: 0.0, a: Layout::Rows, layout: Layout::Rows, padding: [0; 3] };

    /// The form in which products of a type are measured: A·B as it is; in fp8 with B stored as N × K, as tensor cores take it, and
    /// cuBLASLt.
    pub fn usual(dtype: Dtype) -> Form {
        let layout = if dtype.input.bytes() == 1 { Layout::Columns } else { Layout::Rows };
        Form { layout, ..Form::PLAIN }
    }

    /// The same with rows so many elements apart, in A, B and C as they are stored, for a product of these sizes.
    ///
    /// # Errors
    /// [`Error::Usage`], where rows would overlap, or lie farther apart than 2³² elements.
    pub fn with_leading(self, shape: &Shape, leading: [usize; 3]) -> Result<Form, Error> {
        let least = Form { padding: [0; 3], ..self }.leading(shape);
        let mut padding = [0; 3];
        for (matrix, ((name, least), given)) in ["A", "B", "C"].into_iter().zip(least).zip(leading).enumerate() {
            let more = (given as u64).checked_sub(least).and_then(|more| u32::try_from(more).ok());
            padding[matrix] = more.ok_or_else(|| {
                let message = format!("rows of {name} are {given} elements apart, and have {least}");
                Error::usage(message, "a leading dimension is at least the number of columns, and below 2^32")
            })?;
        }
        Ok(Form { padding, ..self })
    }

    /// Elements that A, B and C need at least: the last row ends with its last element.
    pub fn elements(&self, shape: &Shape) -> [u64; 3] {
        let rows = self.stored(shape).map(|(rows, _)| rows);
        let columns = Form { padding: [0; 3], ..*self }.leading(shape);
        let leading = self.leading(shape);
        [0, 1, 2].map(|i| u64::from(rows[i]).saturating_sub(1).saturating_mul(leading[i]) + columns[i])
    }

    /// Whether it is that.
    pub fn is_plain(&self) -> bool {
        *self == Form::PLAIN
    }

    /// What of it is compiled into a kernel.
    pub fn specialization(&self) -> Specialization {
        Specialization { a: self.a, layout: self.layout, added: self.beta != 0.0 }
    }

    /// Rows and columns of A, B and C as they are stored.
    pub fn stored(&self, shape: &Shape) -> [(u32, u32); 3] {
        let Shape { m, n, k } = *shape;
        [self.a.stored((m, k)), self.layout.stored((k, n)), (m, n)]
    }

    /// Elements from the beginning of a row to that of the next, in A, B and C as they are stored.
    pub fn leading(&self, shape: &Shape) -> [u64; 3] {
        let columns = self.stored(shape).map(|(_, columns)| columns);
        [0, 1, 2].map(|i| u64::from(columns[i]) + u64::from(self.padding[i]))
    }
}

impl fmt::Display for Form {
    /// `C = 2·A·Bᵀ + 0.5·C, rows 4, 0 and 8 elements apart`: what is not plain.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Form { alpha, beta, a: of_a, layout, padding: [a, b, c] } = self;
        let factor = |factor: f64| if factor == 1.0 { String::new() } else { format!("{factor}·") };
        write!(f, "C = {}A·B", factor(*alpha))?;
        if *beta != 0.0 {
            write!(f, " + {}C", factor(*beta))?;
        }
        if *of_a == Layout::Columns {
            write!(f, ", A stored K×M")?;
        }
        if *layout == Layout::Columns {
            write!(f, ", B stored N×K")?;
        }
        if [*a, *b, *c] != [0; 3] {
            write!(f, ", rows of A, B and C padded by {a}, {b} and {c} elements")?;
        }
        Ok(())
    }
}

/// What of a product's form is compiled into a kernel that takes any: the rest are arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize)]
pub struct Specialization {
    /// How A lies in memory.
    #[serde(skip_serializing_if = "Layout::is_rows")]
    pub a: Layout,
    /// How B lies in memory.
    pub layout: Layout,
    /// Whether beta·C is added. Else C is only written: it may hold anything.
    pub added: bool,
}

impl Specialization {
    /// Every one for these layouts of A, the plain product's first.
    pub fn all(layouts_of_a: &[Layout]) -> impl Iterator<Item = Specialization> {
        let others = [(Layout::Rows, false), (Layout::Columns, false), (Layout::Rows, true), (Layout::Columns, true)];
        layouts_of_a.iter().flat_map(move |&a| others.map(|(layout, added)| Specialization { a, layout, added }))
    }

    /// Whether it is the plain product's.
    pub fn is_plain(&self) -> bool {
        *self == Specialization::default()
    }

    /// What a file's name ends with, `-km-nk-added`; nothing for the plain product.
    pub fn suffix(&self) -> String {
        let a = if self.a == Layout::Columns { "-km" } else { "" };
        let layout = if self.layout == Layout::Columns { "-nk" } else { "" };
        format!("{a}{layout}{}", if self.added { "-added" } else { "" })
    }
}

impl fmt::Display for Specialization {
    /// `, A as K x M, B as N x K, C added`; nothing for the plain product.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.a == Layout::Columns {
            f.write_str(", A as K x M")?;
        }
        if self.layout == Layout::Columns {
            f.write_str(", B as N x K")?;
        }
        if self.added {
            f.write_str(", C added")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHAPE: Shape = Shape { m: 3, n: 2, k: 4 };

    #[test]
    fn leading_dimensions_are_columns_and_padding() {
        let rows = Form { padding: [1, 2, 3], ..Form::PLAIN };
        assert_eq!((rows.leading(&SHAPE), rows.elements(&SHAPE)), ([5, 4, 5], [14, 14, 12]));
        let columns = Form { layout: Layout::Columns, ..rows };
        assert_eq!((columns.leading(&SHAPE), columns.elements(&SHAPE)), ([5, 6, 5], [14, 10, 12]));
        let both = Form { a: Layout::Columns, ..columns };
        assert_eq!((both.leading(&SHAPE), both.elements(&SHAPE)), ([4, 6, 5], [15, 10, 12]));
        assert_eq!(Form::PLAIN.elements(&SHAPE), [12, 8, 6]);
    }

    #[test]
    fn leading_dimensions_are_taken_or_refused() {
        let form = Form::PLAIN.with_leading(&SHAPE, [5, 2, 9]).unwrap();
        assert_eq!((form.padding, form.leading(&SHAPE)), ([1, 0, 7], [5, 2, 9]));
        for (leading, message) in [
            ([3, 2, 2], "rows of A are 3 elements apart, and have 4"),
            ([4, 1, 2], "rows of B are 1 elements apart, and have 2"),
            ([4, 2, 1 << 40], "rows of C are 1099511627776 elements apart, and have 2"),
        ] {
            let refused = Form::PLAIN.with_leading(&SHAPE, leading).unwrap_err().to_string();
            assert!(refused.starts_with(message), "{refused}");
        }
    }

    #[test]
    fn what_is_not_plain_is_said() {
        assert_eq!(Form::PLAIN.to_string(), "C = A·B");
        let form = Form { alpha: 2.0, beta: -0.5, layout: Layout::Columns, padding: [0, 4, 0], ..Form::PLAIN };
        assert_eq!(
            form.to_string(),
            "C = 2·A·B + -0.5·C, B stored N×K, rows of A, B and C padded by 0, 4 and 0 elements"
        );
        assert_eq!(form.specialization().suffix(), "-nk-added");
        assert_eq!(form.specialization().to_string(), ", B as N x K, C added");
        assert!(Form { alpha: 2.0, ..Form::PLAIN }.specialization().is_plain());
        let turned = Form { a: Layout::Columns, ..form };
        assert!(turned.to_string().starts_with("C = 2·A·B + -0.5·C, A stored K×M, B stored N×K, "));
        assert_eq!(turned.specialization().suffix(), "-km-nk-added");
        assert_eq!(turned.specialization().to_string(), ", A as K x M, B as N x K, C added");
    }
}
