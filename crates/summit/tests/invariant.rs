//! Rows that do not depend on the batch: a row of C has the same bits whatever M is, and wherever the row stands.

use gemm::{Build, Element, Level, Shape};
use summit::kernels::Order;
use summit::{Beside, Chooser, Emulated, Handle, KERNELS, Plan, Product, Types};

/// As many reals between -1 and 1, as an element's bytes.
fn reals(element: Element, count: usize, seed: u64) -> Vec<u8> {
    let mut state = seed;
    let mut next = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as f64 / f64::from(1u32 << 30) - 1.0
    };
    (0..count).flat_map(|_| element.nearest(next())[..element.bytes()].to_vec()).collect()
}

const TYPES: [Element; 6] = [Element::F64, Element::F32, Element::Tf32, Element::Bf16, Element::F16, Element::E4m3];

/// What is chosen for many M is of one order, and depends on M: else nothing would be tried here.
#[test]
fn every_size_is_multiplied_in_one_order() {
    for (sm, sms) in [(75, 40), (80, 108), (90, 132)] {
        let chooser = Chooser::new(sm, sms);
        for element in TYPES {
            let plan = |m| {
                let shape = Shape { m, n: 4096, k: 4096 };
                Plan::of(&chooser, &Product::new(Types::of(element), shape).with_invariant_rows()).ok()
            };
            let plans: Vec<Plan> = [1, 7, 16, 64, 200, 1024, 4096, 16384].into_iter().filter_map(plan).collect();
            let of = |build: &Build| Order::of(build.level).expect("an order that no size changes");
            assert!(plans.iter().all(|one| of(one.build()) == of(plans[0].build())), "{element:?} on sm_{sm}");
            assert!(plans.len() == 8 || plans.is_empty(), "{element:?} on sm_{sm}");
            // In e4m3 there is one build.
            if sm == 90 && element != Element::E4m3 {
                let differs = |one: &Plan| one.build().to_string() != plans[0].build().to_string();
                assert!(plans.iter().any(differs), "{element:?}: one build for all sizes");
            }
        }
    }
}

/// Every shipped build of an order gives the same bits, on the emulator, which has the card's.
#[test]
fn builds_of_one_order_give_the_same_bits() {
    let shape = Shape { m: 40, n: 72, k: 200 };
    let emulated = Emulated::new();
    let mut tried = 0;
    for element in TYPES {
        let types = Types::of(element);
        let a = reals(element, 40 * 200, 1);
        let b = reals(element, 200 * 72, 2);
        let before = reals(types.c, 40 * 72, 3);
        let plain = Product::new(types, shape);
        // With factors it is two builds of each kernel: most are shipped without, and are compiled.
        for (order, product, most) in
            Order::ALL.into_iter().flat_map(|order| [(order, plain, 9), (order, plain.with_factors(1.5, 0.25), 2)])
        {
            let mut first: Option<(String, Vec<u8>)> = None;
            let kernels = KERNELS.into_iter().filter(|kernel| Order::of(kernel) == Some(order));
            let builds = |kernel: &'static Level| {
                let of_type = |build: &Build| Some(build.configuration.dtype) == types.dtype();
                kernel.shipped_builds().into_iter().filter(of_type).take(most).collect::<Vec<_>>()
            };
            for build in kernels.flat_map(builds) {
                let Ok(plan) = Plan::by(&Chooser::new(90, 132), &product, &build) else { continue };
                let mut c = before.clone();
                emulated.run(&plan, &a, &b, &mut c, Beside::default()).unwrap();
                let (name, bits) = first.get_or_insert_with(|| (build.to_string(), c.clone()));
                assert!(*bits == c, "{element:?}: {build} and {name} differ");
                tried += 1;
            }
        }
    }
    assert!(tried > 60, "{tried} builds");
}

/// A thousand pairs of M and a place, on a GPU: the row that is multiplied among others there has the bits that it has alone.
#[test]
fn a_row_has_the_same_bits_among_any_others() {
    let handle = match Handle::new() {
        Ok(handle) => handle,
        Err(error) => return level_tests::skipped(&error.to_string()),
    };
    let stream = handle.context().new_stream().unwrap();
    let (rows, n, k) = (600, 384, 520);
    for element in TYPES {
        let types = Types::of(element);
        let product = |m| Product::new(types, Shape { m, n, k }).with_invariant_rows();
        let (width, out) = (k as usize * element.bytes(), n as usize * types.c.bytes());
        let a = stream.clone_htod(&reals(element, rows * k as usize, 1)).unwrap();
        let b = stream.clone_htod(&reals(element, (n * k) as usize, 2)).unwrap();
        let multiply = |first: usize, m: usize| -> Vec<u8> {
            let mut c = stream.alloc_zeros::<u8>(m * out).unwrap();
            handle.gemm(&stream, &product(m as u32), &a.slice(first * width..(first + m) * width), &b, &mut c).unwrap();
            stream.clone_dtoh(&c).unwrap()
        };
        let all = multiply(0, rows);
        let mut names = std::collections::BTreeSet::new();
        let mut state = 1u64;
        for _ in 0..200 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            // Few rows and many are as likely.
            let m = (2f64.powf((state >> 40) as f64 / f64::from(1 << 24) * 9.2) as usize).clamp(1, rows);
            let first = (state >> 8) as usize % (rows - m + 1);
            assert!(multiply(first, m) == all[first * out..(first + m) * out], "{element:?}: {m} rows from {first}");
            names.insert(handle.plan(&product(m as u32)).unwrap().build().to_string());
        }
        eprintln!("{element:?}: by {names:?}");
    }
}
