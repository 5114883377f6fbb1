//! On candle's CPU device: elements become bytes, and bytes elements, as the emulator takes them.

use candle_core::backend::BackendStorage;
use candle_core::{CpuStorage, Result, bail};
use gemm::Element;
use half::{bf16, f16};
use summit::{Beside, Emulated};

use crate::placed::Placed;

/// C, whole.
pub fn multiply(emulated: &Emulated, placed: &Placed, a: &CpuStorage, b: &CpuStorage) -> Result<CpuStorage> {
    let ((element, a), (_, b)) = (bytes(a)?, bytes(b)?);
    let (product, size) = (placed.product(element)?, element.bytes());
    let mut c = vec![0; placed.elements() * size];
    let plan = emulated.plan(&product).map_err(candle_core::Error::wrap)?;
    for begin in placed.batches() {
        let [from_a, from_b, from_c] = begin.map(|elements| elements * size);
        let c = &mut c[from_c..from_c + placed.of_batch() * size];
        emulated.run(&plan, &a[from_a..], &b[from_b..], c, Beside::default()).map_err(candle_core::Error::wrap)?;
    }
    Ok(match element {
        Element::F64 => CpuStorage::F64(elements(&c, f64::from_le_bytes)),
        Element::F32 => CpuStorage::F32(elements(&c, f32::from_le_bytes)),
        Element::Bf16 => CpuStorage::BF16(elements(&c, bf16::from_le_bytes)),
        _ => CpuStorage::F16(elements(&c, f16::from_le_bytes)),
    })
}

fn bytes(storage: &CpuStorage) -> Result<(Element, Vec<u8>)> {
    Ok(match storage {
        CpuStorage::F64(all) => (Element::F64, all.iter().flat_map(|element| element.to_le_bytes()).collect()),
        CpuStorage::F32(all) => (Element::F32, all.iter().flat_map(|element| element.to_le_bytes()).collect()),
        CpuStorage::BF16(all) => (Element::Bf16, all.iter().flat_map(|element| element.to_le_bytes()).collect()),
        CpuStorage::F16(all) => (Element::F16, all.iter().flat_map(|element| element.to_le_bytes()).collect()),
        other => bail!("no kernel multiplies {:?}\nhint: there are f64, f32, bf16 and f16", other.dtype()),
    })
}

fn elements<const SIZE: usize, T>(bytes: &[u8], element: impl Fn([u8; SIZE]) -> T) -> Vec<T> {
    bytes.as_chunks::<SIZE>().0.iter().map(|bytes| element(*bytes)).collect()
}
