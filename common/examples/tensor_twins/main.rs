//! Products of small matrices on a GPU's tensor cores and on the emulator: whether all bits are equal.
//!
//! ```sh
//! cargo run --release -p common --example tensor_twins -- [products of each form] [words in a form's name, or `one|another` …]
//! ```
//!
//! Every form of `mma.sync`, `wmma` and `wgmma.mma_async` multiplies matrices drawn by chance from a seed that the table names: of all numbers, of
//! numbers with near exponents, of subnormal, huge and special ones. Without a GPU it says so, and does the emulator's half.

mod draw;
mod forms;
mod groups;
mod quads;
mod wmma;

use std::time::Instant;

use device::cuda::Gpu;
use draw::{Dice, KINDS};
use emulator::{Argument, Device, Launch, Module};
use forms::forms;
use groups::group_forms;
use quads::quad_forms;
use wmma::wmma_forms;

/// Warps of a thread block.
const WARPS: usize = 4;

/// A form of an instruction, as a kernel in which each warp or warpgroup executes it once.
trait Case {
    /// As in the opcode.
    fn name(&self) -> &str;
    fn ptx(&self) -> &str;
    fn runs_on(&self, architecture: u32) -> bool;
    /// How many products, of so many that are wanted of a small form.
    fn products(&self, wanted: usize) -> usize;
    /// Products of a thread block.
    fn in_a_block(&self) -> usize;
    fn k(&self) -> usize;
    /// Elements of D.
    fn sums(&self) -> usize;
    fn sum_bytes(&self) -> usize;
    /// What the threads get, for so many products.
    fn inputs(&self, dice: &mut Dice, products: usize) -> Vec<u8>;
    /// What is added up in an element of D, the `n`th as it is stored, in words.
    fn terms(&self, input: &[u8], product: usize, n: usize) -> String;
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = arguments.first().and_then(|argument| argument.parse::<usize>().ok());
    let wanted = &arguments[usize::from(number.is_some()).min(arguments.len())..];
    let products = number.unwrap_or(4096).next_multiple_of(WARPS);
    let gpu = Gpu::find();
    match &gpu {
        Ok(gpu) => {
            println!("{}, sm_{}, CUDA {}", gpu.name(), gpu.architecture(), gpu.cuda_version().unwrap_or_default())
        }
        Err(why) => println!("skipped: no CUDA device ({why}); the emulator alone"),
    }
    let architecture = gpu.as_ref().map_or(90, Gpu::architecture);
    println!(
        "| form | seed | products | sums | differing | by kind | emulator, ns per multiply-add |\n|---|---|---|---|---|---|---|"
    );
    let (mut differing, mut refused, mut notes) = (0, 0, Vec::new());
    let boxed = |form| Box::new(form) as Box<dyn Case>;
    let groups = group_forms().into_iter().map(|form| Box::new(form) as Box<dyn Case>);
    let quads = quad_forms().into_iter().map(|form| Box::new(form) as Box<dyn Case>);
    let whole = wmma_forms().into_iter().map(|form| Box::new(form) as Box<dyn Case>);
    for (n, form) in forms().into_iter().map(boxed).chain(groups).chain(quads).chain(whole).enumerate() {
        let named = |words: &String| words.split('|').any(|word| form.name().contains(word));
        if !form.runs_on(architecture) || !wanted.iter().all(named) {
            continue;
        }
        let (form, seed, products) = (&*form, 1000 + n as u64, form.products(products));
        match compare(gpu.as_ref().ok(), architecture, form, products, seed) {
            Ok(outcome) => {
                differing += outcome.differing;
                println!("{}", outcome.row);
                notes.extend(outcome.first);
            }
            Err(error) => {
                refused += 1;
                println!("| {} | {seed} | {products} | – | – | {error} | |", form.name());
            }
        }
    }
    for note in &notes {
        println!("\n{note}");
    }
    println!("\n{differing} sums differ in {} forms, {refused} forms refused", notes.len());
    std::process::exit(i32::from(differing > 0 || refused > 0));
}

struct Outcome {
    row: String,
    differing: usize,
    first: Option<String>,
}

fn compare(
    gpu: Option<&Gpu>,
    architecture: u32,
    form: &dyn Case,
    products: usize,
    seed: u64,
) -> Result<Outcome, String> {
    let input = form.inputs(&mut Dice::new(seed), products);
    let blocks = (products / form.in_a_block()) as u32;
    let output_bytes = products * form.sums() * form.sum_bytes();
    let start = Instant::now();
    let ours = emulate(form, architecture, blocks, &input, output_bytes)?;
    let seconds = start.elapsed().as_secs_f64();
    let sums = products * form.sums();
    let nanoseconds = 1e9 * seconds / (sums * form.k()) as f64;
    let head = format!("| {} | {seed} | {products} | {sums} |", form.name());
    let Some(gpu) = gpu else {
        return Ok(Outcome { row: format!("{head} – | | {nanoseconds:.2} |"), differing: 0, first: None });
    };
    let theirs = gpu.run_form(form.ptx(), (blocks, 32 * WARPS as u32), &input, output_bytes)?;
    let bytes = form.sum_bytes();
    let (mut by_kind, mut first) = ([0usize; KINDS.len()], None);
    for (n, (ours, theirs)) in ours.chunks_exact(bytes).zip(theirs.chunks_exact(bytes)).enumerate() {
        if ours != theirs {
            let product = n / form.sums();
            by_kind[product % KINDS.len()] += 1;
            first.get_or_insert_with(|| {
                let pattern = |bytes: &[u8]| bytes.iter().rev().map(|byte| format!("{byte:02x}")).collect::<String>();
                let kind = KINDS[product % KINDS.len()];
                let terms = form.terms(&input, product, n % form.sums());
                let (ours, theirs) = (pattern(ours), pattern(theirs));
                format!("{} ({kind}): {terms} is {theirs} on the GPU, {ours} here", form.name())
            });
        }
    }
    let differing = by_kind.iter().sum();
    let counts = KINDS.iter().zip(by_kind).filter(|(_, count)| *count > 0);
    let kinds: Vec<String> = counts.map(|(kind, count)| format!("{kind} {count}")).collect();
    Ok(Outcome { row: format!("{head} {differing} | {} | {nanoseconds:.2} |", kinds.join(", ")), differing, first })
}

fn emulate(form: &dyn Case, architecture: u32, blocks: u32, input: &[u8], bytes: usize) -> Result<Vec<u8>, String> {
    let say = |error: &dyn std::fmt::Display| error.to_string();
    let kernel = Module::parse(form.ptx()).and_then(|module| module.kernel("form")).map_err(|error| say(&error))?;
    let mut device = Device::new();
    let mut output = vec![0; bytes];
    let (from, to) = (device.alloc("in", input.len()), device.alloc("out", bytes));
    device.write(from, input).map_err(|error| say(&error))?;
    let launch = Launch::new(blocks, 32 * WARPS as u32).sanitize(false).architecture(architecture);
    device.launch(&kernel, launch, &[Argument::Buffer(from), Argument::Buffer(to)]).map_err(|error| say(&error))?;
    device.read(to, &mut output).map_err(|error| say(&error))?;
    Ok(output)
}
