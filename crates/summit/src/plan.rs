//! What is launched for a product, and why: a value that can be printed, made without a launch.

use std::fmt;
use std::sync::Arc;

use gemm::epilogue::Batch;
use gemm::task::Operand;
use gemm::{Build, Dtype, LaunchShape};

use crate::choice::{Chooser, Chosen, Why};
use crate::epilogue::Beside;
use crate::error::Error;
use crate::kernels::KERNELS;
use crate::product::Product;

/// A product, and the kernel that computes it on a kind of card.
///
/// ```
/// use gemm::{Element, Shape};
/// use summit::{Chooser, Plan, Product, Types};
///
/// let shape = Shape { m: 64, n: 4096, k: 1024 };
/// let product = Product::new(Types::of(Element::Bf16), shape).with_b_as_columns();
/// // An H100 has 132 SMs, and is sm_90.
/// let plan = Plan::of(&Chooser::new(90, 132), &product)?;
/// println!("{plan}");
/// // A T4 has 40 SMs, and is sm_75: no kernel of the library computes bf16 there.
/// assert!(Plan::of(&Chooser::new(75, 40), &product).is_err());
/// # Ok::<(), summit::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Plan {
    product: Product,
    pub(crate) resolved: Arc<Resolved>,
}

/// What a plan is but for the factors and the batch.
#[derive(Debug)]
pub(crate) struct Resolved {
    pub build: Build,
    pub launch: LaunchShape,
    /// The build's words: kernels that are loaded go by them.
    pub name: Arc<str>,
    /// The card's: 90 is `sm_90`.
    pub architecture: u32,
    why: Why,
}

impl Plan {
    /// For the card of a chooser.
    ///
    /// # Errors
    /// [`Error::Misuse`] where the product is none, [`Error::Unsupported`] where no kernel computes it on such a card.
    pub fn of(chooser: &Chooser, product: &Product) -> Result<Plan, Error> {
        product.check()?;
        let chosen = chosen(chooser, product)?;
        Ok(Plan { product: *product, resolved: Arc::new(resolved(chooser, product, chosen)?) })
    }

    /// By this build, with no choice: of a kernel of [`KERNELS`], in the form that it is shipped in.
    ///
    /// # Errors
    /// [`Error::Misuse`] where the product is none, [`Error::Unsupported`] where the build does not compute it.
    pub fn by(chooser: &Chooser, product: &Product, build: &Build) -> Result<Plan, Error> {
        product.check()?;
        let Build { level, configuration, .. } = build;
        if product.types.dtype() != Some(configuration.dtype) || (product.epilogue.is_any() && !level.takes_epilogues())
        {
            let message = format!("{build} does not compute {product}");
            return Err(Error::unsupported(message, "`Plan::of` chooses what does"));
        }
        let build = build.clone().in_form(&product.form).map_err(Error::cannot)?;
        let chosen = Chosen { build, why: Why::Named };
        Ok(Plan { product: *product, resolved: Arc::new(resolved(chooser, product, chosen)?) })
    }

    /// The same launch for a product that differs in its factors or its batch alone.
    pub(crate) fn again(resolved: Arc<Resolved>, product: &Product) -> Result<Plan, Error> {
        product.check()?;
        Ok(Plan { product: *product, resolved })
    }

    /// What it computes.
    pub fn product(&self) -> &Product {
        &self.product
    }

    /// The kernel, with its types, variant, tile sizes and form.
    pub fn build(&self) -> &Build {
        &self.resolved.build
    }

    /// Grid, block, and what a block works on at a time: for all products of the batch, or for one, as [`Plan::launches`] says.
    pub fn launch(&self) -> LaunchShape {
        self.resolved.launch
    }

    /// Launches that it is: one, or one for each product of the batch.
    pub fn launches(&self) -> u32 {
        if self.build().level.takes_batches() { 1 } else { self.product.batch.count }
    }

    /// The kernel's arguments, of each of its launches, where what lies beside A, B and D begins at these addresses.
    pub(crate) fn operands(&self, beside: &Beside<u64>) -> Vec<Operand> {
        let Product { shape, form, batch, .. } = self.product;
        let batched = if self.build().level.takes_batches() { batch } else { Batch::ONE };
        self.build().operands_of(&shape, &form, batched, self.product.told(beside))
    }

    /// For each launch, the bytes that A, B and D begin behind the first ones.
    pub(crate) fn offsets(&self) -> impl Iterator<Item = [u64; 3]> {
        let Product { types, batch, .. } = self.product;
        let sizes = [types.a, types.b, types.c].map(|element| element.bytes() as u64);
        (0..u64::from(self.launches())).map(move |number| [0, 1, 2].map(|i| number * batch.strides[i] * sizes[i]))
    }

    /// Why it is this one.
    pub fn why(&self) -> Why {
        self.resolved.why
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Resolved { build, launch, architecture, why, .. } = &*self.resolved;
        writeln!(f, "{} on sm_{architecture}", self.product)?;
        writeln!(f, "by {build}")?;
        write!(f, "in {launch}")?;
        match self.launches() {
            1 => writeln!(f)?,
            launches => writeln!(f, ", {launches} times")?,
        }
        for copy in build.copies(&self.product.shape, &self.product.form) {
            writeln!(f, "behind a copy of {copy}")?;
        }
        let scheme = self.product.scheme;
        if scheme.kernel().is_some() && *why != Why::Allowed(scheme) {
            let least = scheme.least();
            let without = "without an epilogue or invariant rows";
            writeln!(f, "not {scheme}: that is for sm_90, {without}, and from {least} of M, N and K on")?;
        }
        write!(f, "because {why}")
    }
}

/// Tiles that a kernel counts, with those of another round, in an `int`.
const MOST_TILES: u64 = 1 << 30;

fn chosen(chooser: &Chooser, product: &Product) -> Result<Chosen, Error> {
    let dtype = product.types.dtype().ok_or_else(|| unknown(product))?;
    let architecture = chooser.architecture();
    chooser.choose_for(product, dtype).ok_or_else(|| {
        if !KERNELS.into_iter().any(|kernel| kernel.dtypes().any(|own| own == dtype)) {
            return unknown(product);
        }
        let message = format!("no kernel computes {product} on sm_{architecture}");
        match chooser.too_large(&product.shape, dtype, &product.form) {
            Some(why) => Error::unsupported(format!("{message}: {why}"), "make several products of it"),
            None => Error::unsupported(
                message,
                "other forms, types or sizes may be computed there; `Plan::of` answers for any card",
            ),
        }
    })
}

fn resolved(chooser: &Chooser, product: &Product, chosen: Chosen) -> Result<Resolved, Error> {
    chosen.build.plan_in(product.shape, product.form).map_err(Error::cannot)?;
    let count = if chosen.build.level.takes_batches() { product.batch.count } else { 1 };
    let launch = chosen.build.launch_of(&product.shape, count);
    let rows = chosen.build.cluster().x.max(1);
    let tiles = launch.tiles(&product.shape).saturating_mul(u64::from(count)) * u64::from(rows);
    if tiles > MOST_TILES {
        let message = format!("{product} has {tiles} tiles, and a kernel counts {MOST_TILES}");
        return Err(Error::unsupported(message, "make several batches of it"));
    }
    let name = chosen.build.to_string().into();
    Ok(Resolved { build: chosen.build, launch, name, architecture: chooser.architecture(), why: chosen.why })
}

/// Types that no kernel has.
fn unknown(product: &Product) -> Error {
    let known = |dtype: &Dtype| KERNELS.into_iter().any(|kernel| kernel.dtypes().any(|own| own == *dtype));
    let names: Vec<&str> = Dtype::ALL.into_iter().filter(|(_, dtype)| known(dtype)).map(|(name, _)| name).collect();
    Error::unsupported(format!("no kernel multiplies {}", product.types), format!("there are {}", names.join(", ")))
}

#[cfg(test)]
mod tests {
    use gemm::{Element, Shape};

    use super::*;
    use crate::epilogue::Activation;
    use crate::product::Types;
    use crate::scheme::Scheme;
    use gemm::epilogue::Batch;

    fn plan(element: Element, change: impl Fn(Product) -> Product, card: (u32, u32)) -> Result<Plan, Error> {
        let shape = Shape { m: 512, n: 384, k: 256 };
        Plan::of(&Chooser::new(card.0, card.1), &change(Product::new(Types::of(element), shape)))
    }

    #[test]
    fn more_tiles_than_a_kernel_counts_are_refused() {
        let huge = |product: Product| product.with_batch(Batch { count: u32::MAX, strides: [0, 0, 512 * 384] });
        let error = plan(Element::Bf16, huge, (90, 132)).unwrap_err().to_string();
        let said = format!(" tiles, and a kernel counts {MOST_TILES}\nhint: make several batches of it");
        assert!(error.contains(&said), "{error}");
    }

    #[test]
    fn every_type_has_a_plan_that_says_what_and_why() {
        for element in [Element::F64, Element::F32, Element::Tf32, Element::Bf16, Element::F16, Element::E4m3] {
            let text = plan(element, |product| product, (90, 132)).unwrap().to_string();
            let lines: Vec<&str> = text.lines().collect();
            assert!(lines[0].starts_with("512×384×256, C = A·B, in ") && lines[0].ends_with(" on sm_90"), "{text}");
            assert!(lines[1].starts_with("by summit ") && lines.last().unwrap().starts_with("because "), "{text}");
        }
    }

    /// A plan for a kernel at a shape at which no scheme pays yet, in every form: the emulator does what is launched before it, too.
    #[test]
    fn schemes_multiply_by_the_handles_calls() {
        let shape = Shape { m: 70, n: 45, k: 150 };
        for (element, scheme) in [(Element::F32, Scheme::Halves), (Element::F64, Scheme::Bytes)] {
            let product = Product::new(Types::of(element), shape).with_a_as_columns().with_factors(2.0, -3.0);
            let product = product.with_leading([77, 46, 47]).unwrap().with_scheme(scheme);
            let dtype = product.types.dtype().unwrap();
            let build = scheme.kernel().unwrap().default_build(dtype).in_form(&product.form).unwrap();
            let (launch, name) = (build.launch(&shape), build.to_string().into());
            let resolved = Resolved { build, launch, name, architecture: 90, why: Why::Allowed(scheme) };
            let plan = Plan { product, resolved: Arc::new(resolved) };
            let number = |i: usize| (i * 7919 % 31) as f64 - 15.0;
            let bytes = |i: usize| element.nearest(number(i))[..element.bytes()].to_vec();
            let [a, b, mut c]: [Vec<u8>; 3] =
                product.form.elements(&shape).map(|elements| (0..elements as usize).flat_map(bytes).collect());
            crate::Emulated::new().run(&plan, &a, &b, &mut c, Beside::default()).unwrap();
            for (i, found) in c.chunks(element.bytes()).enumerate() {
                let (row, col) = (i / 47, i % 47);
                let sum: f64 = (0..150).map(|k| number(k * 77 + row) * number(k * 46 + col)).sum();
                let expected = if col < 45 { 2.0 * sum - 3.0 * number(i) } else { number(i) };
                assert_eq!(element.value(found), expected, "{plan}: row {row}, column {col}");
            }
        }
    }

    #[test]
    fn what_no_kernel_computes_is_said_before_a_launch() {
        let said = |found: Result<Plan, Error>| match found {
            Err(Error::Unsupported { message, hint }) if !hint.is_empty() => message,
            other => panic!("{other:?}"),
        };
        let as_columns = |product: Product| product.with_b_as_columns();
        assert!(plan(Element::Bf16, as_columns, (90, 132)).is_ok());
        let message = said(plan(Element::Bf16, as_columns, (75, 40)));
        assert_eq!(message, "no kernel computes 512×384×256, C = A·B, B stored N×K, in bf16 on sm_75");
        let turned = |product: Product| product.with_a_as_columns();
        assert!(plan(Element::Bf16, turned, (90, 132)).is_ok());
        let message = said(plan(Element::F32, turned, (90, 132)));
        assert_eq!(message, "no kernel computes 512×384×256, C = A·B, A stored K×M, in f32 on sm_90");
        let relu = |product: Product| product.with_activation(Activation::Relu);
        assert!(plan(Element::F16, relu, (90, 132)).is_ok());
        let message = said(plan(Element::F64, relu, (90, 132)));
        assert_eq!(message, "no kernel computes 512×384×256, C = A·B, ReLU before C, in f64 on sm_90");
        let mixed = |product: Product| Product { types: Types { b: Element::E5m2, ..product.types }, ..product };
        let message = said(plan(Element::E4m3, mixed, (90, 132)));
        assert_eq!(message, "no kernel multiplies e4m3 times e5m2 to bf16, summed in f32");
        let wide = |product: Product| Product { types: Types { c: Element::F64, ..product.types }, ..product };
        assert_eq!(
            said(plan(Element::F32, wide, (90, 132))),
            "no kernel multiplies f32 times f32 to f64, summed in f32"
        );
    }
}
