//! What is wanted: a product with its types, sizes, layouts, factors and batch, as a value that can be printed.

use std::fmt;

pub use gemm::epilogue::Batch;
use gemm::form::{Form, Layout};
use gemm::{Dtype, Element, Shape};

use crate::epilogue::{Activation, Along, Apart, Epilogue};
use crate::error::Error;
use crate::scheme::Scheme;

/// The types of a product, known at run time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Types {
    /// Of the elements of A.
    pub a: Element,
    /// Of the elements of B.
    pub b: Element,
    /// In which products are summed, and of the factors.
    pub sum: Element,
    /// Of the elements of C.
    pub c: Element,
}

/// `C = alpha·A·B + beta·C`, C M × N; or, with an [`Epilogue`], `D = act(alpha·r·c·A·B + bias) + beta·C`. Matrices are row-major: A is stored M × K, or K × M, B K × N, or N × K.
///
/// ```
/// use gemm::{Element, Shape};
/// use summit::{Product, Types};
///
/// // A layer's x·Wᵀ: 64 rows of x, and W as it is stored, a row for each output.
/// let shape = Shape { m: 64, n: 4096, k: 1024 };
/// let product = Product::new(Types::of(Element::Bf16), shape).with_b_as_columns().with_factors(1.0, 0.0);
/// assert_eq!(product.to_string(), "64×4096×1024, C = A·B, B stored N×K, in bf16");
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Product {
    /// The types.
    pub types: Types,
    /// M, N and K.
    pub shape: Shape,
    /// Factors, the layouts of A and B, and how far rows lie apart: those of C are D's.
    pub form: Form,
    /// How many of them.
    pub batch: Batch,
    /// What becomes of the sums.
    pub epilogue: Epilogue,
    /// Whether a row of C has the same bits whatever M is, and wherever it stands.
    pub invariant_rows: bool,
    /// What may stand for the type's own products.
    pub scheme: Scheme,
}

impl Types {
    /// A, B and C of one type; summed in f32, or in f64 for f64. A C of tf32 is f32, and one of fp8 bf16. Whole numbers are summed in
    /// s32, which C has.
    pub const fn of(element: Element) -> Types {
        let (sum, c) = match element {
            Element::F64 => (Element::F64, Element::F64),
            Element::F32 | Element::Tf32 => (Element::F32, Element::F32),
            Element::E4m3 | Element::E5m2 => (Element::F32, Element::Bf16),
            Element::Bf16 | Element::F16 => (Element::F32, element),
            Element::S32 | Element::S8 => (Element::S32, Element::S32),
        };
        Types { a: element, b: element, sum, c }
    }

    /// As kernels are made for them; nothing, where A and B are of two types.
    pub fn dtype(&self) -> Option<Dtype> {
        (self.a == self.b).then_some(Dtype::of(self.a, self.sum, self.c))
    }
}

impl fmt::Display for Types {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = self.dtype().map(Dtype::name).filter(|_| self.dtype().is_some_and(|dtype| dtype.is_named()));
        match known {
            Some(name) => f.write_str(name),
            None => {
                let [a, b, sum, c] = [self.a, self.b, self.sum, self.c].map(Element::name);
                write!(f, "{a} times {b} to {c}, summed in {sum}")
            }
        }
    }
}

/// The default epilogue, as a constant.
const NOTHING: Epilogue = Epilogue {
    bias: None,
    row_factors: false,
    column_factors: false,
    activation: Activation::None,
    gated: false,
    apart: None,
};

impl Product {
    /// A·B, row-major and without padding.
    pub const fn new(types: Types, shape: Shape) -> Product {
        let (form, batch, epilogue) = (Form::PLAIN, Batch::ONE, NOTHING);
        Product { types, shape, form, batch, epilogue, invariant_rows: false, scheme: Scheme::Plain }
    }

    /// The same with these factors of A·B and of C. Where `beta` is 0, C may hold anything.
    pub fn with_factors(self, alpha: f64, beta: f64) -> Product {
        Product { form: Form { alpha, beta, ..self.form }, ..self }
    }

    /// The same with B stored as N × K.
    pub fn with_b_as_columns(self) -> Product {
        Product { form: Form { layout: Layout::Columns, ..self.form }, ..self }
    }

    /// The same with A stored as K × M.
    pub fn with_a_as_columns(self) -> Product {
        Product { form: Form { a: Layout::Columns, ..self.form }, ..self }
    }

    /// The same with a bias.
    pub fn with_bias(self, along: Along) -> Product {
        Product { epilogue: Epilogue { bias: Some(along), ..self.epilogue }, ..self }
    }

    /// The same with an activation.
    pub fn with_activation(self, activation: Activation) -> Product {
        Product { epilogue: Epilogue { activation, ..self.epilogue }, ..self }
    }

    /// The same with a factor for each row, for each column, or both.
    pub fn with_vectors_of_factors(self, row_factors: bool, column_factors: bool) -> Product {
        Product { epilogue: Epilogue { row_factors, column_factors, ..self.epilogue }, ..self }
    }

    /// The same with C as a factor in the end, and no summand: `D = act(…) · beta·C`.
    pub fn with_gate(self) -> Product {
        Product { epilogue: Epilogue { gated: true, ..self.epilogue }, ..self }
    }

    /// The same with a C that is only read, and lies so, while D is written.
    pub fn with_c_apart(self, apart: Apart) -> Product {
        Product { epilogue: Epilogue { apart: Some(apart), ..self.epilogue }, ..self }
    }

    /// The same with rows so many elements apart, in A, B and C as they are stored: after the layout is said.
    ///
    /// # Errors
    /// [`Error::Misuse`], where rows would overlap, or lie farther apart than 2³² elements.
    pub fn with_leading(self, leading: [usize; 3]) -> Result<Product, Error> {
        let form = self.form.with_leading(&self.shape, leading).map_err(Error::misused)?;
        Ok(Product { form, ..self })
    }

    /// The same with this epilogue.
    pub fn with_epilogue(self, epilogue: Epilogue) -> Product {
        Product { epilogue, ..self }
    }

    /// The same, but a row of C has the same bits whatever M is, and wherever the row stands: only kernels take part that sum along K in
    /// one order, and all of them in the same ([`crate::kernels::Order`]). Few rows take longer for it, since none splits K.
    pub fn with_invariant_rows(self) -> Product {
        Product { invariant_rows: true, ..self }
    }

    /// The same where a scheme may stand for the type's own products: it does where it is known to be faster, on a GPU that has it,
    /// and a plan says so.
    ///
    /// ```
    /// use gemm::{Element, Shape};
    /// use summit::{Chooser, Plan, Product, Scheme, Types};
    ///
    /// let shape = Shape { m: 4096, n: 4096, k: 4096 };
    /// let product = Product::new(Types::of(Element::F32), shape).with_scheme(Scheme::Halves);
    /// let plan = Plan::of(&Chooser::new(90, 132), &product)?;
    /// assert_eq!(plan.build().level.name, "summit wgmma_halves");
    /// # Ok::<(), summit::Error>(())
    /// ```
    pub fn with_scheme(self, scheme: Scheme) -> Product {
        Product { scheme, ..self }
    }

    /// So many of it.
    pub fn with_batch(self, batch: Batch) -> Product {
        Product { batch, ..self }
    }

    /// Bytes that A, B and what is written, C or D, need at least.
    pub fn bytes(&self) -> [u64; 3] {
        let elements = self.form.elements(&self.shape);
        let Types { a, b, c, .. } = self.types;
        let sizes = [a, b, c].map(|element| element.bytes() as u64);
        [0, 1, 2].map(|i| {
            let behind = u64::from(self.batch.count.saturating_sub(1)).saturating_mul(self.batch.strides[i]);
            behind.saturating_add(elements[i]).saturating_mul(sizes[i])
        })
    }

    /// Elements of all Cs, where these are written whole and nothing else is, and none is read: so many bytes each.
    pub(crate) fn elements_to_write(&self, bytes: usize) -> Result<usize, Error> {
        let Product { types, shape, form, batch, .. } = self;
        let one = u64::from(shape.m) * u64::from(shape.n);
        if form.beta != 0.0 {
            let message = format!("beta is {}, and C is new", form.beta);
            return Err(Error::misuse(message, "`Handle::gemm` takes a C that holds something"));
        }
        if form.padding[2] != 0 || batch.count > 1 && batch.strides[2] != one {
            let message = "elements of C, which is new, would be written by nobody".to_string();
            return Err(Error::misuse(message, "leave nothing between the rows of C, nor between the Cs of a batch"));
        }
        if bytes != types.c.bytes() {
            let message = format!("elements of C have {} bytes, and are to have {bytes}", types.c.bytes());
            return Err(Error::misuse(message, "ask for elements of the product's type of C"));
        }
        one.checked_mul(u64::from(batch.count)).and_then(|elements| usize::try_from(elements).ok()).ok_or_else(|| {
            Error::misuse(format!("{} Cs of {shape} have too many elements", batch.count), "make several batches of it")
        })
    }

    /// Refuses what is no product, or would write an element of C twice.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let Product { shape, form, batch, .. } = self;
        if shape.m.min(shape.n).min(shape.k) == 0 || batch.count == 0 {
            let message = format!("a size of {shape}, or the batch's {}, is 0", batch.count);
            return Err(Error::misuse(message, "every size is at least 1"));
        }
        if let Some(factor) = [form.alpha, form.beta].into_iter().find(|factor| !factor.is_finite()) {
            return Err(Error::misuse(format!("a factor is {factor}"), "alpha and beta are finite numbers"));
        }
        let one = form.elements(shape)[2];
        if batch.count > 1 && batch.strides[2] < one {
            let message = format!("the Cs of the batch are {} elements apart, and have {one}", batch.strides[2]);
            return Err(Error::misuse(message, "products of a batch must not overlap"));
        }
        let of = self.scheme.dtypes();
        if self.scheme != Scheme::Plain && !of.iter().any(|of| self.types.dtype() == Some(*of)) {
            let message = format!("the product allows {}, and is in {}", self.scheme, self.types);
            let of: Vec<String> = of.iter().map(Dtype::to_string).collect();
            return Err(Error::misuse(message, format!("it stands for products in {}", of.join(", "))));
        }
        self.check_epilogue()
    }

    /// Refuses memory that the product would reach beyond, or in which no element can begin where it does.
    pub(crate) fn check_memory(&self, addresses: [u64; 3], bytes: [u64; 3]) -> Result<(), Error> {
        let Types { a, b, c, .. } = self.types;
        for (i, (name, element)) in [("A", a), ("B", b), ("C", c)].into_iter().enumerate() {
            let (needed, size) = (self.bytes()[i], element.bytes() as u64);
            if bytes[i] < needed {
                let message = format!("{name} has {} bytes, and {} needs {needed}", bytes[i], self.shape);
                return Err(Error::misuse(message, "check sizes, types, leading dimensions, and the batch's strides"));
            }
            if !addresses[i].is_multiple_of(size) {
                let message = format!("{name} begins at {:#x}, and its elements have {size} bytes", addresses[i]);
                return Err(Error::misuse(message, "a matrix begins at a multiple of its elements' size"));
            }
        }
        Ok(())
    }
}

impl fmt::Display for Product {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Product { types, shape, form, batch, epilogue, invariant_rows, scheme } = self;
        if batch.count > 1 {
            write!(f, "{} times ", batch.count)?;
        }
        write!(f, "{shape}, {form}{epilogue}, in {types}")?;
        f.write_str(if *invariant_rows { ", rows invariant" } else { "" })?;
        if *scheme != Scheme::Plain { write!(f, ", {scheme} allowed") } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHAPE: Shape = Shape { m: 3, n: 2, k: 4 };

    fn refused(product: Product, bytes: [u64; 3]) -> String {
        let checked = product.check().and_then(|()| product.check_memory([0; 3], bytes));
        match checked {
            Err(Error::Misuse { message, .. }) => message,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_reaches_beyond_a_slice_is_refused() {
        let plain = Product::new(Types::of(Element::F32), SHAPE);
        assert!(plain.check().is_ok() && plain.check_memory([0; 3], [48, 32, 24]).is_ok());
        for (name, bytes) in [("A", [47, 32, 24]), ("B", [48, 31, 24]), ("C", [48, 32, 23])] {
            let message = refused(plain, bytes);
            assert!(message.starts_with(&format!("{name} has ")), "{message}");
        }
        let padded = plain.with_leading([5, 4, 5]).unwrap();
        assert!(padded.check_memory([0; 3], [56, 56, 48]).is_ok());
        assert_eq!(refused(padded, [55, 56, 48]), "A has 55 bytes, and 3×2×4 needs 56");
        let batch = plain.with_batch(Batch { count: 3, strides: [12, 0, 6] });
        assert!(batch.check_memory([0; 3], [144, 32, 72]).is_ok());
        assert_eq!(refused(batch, [143, 32, 72]), "A has 143 bytes, and 3×2×4 needs 144");
        let overlapping = plain.with_batch(Batch { count: 3, strides: [12, 8, 5] });
        assert!(refused(overlapping, [999; 3]).starts_with("the Cs of the batch are 5"));
        assert!(refused(plain.with_batch(Batch { count: 0, strides: [0; 3] }), [999; 3]).contains("is 0"));
        assert_eq!(refused(plain.with_factors(f64::NAN, 0.0), [999; 3]), "a factor is NaN");
        let narrow = Product::new(Types::of(Element::Bf16), SHAPE);
        assert!(narrow.check_memory([2, 4, 6], [24, 16, 12]).is_ok());
        assert!(narrow.check_memory([2, 5, 6], [24, 16, 12]).unwrap_err().to_string().starts_with("B begins at 0x5"));
        assert!(plain.with_leading([3, 2, 2]).unwrap_err().to_string().starts_with("rows of A are 3 elements apart"));
    }

    #[test]
    fn a_new_c_is_written_whole_and_not_read() {
        let plain = Product::new(Types::of(Element::F32), SHAPE);
        let batch = |stride| plain.with_batch(Batch { count: 3, strides: [12, 8, stride] });
        assert_eq!(plain.elements_to_write(4).unwrap(), 6);
        assert_eq!(batch(6).elements_to_write(4).unwrap(), 18);
        for (product, bytes, begin) in [
            (plain.with_factors(1.0, 0.5), 4, "beta is 0.5"),
            (plain.with_leading([4, 2, 3]).unwrap(), 4, "elements of C, which is new, would be written by nobody"),
            (batch(7), 4, "elements of C, which is new, would be written by nobody"),
            (plain, 2, "elements of C have 4 bytes, and are to have 2"),
        ] {
            let error = product.elements_to_write(bytes).unwrap_err().to_string();
            assert!(error.starts_with(begin), "{error}");
        }
    }

    #[test]
    fn types_are_named_or_spelled_out() {
        assert_eq!(Types::of(Element::E4m3).to_string(), "e4m3");
        let two = Types { b: Element::E5m2, ..Types::of(Element::E4m3) };
        assert_eq!(two.to_string(), "e4m3 times e5m2 to bf16, summed in f32");
        assert_eq!(two.dtype(), None);
    }
}
