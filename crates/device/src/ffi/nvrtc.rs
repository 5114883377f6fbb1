//! NVRTC's functions.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::path::{Path, PathBuf};
use std::ptr;

use libloading::Library;

/// NVRTC, NVIDIA's run-time compiler, loaded.
#[derive(Debug)]
pub(crate) struct Nvrtc {
    library: Library,
    // NVRTC asks the loader for its builtins by name, and gets these if they are already there.
    _builtins: Vec<Library>,
}

/// What NVRTC is to compile.
pub(crate) struct Input<'a> {
    pub source: &'a str,
    pub name: &'a str,
    /// Headers that need no file: their names as `#include` has them, and their texts.
    pub headers: &'a [(String, String)],
    /// Expressions, as `gemm<64>`, of which the compiled names are wanted.
    pub expressions: &'a [String],
}

/// What NVRTC made: PTX text or machine code, what it said, and the names of the expressions.
pub(crate) struct Compiled {
    pub code: Vec<u8>,
    pub log: String,
    pub lowered: Vec<String>,
}

type Program = *mut c_void;
type GetSize = unsafe extern "C" fn(Program, *mut usize) -> c_int;
type GetText = unsafe extern "C" fn(Program, *mut c_char) -> c_int;

impl Nvrtc {
    /// Loads the library from a path, or by a name that the loader knows.
    pub(crate) fn open(library: &Path, builtins: &[PathBuf]) -> Result<Nvrtc, libloading::Error> {
        // SAFETY: NVRTC's libraries run no code at load time beyond C++ static initialisers.
        unsafe {
            let builtins = builtins.iter().filter_map(|path| Library::new(path).ok()).collect();
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
        self.compile_input(&Input { source, name, headers: &[], expressions: &[] }, options, machine_code)
    }

    /// Compiles a source with headers, and says what expressions became.
    pub(crate) fn compile_input(
        &self,
        input: &Input,
        options: &[String],
        machine_code: bool,
    ) -> Result<Compiled, String> {
        let text = |text: &str| CString::new(text).map_err(|_| format!("{} contains a NUL character", input.name));
        let all = |texts: &mut dyn Iterator<Item = &String>| texts.map(|t| text(t)).collect::<Result<Vec<_>, _>>();
        let (source, name) = (text(input.source)?, text(input.name)?);
        let names = all(&mut input.headers.iter().map(|(name, _)| name))?;
        let texts = all(&mut input.headers.iter().map(|(_, text)| text))?;
        let (options, expressions) = (all(&mut options.iter())?, all(&mut input.expressions.iter())?);
        let pointers = |texts: &[CString]| texts.iter().map(|t| t.as_ptr()).collect::<Vec<*const c_char>>();
        let (names_at, texts_at, options) = (pointers(&names), pointers(&texts), pointers(&options));
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
            let (mut program, count) = (ptr::null_mut(), names.len() as c_int);
            let (source, name) = (source.as_ptr(), name.as_ptr());
            let status = create(&mut program, source, name, count, texts_at.as_ptr(), names_at.as_ptr());
            if status != 0 {
                return Err(format!("nvrtcCreateProgram failed with status {status}"));
            }
            let result = self.compile_program(program, &options, &expressions, machine_code);
            destroy(&mut program);
            result
        }
    }

    unsafe fn compile_program(
        &self,
        program: Program,
        options: &[*const c_char],
        expressions: &[CString],
        machine_code: bool,
    ) -> Result<Compiled, String> {
        // SAFETY: the caller gives a live program; the signatures are nvrtc.h's; a lowered name is the program's, and is copied.
        unsafe {
            let add = self.get::<unsafe extern "C" fn(Program, *const c_char) -> c_int>(c"nvrtcAddNameExpression")?;
            expressions.iter().for_each(|expression| _ = add(program, expression.as_ptr()));
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
            let lowered = expressions.iter().map(|expression| self.lowered(program, expression));
            Ok(Compiled { code, log, lowered: lowered.collect::<Result<_, _>>()? })
        }
    }

    /// The compiled name of an expression that was added.
    unsafe fn lowered(&self, program: Program, expression: &CStr) -> Result<String, String> {
        let mut name: *const c_char = ptr::null();
        // SAFETY: as of `compile_program`.
        unsafe {
            let get = self.get::<unsafe extern "C" fn(Program, *const c_char, *mut *const c_char) -> c_int>(
                c"nvrtcGetLoweredName",
            )?;
            match get(program, expression.as_ptr(), &mut name) {
                0 if !name.is_null() => Ok(CStr::from_ptr(name).to_string_lossy().into_owned()),
                status => Err(format!("nvrtcGetLoweredName failed with status {status}")),
            }
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
