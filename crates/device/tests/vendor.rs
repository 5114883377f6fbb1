//! cuBLAS's products, in every type and form that its calls take: right, where a GPU and cuBLAS answer.

use device::Device;
use device::vendor::Vendor;
use gemm::check::{Check, Method};
use gemm::form::{Form, Layout};
use gemm::problem::{Fill, Problem};
use gemm::{Dtype, Element, Shape, Tile};
use level_tests::{gpu, skipped};

#[test]
fn every_type_and_form_is_right() {
    let Some(Device::Cuda(gpu)) = gpu() else { return };
    let vendor = match Vendor::find(&gpu) {
        Ok(vendor) => vendor,
        Err(why) => return skipped(&why),
    };
    let shape = Shape { m: 100, n: 70, k: 50 };
    let columns = Form { layout: Layout::Columns, ..Form::PLAIN };
    // Leading dimensions that are whole vectors of 16 bytes in every type, and such as are none.
    let aligned = Form { alpha: 2.0, beta: -1.0, padding: [14, 10, 10], ..Form::PLAIN };
    let odd = Form { alpha: 0.5, beta: 3.0, layout: Layout::Columns, padding: [1, 3, 7], ..Form::PLAIN };
    for dtype in Dtype::ALL.map(|(_, dtype)| dtype) {
        for form in [Form::PLAIN, columns, aligned, odd] {
            for fill in [Fill::Integers, Fill::Reals] {
                let problem = Problem::in_form(shape, dtype, form, fill, 3).unwrap();
                let answer = vendor.multiply(&problem, false);
                if dtype.input.bytes() == 1 {
                    assert!(answer.is_err(), "{dtype}: no row of 50 bytes is a multiple of 16");
                    continue;
                }
                let (c, _) = answer.unwrap_or_else(|error| panic!("{dtype}, {form:?}: {error}"));
                let method = Method { tile: Tile { m: 100, n: 70, k: 50 }, sum: dtype.vendor_sum() };
                let check = Check::of(&problem, fill, &c, method);
                assert!(check.right, "{dtype}, {form:?}, {fill:?}: {check:?}");
            }
        }
    }
}

#[test]
fn bytes_are_right_where_cublas_takes_them() {
    let Some(Device::Cuda(gpu)) = gpu() else { return };
    let vendor = match Vendor::find(&gpu) {
        Ok(vendor) => vendor,
        Err(why) => return skipped(&why),
    };
    let shape = Shape { m: 96, n: 80, k: 1040 };
    let columns = Form { layout: Layout::Columns, ..Form::PLAIN };
    let factors = Form { alpha: 2.0, beta: -1.0, padding: [16, 32, 16], ..columns };
    for dtype in Dtype::ALL.map(|(_, dtype)| dtype).into_iter().filter(|dtype| dtype.input.bytes() == 1) {
        for form in [columns, factors, Form::PLAIN] {
            let problem = Problem::in_form(shape, dtype, form, Fill::Reals, 3).unwrap();
            let answer = vendor.multiply(&problem, false);
            if dtype.input == Element::E5m2 || form == Form::PLAIN {
                assert!(
                    answer.unwrap_err().to_string().contains("of bytes only e4m3 and s8, with B as N x K"),
                    "{dtype}"
                );
                continue;
            }
            let (c, _) = answer.unwrap_or_else(|error| panic!("{dtype}, {form:?}: {error}"));
            let method = Method { tile: Tile { m: 96, n: 80, k: 1040 }, sum: dtype.vendor_sum() };
            let check = Check::of(&problem, Fill::Reals, &c, method);
            assert!(check.right, "{dtype}, {form:?}: {check:?}");
        }
    }
}
