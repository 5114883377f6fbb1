//! Every call that Rust cannot check: NVRTC's functions, and the launch on a CUDA GPU.
//!
//! The only unsafe code of this crate.
#![allow(unsafe_code)]

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::path::Path;
use std::ptr;

use cudarc::driver::{CudaFunction, CudaSlice, CudaStream, DriverError, LaunchConfig, PushKernelArg};
use libloading::Library;

use crate::level::Shape;
use crate::problem::Element;

/// NVRTC, NVIDIA's run-time compiler, loaded.
#[derive(Debug)]
pub(crate) struct Nvrtc {
    library: Library,
    // NVRTC asks the loader for its builtins by name, and gets these if they are already there.
    _builtins: Option<Library>,
}

/// What NVRTC made: PTX text or machine code, and what it said.
pub(crate) struct Compiled {
    pub code: Vec<u8>,
    pub log: String,
}

type Program = *mut c_void;
type GetSize = unsafe extern "C" fn(Program, *mut usize) -> c_int;
type GetText = unsafe extern "C" fn(Program, *mut c_char) -> c_int;

impl Nvrtc {
    /// Loads the library from a path, or by a name that the loader knows.
    pub(crate) fn open(library: &Path, builtins: Option<&Path>) -> Result<Nvrtc, libloading::Error> {
        // SAFETY: NVRTC's libraries run no code at load time beyond C++ static initialisers.
        unsafe {
            let builtins = builtins.map(|path| Library::new(path)).transpose()?;
            Ok(Nvrtc { library: Library::new(library)?, _builtins: builtins })
        }
    }

    /// Major and minor version.
    pub(crate) fn version(&self) -> Result<(i32, i32), String> {
        let (mut major, mut minor) = (0, 0);
        // SAFETY: nvrtcVersion(int*, int*) writes two integers.
        let status = unsafe {
            let version = self.get::<unsafe extern "C" fn(*mut c_int, *mut c_int) -> c_int>(c"nvrtcVersion")?;
            version(&mut major, &mut minor)
        };
        if status == 0 { Ok((major, minor)) } else { Err(format!("nvrtcVersion failed with status {status}")) }
    }

    /// Compiles a source: to machine code if `machine_code`, else to PTX. `Err` holds the compiler's log.
    pub(crate) fn compile(
        &self,
        source: &str,
        name: &str,
        options: &[String],
        machine_code: bool,
    ) -> Result<Compiled, String> {
        let source = CString::new(source).map_err(|_| format!("{name} contains a NUL character"))?;
        let name = CString::new(name).map_err(|e| e.to_string())?;
        let options: Vec<CString> =
            options.iter().map(|o| CString::new(o.as_str())).collect::<Result<_, _>>().map_err(|e| e.to_string())?;
        let options: Vec<*const c_char> = options.iter().map(|o| o.as_ptr()).collect();
        // SAFETY: the signatures are nvrtc.h's; every pointer outlives the call that takes it, and
        // the program is destroyed once, after its last use.
        unsafe {
            let create = self.get::<unsafe extern "C" fn(
                *mut Program,
                *const c_char,
                *const c_char,
                c_int,
                *const *const c_char,
                *const *const c_char,
            ) -> c_int>(c"nvrtcCreateProgram")?;
            let destroy = self.get::<unsafe extern "C" fn(*mut Program) -> c_int>(c"nvrtcDestroyProgram")?;
            let mut program = ptr::null_mut();
            let status = create(&mut program, source.as_ptr(), name.as_ptr(), 0, ptr::null(), ptr::null());
            if status != 0 {
                return Err(format!("nvrtcCreateProgram failed with status {status}"));
            }
            let result = self.compile_program(program, &options, machine_code);
            destroy(&mut program);
            result
        }
    }

    unsafe fn compile_program(
        &self,
        program: Program,
        options: &[*const c_char],
        machine_code: bool,
    ) -> Result<Compiled, String> {
        // SAFETY: the caller gives a live program; the signatures are nvrtc.h's.
        unsafe {
            let compile = self
                .get::<unsafe extern "C" fn(Program, c_int, *const *const c_char) -> c_int>(c"nvrtcCompileProgram")?;
            let status = compile(program, options.len() as c_int, options.as_ptr());
            let log = self.read(program, c"nvrtcGetProgramLogSize", c"nvrtcGetProgramLog")?;
            let log = CStr::from_bytes_until_nul(&log).map(|l| l.to_string_lossy().into_owned()).unwrap_or_default();
            if status != 0 {
                return Err(if log.trim().is_empty() { format!("NVRTC failed with status {status}") } else { log });
            }
            let code = match machine_code {
                true => self.read(program, c"nvrtcGetCUBINSize", c"nvrtcGetCUBIN")?,
                false => self.read(program, c"nvrtcGetPTXSize", c"nvrtcGetPTX")?,
            };
            Ok(Compiled { code, log })
        }
    }

    /// Reads a text that NVRTC first tells the size of.
    unsafe fn read(&self, program: Program, size_of: &CStr, get: &CStr) -> Result<Vec<u8>, String> {
        let mut size = 0;
        // SAFETY: `get` writes exactly the `size` bytes that `size_of` announces.
        unsafe {
            let status = self.get::<GetSize>(size_of)?(program, &mut size);
            let mut text = vec![0u8; size];
            match status {
                0 => match self.get::<GetText>(get)?(program, text.as_mut_ptr().cast()) {
                    0 => Ok(text),
                    status => Err(format!("{} failed with status {status}", get.to_string_lossy())),
                },
                _ => Err(format!("{} failed with status {status}", size_of.to_string_lossy())),
            }
        }
    }

    /// A function of the library. The caller gives it its true type.
    unsafe fn get<F: Copy>(&self, name: &CStr) -> Result<F, String> {
        // SAFETY: forwarded to the caller.
        let symbol = unsafe { self.library.get::<F>(name.to_bytes_with_nul()) };
        symbol.map(|s| *s).map_err(|e| e.to_string())
    }
}

/// Whether the loader finds the CUDA driver's library. Without it, any call of cudarc's driver panics.
pub(crate) fn cuda_driver_is_present() -> bool {
    // SAFETY: loads libcuda and nothing else.
    unsafe { cudarc::driver::sys::is_culib_present() }
}

/// Launches `kernel(const T* A, const T* B, T* C, int M, int N, int K)`.
pub(crate) fn launch<T: Element>(
    stream: &CudaStream,
    function: &CudaFunction,
    config: LaunchConfig,
    (a, b, c): (&CudaSlice<T>, &CudaSlice<T>, &mut CudaSlice<T>),
    shape: &Shape,
) -> Result<(), DriverError> {
    let (m, n, k) = (shape.m as i32, shape.n as i32, shape.k as i32);
    let mut arguments = stream.launch_builder(function);
    arguments.arg(a).arg(b).arg(c).arg(&m).arg(&n).arg(&k);
    // SAFETY: the arguments are those of every level's kernel; that the kernel stays within its
    // buffers is what the emulator and compute-sanitizer check.
    unsafe { arguments.launch(config).map(|_| ()) }
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
