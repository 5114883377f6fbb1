//! Kernels with tensor copies multiply copies of what no tensor map can say.

use device::nvrtc::nowhere;
use emulator::{Launch, Module};
use gemm::check::Check;
use gemm::form::Form;
use gemm::kernel::Kernel;
use gemm::matrix::Matrix;
use gemm::problem::{Fill, Problem};
use gemm::task::{Operand, Task};
use gemm::{Build, Dtype, Shape, emulated};
use levels::LEVELS;

/// The rows of A and B are no multiples of 16 bytes apart.
const RAGGED: Shape = Shape { m: 131, n: 77, k: 85 };

/// The levels that copy boxes of tensors where the product is large, in all their types, with their usual tile sizes.
fn builds() -> Vec<Build> {
    let large = Shape { m: 1025, n: 1023, k: 1021 };
    let all = LEVELS.iter().flat_map(|level| level.dtypes().map(|dtype| level.default_build(dtype)));
    all.filter(|build| !build.copies(&large, &Form::PLAIN).is_empty()).collect()
}

#[test]
fn what_moves_by_maps_is_copied_and_nothing_else() {
    let has = |number, dtype| {
        builds().iter().any(|build| build.level.number() == Some(number) && build.configuration.dtype == dtype)
    };
    for dtype in [Dtype::BF16, Dtype::F16] {
        assert!([12, 13, 14, 15, 19, 20].into_iter().all(|number| has(number, dtype)), "{dtype}");
    }
    assert!(has(16, Dtype::TF32) && has(17, Dtype::E4M3));
    // Level 19 has threads fetch fp8 that is stored K × N.
    assert!(!has(19, Dtype::E4M3) && !has(11, Dtype::BF16));
}

/// The task, where what maps cannot say is copied, however small the product is.
fn copying<'a>(task: &Task<'a>) -> Task<'a> {
    let mut task = task.clone();
    for operand in &mut task.operands {
        if let Operand::Map(map) = operand {
            map.copied = true;
        }
    }
    task
}

/// The product on the emulator, of matrices that begin so many bytes behind the beginning of a buffer; and the boxes that were copied.
fn product(task: &Task, problem: &Problem, before: [u64; 3]) -> (Matrix, u64) {
    let mut device = emulator::Device::new();
    let matrices = [("A", &problem.a, before[0]), ("B", &problem.b, before[1]), ("C", &problem.c, before[2])];
    let places = matrices.map(|(name, matrix, before)| {
        let buffer = device.alloc(name, before as usize + matrix.bytes().len());
        device.write_at(buffer, before as usize, matrix.bytes()).unwrap();
        (buffer, before)
    });
    let arguments = emulated::arguments(&task.operands, &mut device, places).unwrap();
    let program = Module::parse(&task.kernel.ptx).unwrap().kernel(&task.kernel.entry).unwrap();
    let how = Launch::new(task.launch.grid, task.launch.block).dynamic_shared(task.dynamic_shared).sanitize(true);
    let report = device.launch(&program, how, &arguments.values).unwrap();
    arguments.finish(&mut device, places[2]).unwrap();
    let mut bytes = vec![0; problem.c.bytes().len()];
    device.read_at(places[2].0, before[2] as usize, &mut bytes).unwrap();
    (problem.c.with_bytes(bytes), report.total.bulk.loads)
}

/// That these are right at a shape, by boxes alone.
fn are_right_by_boxes(builds: Vec<Build>, shape: Shape, before: [u64; 3]) {
    for build in builds {
        let dtype = build.configuration.dtype;
        let kernel = Kernel::obtain(&build, 90, nowhere).unwrap();
        let plan = build.plan(shape).unwrap();
        let task = plan.task(&kernel);
        let problem = Problem::in_form(shape, dtype, plan.form, Fill::Reals, 3).unwrap();
        let (product, boxes) = product(&copying(&task), &problem, before);
        assert!(Check::of(&problem, Fill::Reals, &product, task.method()).right, "{build}");
        assert!(boxes > 0, "{build}");
    }
}

#[test]
fn on_copies_every_kernel_copies_by_maps() {
    are_right_by_boxes(builds(), RAGGED, [0; 3]);
}

#[test]
fn a_matrix_that_begins_anywhere_is_copied_too() {
    let aligned = Shape { m: 70, n: 144, k: 80 };
    let all = [[4, 0, 0], [0, 8, 4], [4, 4, 0]];
    for (turn, before) in all.into_iter().enumerate() {
        // They take turns, but with `DEEP=1`.
        let its_turn = |(number, _): &(usize, Build)| level_tests::deep() || number % all.len() == turn;
        let builds: Vec<Build> = builds().into_iter().enumerate().filter(its_turn).map(|(_, build)| build).collect();
        assert!(!builds.is_empty(), "{before:?}");
        are_right_by_boxes(builds, aligned, before);
    }
}

#[test]
fn a_run_of_a_ragged_product_copies_first_and_says_so() {
    let level = &level13_warp_specialization::LEVEL;
    let report = level_tests::report(level, "--m 53 --n 51 --k 55 --dtype bf16 --backend emulator").unwrap();
    assert!(report.check.right);
    let text = report.to_string();
    let said: Vec<&str> = text.lines().filter(|line| line.starts_with("copied")).collect();
    let line = |role, from| format!("copied      {role} first, from rows {from} elements apart to rows 64 apart");
    assert_eq!(said, [line("A", 55), line("B", 51)]);
    assert!(text.contains("bulk loads"), "{text}");
}
