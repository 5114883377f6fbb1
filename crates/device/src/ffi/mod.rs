//! Every call that Rust cannot check: NVRTC's functions, the launch on a CUDA GPU, cuBLAS's, NVML's and NCCL's.
//!
//! The only unsafe code of this crate.
#![allow(unsafe_code)]

mod cublas;
mod nvml;
mod nvrtc;
mod peers;
mod pinned;

use std::ffi::c_void;
use std::ptr;
use std::sync::Arc;

use cudarc::driver::{
    CudaContext, CudaFunction, CudaSlice, CudaStream, DeviceRepr, DriverError, LaunchConfig, PushKernelArg,
    ValidAsZeroBits, sys,
};
use emulator::{TensorElement, TensorL2Promotion, TensorMapDescription, TensorSwizzle};
use libloading::Library;

pub(crate) use cublas::{Cublas, HEURISTICS, Light};
pub(crate) use nvml::Nvml;
pub(crate) use nvrtc::{Compiled, Input, Nvrtc};
pub(crate) use peers::{Call, Nccl, Number, copy, reach, untracked};
pub(crate) use pinned::Pinned;
pub use pinned::Window;

/// Whether the loader finds the CUDA driver's library. Without it, any call of cudarc's driver panics. cudarc's own answer is not there
/// where it is linked to the library, as another crate in the program may ask of it.
pub(crate) fn cuda_driver_is_present() -> bool {
    let names = ["libcuda.so", "libcuda.so.1", "nvcuda.dll", "cuda.dll"];
    // SAFETY: loads libcuda and nothing else.
    names.into_iter().any(|name| unsafe { Library::new(name) }.is_ok())
}

/// Memory of a GPU that somebody else has allocated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Memory {
    address: u64,
    bytes: u64,
}

impl Memory {
    /// So many bytes from an address on.
    ///
    /// # Safety
    /// They are memory of the GPU in whose context they are used, and stay it until all that was submitted with them is done. What is
    /// written there is in nobody else's use until then, and what is read is not written.
    pub const unsafe fn at(address: u64, bytes: u64) -> Memory {
        Memory { address, bytes }
    }

    /// Where it begins.
    pub const fn address(&self) -> u64 {
        self.address
    }

    /// How many bytes it has.
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }
}

/// Memory of a stream that holds any bits until it is written.
///
/// # Errors
/// What the driver answers; where the GPU has no room, that it is out of memory.
pub fn unwritten<T: DeviceRepr + ValidAsZeroBits>(
    stream: &Arc<CudaStream>,
    elements: usize,
) -> Result<CudaSlice<T>, DriverError> {
    // SAFETY: elements are numbers of a product, which any bits are, as they are once a kernel has written them.
    unsafe { stream.alloc(elements) }
}

/// The CUDA version that the driver implements: 13000 is 13.0.
pub(crate) fn cuda_version() -> Option<i32> {
    let mut version = 0;
    // SAFETY: cuDriverGetVersion(int*) writes one integer; a GPU has been found, so the library is loaded.
    let status = unsafe { cudarc::driver::sys::cuDriverGetVersion(&mut version) };
    status.result().is_ok().then_some(version)
}

/// Machine code of PTX for the context's GPU, made by the driver's ptxas at an optimisation level from 0 to 4.
pub(crate) fn assemble(context: &CudaContext, ptx: &str, optimization: u32) -> Result<Vec<u8>, DriverError> {
    context.bind_to_thread()?;
    // NUL is no part of PTX, and ends it.
    let ptx: Vec<u8> = ptx.bytes().filter(|&byte| byte != 0).chain([0]).collect();
    let mut option = sys::CUjit_option::CU_JIT_OPTIMIZATION_LEVEL;
    let mut value = optimization as usize as *mut c_void;
    let mut linker = ptr::null_mut();
    // SAFETY: the signatures are cuda.h's; a context is current on this thread. An option's value stands in the pointer
    // itself; the text outlives the call; the machine code is the linker's, and is copied before the linker is destroyed, once.
    unsafe {
        sys::cuLinkCreate_v2(1, &mut option, &mut value, &mut linker).result()?;
        let assembled = || {
            let (kind, (mut code, mut size)) = (sys::CUjitInputType::CU_JIT_INPUT_PTX, (ptr::null_mut(), 0));
            let (text, none, values) = (ptx.as_ptr().cast_mut().cast(), ptr::null_mut(), ptr::null_mut());
            sys::cuLinkAddData_v2(linker, kind, text, ptx.len(), c"kernel.ptx".as_ptr(), 0, none, values).result()?;
            sys::cuLinkComplete(linker, &mut code, &mut size).result()?;
            Ok(std::slice::from_raw_parts(code.cast::<u8>(), size).to_vec())
        };
        let code = assembled();
        sys::cuLinkDestroy(linker).result()?;
        code
    }
}

/// A tensor map, made by the driver.
pub(crate) fn tensor_map(description: &TensorMapDescription) -> Result<sys::CUtensorMap, DriverError> {
    use sys::{CUtensorMapDataType_enum as Type, CUtensorMapL2promotion_enum as Promotion};
    let element = match description.element {
        TensorElement::U8 => Type::CU_TENSOR_MAP_DATA_TYPE_UINT8,
        TensorElement::U16 => Type::CU_TENSOR_MAP_DATA_TYPE_UINT16,
        TensorElement::U32 => Type::CU_TENSOR_MAP_DATA_TYPE_UINT32,
        TensorElement::S32 => Type::CU_TENSOR_MAP_DATA_TYPE_INT32,
        TensorElement::U64 => Type::CU_TENSOR_MAP_DATA_TYPE_UINT64,
        TensorElement::S64 => Type::CU_TENSOR_MAP_DATA_TYPE_INT64,
        TensorElement::F16 => Type::CU_TENSOR_MAP_DATA_TYPE_FLOAT16,
        TensorElement::F32 => Type::CU_TENSOR_MAP_DATA_TYPE_FLOAT32,
        TensorElement::F64 => Type::CU_TENSOR_MAP_DATA_TYPE_FLOAT64,
        TensorElement::Bf16 => Type::CU_TENSOR_MAP_DATA_TYPE_BFLOAT16,
        TensorElement::F32Ftz => Type::CU_TENSOR_MAP_DATA_TYPE_FLOAT32_FTZ,
        TensorElement::Tf32 => Type::CU_TENSOR_MAP_DATA_TYPE_TFLOAT32,
        TensorElement::Tf32Ftz => Type::CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ,
        _ => return Err(DriverError(sys::CUresult::CUDA_ERROR_NOT_SUPPORTED)),
    };
    let swizzle = match description.swizzle {
        TensorSwizzle::B32 => sys::CUtensorMapSwizzle_enum::CU_TENSOR_MAP_SWIZZLE_32B,
        TensorSwizzle::B64 => sys::CUtensorMapSwizzle_enum::CU_TENSOR_MAP_SWIZZLE_64B,
        TensorSwizzle::B128 => sys::CUtensorMapSwizzle_enum::CU_TENSOR_MAP_SWIZZLE_128B,
        _ => sys::CUtensorMapSwizzle_enum::CU_TENSOR_MAP_SWIZZLE_NONE,
    };
    let promotion = match description.l2_promotion {
        TensorL2Promotion::B64 => Promotion::CU_TENSOR_MAP_L2_PROMOTION_L2_64B,
        TensorL2Promotion::B128 => Promotion::CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
        TensorL2Promotion::B256 => Promotion::CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
        _ => Promotion::CU_TENSOR_MAP_L2_PROMOTION_NONE,
    };
    let TensorMapDescription { sizes, strides, box_sizes, element_strides, .. } = description;
    let mut map = sys::CUtensorMap { opaque: [0; 16] };
    // SAFETY: the signature is cuda.h's; there are as many sizes, box sizes and steps as dimensions, and one stride less; the address is
    // only written down.
    unsafe {
        sys::cuTensorMapEncodeTiled(
            &mut map,
            element,
            sizes.len() as u32,
            description.address as *mut c_void,
            sizes.as_ptr(),
            strides.as_ptr(),
            box_sizes.as_ptr(),
            element_strides.as_ptr(),
            sys::CUtensorMapInterleave_enum::CU_TENSOR_MAP_INTERLEAVE_NONE,
            swizzle,
            promotion,
            sys::CUtensorMapFloatOOBfill_enum::CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE,
        )
        .result()?;
    }
    Ok(map)
}

/// Launches a kernel with its arguments.
pub(crate) fn launch(
    stream: &CudaStream,
    function: &CudaFunction,
    config: LaunchConfig,
    arguments: &[sys::CUtensorMap],
) -> Result<(), DriverError> {
    stream.context().bind_to_thread()?;
    let mut pointers: Vec<*mut c_void> =
        arguments.iter().map(|argument| ptr::from_ref(argument).cast_mut().cast()).collect();
    let LaunchConfig { grid_dim: (x, y, z), block_dim: (bx, by, bz), shared_mem_bytes: shared } = config;
    let (function, stream, none) = (function.cu_function(), stream.cu_stream(), ptr::null_mut());
    // SAFETY: the signature is cuda.h's; a task's operands are as many as its kernel's parameters, each with room for the largest, and
    // are read and copied before the call returns; that the kernel stays within its matrices is what the emulator and
    // compute-sanitizer check.
    unsafe { sys::cuLaunchKernel(function, x, y, z, bx, by, bz, shared, stream, pointers.as_mut_ptr(), none).result() }
}

/// Launches `form(const void* in, void* out)`.
pub(crate) fn launch_form(
    stream: &CudaStream,
    function: &CudaFunction,
    config: LaunchConfig,
    input: &CudaSlice<u8>,
    output: &mut CudaSlice<u8>,
) -> Result<(), DriverError> {
    let mut arguments = stream.launch_builder(function);
    arguments.arg(input).arg(output);
    // SAFETY: two pointers are what a form takes; the emulator runs it first, within the same sizes.
    unsafe { arguments.launch(config).map(|_| ()) }
}
