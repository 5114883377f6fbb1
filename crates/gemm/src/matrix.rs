//! Matrices: bytes, with a type, rows, columns and the way from one row to the next.

use crate::element::Element;
use crate::error::Error;
use crate::workers;

/// Columns that are transposed together: neighbours, read at once.
const BAND: usize = 16;

/// A matrix, row-major, as a device holds it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Matrix {
    element: Element,
    rows: usize,
    columns: usize,
    leading: usize,
    bytes: Vec<u8>,
}

/// A number type of Rust that is one of a matrix's elements.
pub trait Scalar: Copy + Send + Sync + 'static {
    /// Its type in a matrix.
    const ELEMENT: Element;
    /// Its bytes to the end of these.
    fn push(self, bytes: &mut Vec<u8>);
    /// The number that these bytes are.
    fn of(bytes: &[u8]) -> Self;
}

impl Scalar for f32 {
    const ELEMENT: Element = Element::F32;

    fn push(self, bytes: &mut Vec<u8>) {
        bytes.extend(self.to_le_bytes());
    }
    fn of(bytes: &[u8]) -> f32 {
        bytes.first_chunk().map_or(f32::NAN, |&bytes| f32::from_le_bytes(bytes))
    }
}

impl Scalar for f64 {
    const ELEMENT: Element = Element::F64;

    fn push(self, bytes: &mut Vec<u8>) {
        bytes.extend(self.to_le_bytes());
    }
    fn of(bytes: &[u8]) -> f64 {
        bytes.first_chunk().map_or(f64::NAN, |&bytes| f64::from_le_bytes(bytes))
    }
}

impl Scalar for i32 {
    const ELEMENT: Element = Element::S32;

    fn push(self, bytes: &mut Vec<u8>) {
        bytes.extend(self.to_le_bytes());
    }
    fn of(bytes: &[u8]) -> i32 {
        bytes.first_chunk().map_or(i32::MIN, |&bytes| i32::from_le_bytes(bytes))
    }
}

impl Scalar for i8 {
    const ELEMENT: Element = Element::S8;

    fn push(self, bytes: &mut Vec<u8>) {
        bytes.extend(self.to_le_bytes());
    }
    fn of(bytes: &[u8]) -> i8 {
        bytes.first_chunk().map_or(i8::MIN, |&bytes| i8::from_le_bytes(bytes))
    }
}

impl Matrix {
    /// A matrix of which every element is the nearest to `next()`, asked in row-major order. What lies between the end of a row
    /// and the next, `leading` elements from its beginning, is as near to NaN: nobody is to read it, and nobody to write it.
    ///
    /// # Errors
    /// [`Error::Usage`] where `leading` is less than `columns`, or the machine has no memory for it.
    pub fn filled(
        element: Element,
        [rows, columns, leading]: [usize; 3],
        mut next: impl FnMut() -> f64,
    ) -> Result<Matrix, Error> {
        if leading < columns {
            let message = format!("a leading dimension of {leading} is less than the {columns} columns of a matrix");
            return Err(Error::usage(message, "it is the distance from one row to the next, in elements"));
        }
        let size = element.bytes();
        let mut bytes = room_for(rows, leading, size)?;
        let padding = element.nearest(f64::NAN);
        for row in 0..rows {
            for _ in 0..columns {
                bytes.extend_from_slice(&element.nearest(next())[..size]);
            }
            // The last row ends with its last element, as in a view of a larger matrix.
            if row + 1 < rows {
                (columns..leading).for_each(|_| bytes.extend_from_slice(&padding[..size]));
            }
        }
        Ok(Matrix { element, rows, columns, leading, bytes })
    }

    /// A matrix of numbers that are there already, row-major and without padding.
    ///
    /// # Errors
    /// [`Error::Usage`] where there are not `rows` × `columns` of them, or the machine has no memory for them.
    pub fn of<T: Scalar>(rows: usize, columns: usize, numbers: &[T]) -> Result<Matrix, Error> {
        if Some(numbers.len()) != rows.checked_mul(columns) {
            let message = format!("{} elements are no matrix of {rows} x {columns}", numbers.len());
            return Err(Error::usage(message, "matrices are row-major, without padding"));
        }
        let mut bytes = room_for(rows, columns, T::ELEMENT.bytes())?;
        numbers.iter().for_each(|number| number.push(&mut bytes));
        Ok(Matrix { element: T::ELEMENT, rows, columns, leading: columns, bytes })
    }

    /// Its first rows, all of them if it has no more.
    pub fn top(&self, rows: usize) -> Matrix {
        let rows = rows.min(self.rows);
        // As everywhere, the last row ends with its last element.
        let end = if rows == 0 { 0 } else { self.offset(rows - 1, self.columns) };
        Matrix { rows, bytes: self.bytes[..end].to_vec(), ..*self }
    }

    /// The same matrix with other bytes, as a device gives them back: as many.
    pub fn with_bytes(&self, bytes: Vec<u8>) -> Matrix {
        debug_assert_eq!(bytes.len(), self.bytes.len());
        Matrix { bytes, ..*self }
    }

    /// The type of its elements.
    pub fn element(&self) -> Element {
        self.element
    }

    /// Its rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Its columns.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Elements from the beginning of a row to that of the next.
    pub fn leading(&self) -> usize {
        self.leading
    }

    /// Its bytes, in the order of memory, with what lies between rows.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Elements, without what lies between rows.
    pub fn elements(&self) -> usize {
        self.rows * self.columns
    }

    /// The number at a place.
    pub fn at(&self, row: usize, column: usize) -> f64 {
        self.element.value(self.element_bytes(row, column))
    }

    /// The bytes of the element at a place.
    pub fn element_bytes(&self, row: usize, column: usize) -> &[u8] {
        &self.bytes[self.offset(row, column)..][..self.element.bytes()]
    }

    /// Puts the nearest element to a number at a place.
    pub fn set(&mut self, row: usize, column: usize, value: f64) {
        let (at, size) = (self.offset(row, column), self.element.bytes());
        self.bytes[at..][..size].copy_from_slice(&self.element.nearest(value)[..size]);
    }

    /// The numbers of a row from a column on, as many as there is room for.
    pub fn read(&self, row: usize, from: usize, values: &mut [f64]) {
        let bytes = values.len() * self.element.bytes();
        self.element.read(&self.bytes[self.offset(row, from)..][..bytes], values);
    }

    /// All numbers, row by row.
    pub fn values(&self) -> Vec<f64> {
        let mut values = vec![0.0; self.elements()];
        for (row, values) in values.chunks_mut(self.columns.max(1)).enumerate() {
            self.read(row, 0, values);
        }
        values
    }

    /// All elements as numbers of Rust's, row by row; nothing where they are of another type.
    pub fn numbers<T: Scalar>(&self) -> Option<Vec<T>> {
        let row = |row: usize| self.bytes[self.offset(row, 0)..].chunks(self.element.bytes()).take(self.columns);
        (T::ELEMENT == self.element).then(|| (0..self.rows).flat_map(row).map(T::of).collect())
    }

    /// The matrix with rows for columns, without padding.
    pub fn transposed(&self) -> Matrix {
        let size = self.element.bytes();
        let mut bytes = vec![0; self.elements() * size];
        if !bytes.is_empty() {
            let bands = bytes.chunks_mut(self.rows * size * BAND).enumerate().collect();
            workers::for_each(bands, |(band, bytes): (usize, &mut [u8])| {
                for row in 0..self.rows {
                    for (column, to) in bytes.chunks_mut(self.rows * size).enumerate() {
                        let from = self.offset(row, band * BAND + column);
                        to[row * size..][..size].copy_from_slice(&self.bytes[from..][..size]);
                    }
                }
            });
        }
        Matrix { element: self.element, rows: self.columns, columns: self.rows, leading: self.rows, bytes }
    }

    /// The first place whose bits differ from another matrix's of the same type and size.
    pub fn first_difference(&self, other: &Matrix) -> Option<(usize, usize)> {
        let differs =
            |&(row, column): &(usize, usize)| self.element_bytes(row, column) != other.element_bytes(row, column);
        if self.bytes == other.bytes && self.leading == other.leading {
            return None;
        }
        (0..self.rows).flat_map(|row| (0..self.columns).map(move |column| (row, column))).find(differs)
    }

    fn offset(&self, row: usize, column: usize) -> usize {
        (row * self.leading + column) * self.element.bytes()
    }
}

/// Nothing yet, with room for a matrix.
fn room_for(rows: usize, leading: usize, size: usize) -> Result<Vec<u8>, Error> {
    let bytes = rows.saturating_mul(leading).saturating_mul(size);
    let mut room = Vec::new();
    match room.try_reserve_exact(bytes) {
        Ok(()) => Ok(room),
        Err(_) => {
            Err(Error::usage(format!("there is no memory for a matrix of {bytes} bytes"), "make the problem smaller"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_memory_holds_is_refused() {
        let sizes = [1 << 40, 1 << 40, 1 << 40];
        let error = Matrix::filled(Element::F64, sizes, || 0.0).unwrap_err().to_string();
        assert!(error.starts_with("there is no memory for a matrix of 18446744073709551615 bytes\nhint: "), "{error}");
    }

    fn counted(element: Element, sizes: [usize; 3]) -> Matrix {
        let mut next = 0.0;
        let count = || {
            next += 1.0;
            next
        };
        Matrix::filled(element, sizes, count).unwrap()
    }

    #[test]
    fn a_matrix_with_padding_has_its_rows_where_they_belong() {
        for element in Element::ALL {
            let mut matrix = counted(element, [3, 2, 5]);
            assert_eq!(matrix.bytes().len(), (2 * 5 + 2) * element.bytes(), "{element}");
            assert_eq!(matrix.values(), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0], "{element}");
            let between = element.value(&matrix.bytes()[2 * element.bytes()..]);
            assert!(
                between.is_nan() || element.whole().is_some_and(|[least, _]| between == f64::from(least)),
                "{element}"
            );
            matrix.set(1, 1, -2.0);
            assert_eq!(matrix.at(1, 1), -2.0, "{element}");
            let mut row = [0.0; 1];
            matrix.read(2, 1, &mut row);
            assert_eq!(row, [6.0], "{element}");
        }
    }

    #[test]
    fn numbers_come_back_as_they_went_in() {
        let matrix = Matrix::of(2, 2, &[1.5f32, -0.0, f32::MAX, 4.0]).unwrap();
        assert_eq!(matrix.numbers::<f32>().unwrap(), [1.5, -0.0, f32::MAX, 4.0]);
        assert_eq!(matrix.numbers::<f64>(), None);
        assert_eq!(counted(Element::F64, [2, 1, 3]).numbers::<f64>().unwrap(), [1.0, 2.0]);
    }

    #[test]
    fn a_transposed_matrix_has_columns_for_rows() {
        let matrix = counted(Element::Bf16, [3, 37, 40]);
        let transposed = matrix.transposed();
        assert_eq!((transposed.rows(), transposed.columns(), transposed.leading()), (37, 3, 3));
        assert!((0..3).all(|row| (0..37).all(|column| matrix.at(row, column) == transposed.at(column, row))));
        assert_eq!(transposed.transposed().values(), matrix.values());
    }

    #[test]
    fn what_is_no_matrix_is_refused() {
        let few = Matrix::of(2, 3, &[1.0f64]).unwrap_err().to_string();
        assert!(few.starts_with("1 elements are no matrix of 2 x 3"), "{few}");
        let narrow = Matrix::filled(Element::F32, [2, 3, 2], || 0.0).unwrap_err().to_string();
        assert!(narrow.starts_with("a leading dimension of 2 is less than the 3 columns"), "{narrow}");
        let large = Matrix::filled(Element::F64, [1 << 40, 1 << 20, 1 << 20], || 0.0).unwrap_err().to_string();
        assert!(large.starts_with("there is no memory for"), "{large}");
    }

    #[test]
    fn the_first_difference_is_one_of_bits() {
        let one = counted(Element::F32, [3, 2, 4]);
        let mut other = one.clone();
        assert_eq!(one.first_difference(&other), None);
        other.set(2, 0, -5.0);
        assert_eq!(one.first_difference(&other), Some((2, 0)));
        let [plus, minus] = [0.0, -0.0].map(|zero| Matrix::filled(Element::F16, [1, 1, 1], || zero).unwrap());
        assert_eq!(plus.first_difference(&minus), Some((0, 0)));
    }
}
