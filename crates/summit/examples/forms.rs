//! What the forms of a 16-bit product cost on the first GPU: layouts, epilogues and batches, in turns with cuBLAS where it is found.
//! Each line is the least and the median of the rounds, in microseconds a call; `of plain` is by the median, beside the summit's plain
//! product of these sizes.
//!
//! ```sh
//! cargo run --release -p summit --example forms
//! ```
//!
//! Shapes behind it, as `4096x14336x4096`, are measured alone.

use std::error::Error;
use std::sync::Arc;

use cudarc::driver::sys::CUevent_flags::CU_EVENT_DEFAULT;
use cudarc::driver::{CudaSlice, CudaStream};
use device::vendor::Vendor;
use gemm::form::Form;
use gemm::{Element, Shape};
use summit::{Activation, Along, Apart, Batch, Beside, Handle, KERNELS, OnGpu, Plan, Product, Types};

type Failure = Box<dyn Error>;

/// Rounds, in which every form and cuBLAS have their turn once.
const ROUNDS: usize = 15;
/// What a turn takes at least, in milliseconds: so many calls as that needs.
const TURN: f32 = 4.0;

/// Sums that are measured beside each other.
struct Group {
    shape: Shape,
    batch: Batch,
    products: Vec<Product>,
    /// Products that are measured with other kernels and tile sizes than the chosen ones, too.
    by_all: Vec<Product>,
}

/// Memory for the largest of a group.
struct Data {
    a: CudaSlice<u8>,
    b: CudaSlice<u8>,
    c: CudaSlice<u8>,
    d: CudaSlice<u8>,
    vector: CudaSlice<u8>,
}

fn main() -> Result<(), Failure> {
    let handle = match Handle::new() {
        Ok(handle) => handle,
        Err(error) => {
            eprintln!("error: {error}");
            std::process::exit(2);
        }
    };
    let stream = handle.context().new_stream()?;
    let vendor = Vendor::on(handle.gpu(), &stream);
    let version = vendor.as_ref().map_or_else(|why| format!("no cuBLAS: {why}"), |vendor| vendor.version());
    println!(
        "{}; cuBLAS {version}; {ROUNDS} rounds of {TURN} ms a turn, bf16, L2 as the call before left it",
        handle.gpu().name()
    );
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    let is_wanted = |group: &Group| wanted.is_empty() || wanted.contains(&group.shape.to_string().replace('×', "x"));
    for group in groups().into_iter().filter(is_wanted) {
        measure(&handle, &stream, vendor.as_ref().ok(), &group)?;
    }
    Ok(())
}

fn groups() -> Vec<Group> {
    let types = Types::of(Element::Bf16);
    let layouts = |plain: Product| {
        let with_a = plain.with_a_as_columns();
        vec![plain, plain.with_b_as_columns(), with_a, with_a.with_b_as_columns()]
    };
    let epilogues = |plain: Product| {
        let apart = Apart { leading: plain.shape.n, stride: 0 };
        let residual = plain.with_factors(1.0, 1.0).with_c_apart(apart);
        let bias = |product: Product| product.with_bias(Along::N);
        vec![
            bias(plain),
            plain.with_activation(Activation::Relu),
            plain.with_activation(Activation::Silu),
            bias(plain).with_activation(Activation::Gelu),
            residual,
            bias(residual).with_activation(Activation::Gelu),
            bias(residual).with_activation(Activation::Gelu).with_b_as_columns(),
            plain.with_vectors_of_factors(true, true),
        ]
    };
    let mut groups = Vec::new();
    for [m, n, k] in [[4096, 4096, 4096], [4096, 14336, 4096], [4096, 4096, 14336]] {
        let shape = Shape { m, n, k };
        let plain = Product::new(types, shape);
        let by_all = vec![plain, epilogues(plain)[5]];
        groups.push(Group { shape, batch: Batch::ONE, products: [layouts(plain), epilogues(plain)].concat(), by_all });
    }
    for (count, [m, n, k]) in [(32, [2048, 2048, 128]), (256, [128, 128, 128])] {
        let shape = Shape { m, n, k };
        let strides = [[m, k], [k, n], [m, n]].map(|[rows, columns]| u64::from(rows) * u64::from(columns));
        let batch = Batch { count, strides };
        let products = layouts(Product::new(types, shape).with_batch(batch));
        let by_all = products[..1].to_vec();
        groups.push(Group { shape, batch, products, by_all });
    }
    // What rows that do not depend on M cost.
    for m in [1, 4, 16, 64, 256] {
        let shape = Shape { m, n: 4096, k: 4096 };
        let plain = Product::new(types, shape).with_b_as_columns();
        let products = vec![plain, plain.with_invariant_rows()];
        groups.push(Group { shape, batch: Batch::ONE, products, by_all: Vec::new() });
    }
    groups
}

fn measure(
    handle: &Handle,
    stream: &Arc<CudaStream>,
    vendor: Option<&Vendor>,
    Group { shape, batch, products, by_all }: &Group,
) -> Result<(), Failure> {
    println!("\n{} times {shape}", batch.count);
    let [a, b, d] = products[0].bytes();
    let data = |bytes: u64, seed: u32| Ok::<_, Failure>(stream.clone_htod(&halves(bytes as usize / 2, seed))?);
    let mut data = Data {
        a: data(a, 1)?,
        b: data(b, 2)?,
        c: data(d, 3)?,
        d: data(d, 4)?,
        // As factors, two of them are an f32 from about −1 to 1, too.
        vector: data(4 * u64::from(shape.m.max(shape.n)), 5)?,
    };
    let chosen = products.iter().map(|product| Ok::<_, Failure>(handle.plan(product)?));
    let mut plans = chosen.collect::<Result<Vec<Plan>, _>>()?;
    plans.extend(by_all.iter().flat_map(|product| others(handle, product)));
    let forms: Vec<Form> = products.iter().take(4).map(|product| product.form).collect();
    let turns = plans.len() + vendor.map_or(0, |_| forms.len());
    let mut times = vec![Vec::new(); turns];
    for round in 0..ROUNDS + 1 {
        for (turn, times) in times.iter_mut().enumerate() {
            let mut call = |data: &mut Data| match plans.get(turn) {
                Some(plan) => summit(handle, stream, plan, data),
                None => cublas(stream, vendor, &forms[turn - plans.len()], (shape, batch), data),
            };
            let time = timed(stream, &mut data, &mut call)?;
            // The first round loads kernels.
            if round > 0 {
                times.push(time);
            }
        }
    }
    times.iter_mut().for_each(|times| times.sort_by(f32::total_cmp));
    let median = |turn: usize| times[turn][ROUNDS / 2];
    println!("{:>9}  {:>9}  {:>8}  {:>10}", "least", "median", "of plain", "of cuBLAS");
    for turn in 0..turns {
        let (who, layout) = match plans.get(turn) {
            Some(plan) => (format!("{}; {}", plan.product(), plan.build()), plan.product().form),
            None => (format!("cuBLAS, {}", forms[turn - plans.len()]), forms[turn - plans.len()]),
        };
        let rival = forms.iter().position(|form| (form.a, form.layout) == (layout.a, layout.layout));
        let rival = rival.map(|form| plans.len() + form).filter(|rival| *rival < turns);
        let of_rival = rival.map_or_else(|| "-".to_string(), |rival| format!("{:.3}", median(rival) / median(turn)));
        let of_plain = median(turn) / median(0);
        println!("{:>9.2}  {:>9.2}  {of_plain:>8.3}  {of_rival:>10}  {who}", times[turn][0], median(turn));
    }
    Ok(())
}

/// The product by every shipped build of the kernels that make batches and epilogues, but the chosen one.
fn others(handle: &Handle, product: &Product) -> Vec<Plan> {
    let Ok(chosen) = handle.plan(product) else { return Vec::new() };
    let kernels = KERNELS.into_iter().filter(|kernel| kernel.takes_batches() && kernel.takes_epilogues());
    let builds = kernels.flat_map(|kernel| kernel.shipped_builds()).filter(|build| {
        let of_type = Some(build.configuration.dtype) == product.types.dtype();
        let is_chosen = build.level.name == chosen.build().level.name
            && build.configuration.tiles == chosen.build().configuration.tiles;
        of_type && !is_chosen
    });
    builds.filter_map(|build| handle.plan_by(product, &build).ok()).collect()
}

fn summit(handle: &Handle, stream: &Arc<CudaStream>, plan: &Plan, data: &mut Data) -> Result<(), Failure> {
    let Data { a, b, c, d, vector } = data;
    let needed = plan.product().bytes_beside();
    let vector: &dyn OnGpu = vector;
    let c: &dyn OnGpu = c;
    let beside = Beside {
        c: needed.c.map(|_| c),
        bias: needed.bias.map(|_| vector),
        row_factors: needed.row_factors.map(|_| vector),
        column_factors: needed.column_factors.map(|_| vector),
    };
    Ok(handle.run_with::<u8, u8, u8>(stream, plan, (&*a, &*b), d, beside)?)
}

fn cublas(
    stream: &Arc<CudaStream>,
    vendor: Option<&Vendor>,
    form: &Form,
    (shape, batch): (&Shape, &Batch),
    data: &mut Data,
) -> Result<(), Failure> {
    let Some(vendor) = vendor else { return Ok(()) };
    let dtype = Types::of(Element::Bf16).dtype().ok_or("bf16 has a name")?;
    Ok(vendor.gemm_of_bytes(stream, (dtype, *shape, form, batch), &data.a, &data.b, &mut data.d)?)
}

/// Microseconds of a call, of as many as take a turn.
fn timed(
    stream: &Arc<CudaStream>,
    data: &mut Data,
    call: &mut impl FnMut(&mut Data) -> Result<(), Failure>,
) -> Result<f32, Failure> {
    let mut run = |calls: u32| -> Result<f32, Failure> {
        let event = || stream.context().new_event(Some(CU_EVENT_DEFAULT));
        let (start, end) = (event()?, event()?);
        start.record(stream)?;
        for _ in 0..calls {
            call(data)?;
        }
        end.record(stream)?;
        Ok(start.elapsed_ms(&end)? / calls as f32)
    };
    let once = run(2)?;
    let calls = (TURN / once.max(1e-4)).clamp(1.0, 400.0) as u32;
    Ok(1e3 * run(calls)?)
}

/// bf16 numbers between −2 and 2 that look random.
fn halves(count: usize, seed: u32) -> Vec<u8> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        // A sign, an exponent of 0.25 to 1, and seven bits of a mantissa.
        let exponent = 125 + (state >> 16) % 3;
        ((state >> 31) << 15 | exponent << 7 | state >> 20 & 0x7f) as u16
    };
    (0..count).flat_map(|_| next().to_le_bytes()).collect()
}
