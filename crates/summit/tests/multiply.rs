//! The library's call: right for every choice, and errors as values.

use device::Device;
use gemm::check::Part;
use gemm::problem::{Fill, Problem};
use gemm::{Dtype, Error, Shape};
use summit::kernels::fma_split_k;
use summit::{Choice, multiply};

#[test]
fn every_choice_gives_the_product() {
    let shape = Shape { m: 37, n: 51, k: 23 };
    let single = Problem::new(shape, Dtype::F32, Fill::Integers, 5).unwrap();
    let double = Problem::new(shape, Dtype::F64, Fill::Integers, 6).unwrap();
    let [a32, b32] = [&single.a, &single.b].map(|matrix| matrix.numbers::<f32>().unwrap());
    let [a64, b64] = [&double.a, &double.b].map(|matrix| matrix.numbers::<f64>().unwrap());
    for choice in [Choice::Kernel(&fma_split_k::KERNEL), Choice::Best] {
        let c = multiply(choice, &Device::Emulator, shape, &a32, &b32).unwrap();
        let c: Vec<f64> = c.into_iter().map(f64::from).collect();
        assert_eq!(c, Part::whole(&single).product);
        let c = multiply(choice, &Device::Emulator, shape, &a64, &b64).unwrap();
        assert_eq!(c, Part::whole(&double).product);
    }
}

#[test]
fn errors_are_values() {
    let refused = |choice, shape: Shape, a: usize, b: usize| match multiply(
        choice,
        &Device::Emulator,
        shape,
        &vec![0.0f32; a],
        &vec![0.0; b],
    ) {
        Err(Error::Usage { message, .. }) => message,
        other => panic!("{other:?}"),
    };
    let kernel = Choice::Kernel(&fma_split_k::KERNEL);
    let shape = |m, n, k| Shape { m, n, k };
    assert_eq!(refused(kernel, shape(0, 1, 1), 0, 1), "a size of 0×1×1 is 0");
    assert_eq!(refused(kernel, shape(2, 1, 1), 3, 1), "A has 3 elements, and 2 x 1 are 2");
    assert_eq!(refused(kernel, shape(1, 2, 3), 3, 5), "B has 5 elements, and 3 x 2 are 6");
    let largest = u32::MAX;
    assert!(refused(kernel, shape(largest, largest, largest), 1, 1).starts_with("A has 1 elements"));
    assert_eq!(refused(Choice::Best, shape(2, 1, 1), 3, 1), "A has 3 elements, and 2 x 1 are 2");
}
