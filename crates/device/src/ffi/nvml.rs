//! NVML's functions: what a GPU says of its energy, its clock and its temperature.

use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_ulonglong, c_void};
use std::ptr;

use cudarc::driver::{CudaContext, sys};
use libloading::Library;

/// Where NVML may lie: by the names that the loader knows, then where containers and WSL have it.
const PLACES: [&str; 4] = [
    "libnvidia-ml.so.1",
    "nvml.dll",
    "/usr/local/nvidia/lib64/libnvidia-ml.so.1",
    "/usr/lib/wsl/lib/libnvidia-ml.so.1",
];
/// `NVML_CLOCK_SM` and `NVML_TEMPERATURE_GPU` of nvml.h.
const CLOCK_SM: c_int = 1;
const TEMPERATURE_GPU: c_int = 0;

type Handle = *mut c_void;

/// NVML, loaded, with one GPU.
#[derive(Debug)]
pub(crate) struct Nvml {
    library: Library,
    gpu: Handle,
}

impl Nvml {
    /// For the GPU of a context. `Err` says what is missing.
    pub(crate) fn open(context: &CudaContext) -> Result<Nvml, String> {
        let bus = bus_id(context)?;
        // SAFETY: NVML runs no code at load time beyond static initialisers.
        let library = PLACES.into_iter().find_map(|place| unsafe { Library::new(place) }.ok());
        let library = library.ok_or("NVML, libnvidia-ml.so.1 of the GPU's driver, is not found")?;
        let mut nvml = Nvml { library, gpu: ptr::null_mut() };
        // SAFETY: the signatures are nvml.h's; the text ends with NUL and outlives the call.
        unsafe {
            let init = nvml.get::<unsafe extern "C" fn() -> c_int>(c"nvmlInit_v2")?;
            succeed("nvmlInit", init())?;
            let find = nvml.get::<unsafe extern "C" fn(*const c_char, *mut Handle) -> c_int>(
                c"nvmlDeviceGetHandleByPciBusId_v2",
            )?;
            succeed("nvmlDeviceGetHandleByPciBusId", find(bus.as_ptr(), &mut nvml.gpu))?;
        }
        Ok(nvml)
    }

    /// Millijoules that the GPU has used since its driver was loaded.
    pub(crate) fn millijoules(&self) -> Result<u64, String> {
        let mut value: c_ulonglong = 0;
        // SAFETY: nvmlDeviceGetTotalEnergyConsumption(device, unsigned long long*) writes one number.
        unsafe {
            let get = self.get::<unsafe extern "C" fn(Handle, *mut c_ulonglong) -> c_int>(
                c"nvmlDeviceGetTotalEnergyConsumption",
            )?;
            succeed("nvmlDeviceGetTotalEnergyConsumption", get(self.gpu, &mut value))?;
        }
        Ok(value)
    }

    /// The clock of the SMs, in MHz.
    pub(crate) fn megahertz(&self) -> Result<u32, String> {
        self.one(c"nvmlDeviceGetClockInfo", CLOCK_SM)
    }

    /// The temperature, in °C.
    pub(crate) fn celsius(&self) -> Result<u32, String> {
        self.one(c"nvmlDeviceGetTemperature", TEMPERATURE_GPU)
    }

    /// A function that writes one number for one of its kinds.
    fn one(&self, name: &CStr, kind: c_int) -> Result<u32, String> {
        let mut value: c_uint = 0;
        // SAFETY: both have the signature (device, enumeration, unsigned*), and write one number.
        unsafe {
            let get = self.get::<unsafe extern "C" fn(Handle, c_int, *mut c_uint) -> c_int>(name)?;
            succeed(&name.to_string_lossy(), get(self.gpu, kind, &mut value))?;
        }
        Ok(value)
    }

    /// A function of the library. The caller gives it its true type.
    unsafe fn get<F: Copy>(&self, name: &CStr) -> Result<F, String> {
        // SAFETY: forwarded to the caller.
        let symbol = unsafe { self.library.get::<F>(name.to_bytes_with_nul()) };
        symbol.map(|s| *s).map_err(|_| format!("NVML has no {}", name.to_string_lossy()))
    }
}

/// The GPU's place on the bus, by which NVML finds the same one as CUDA, whichever are visible.
fn bus_id(context: &CudaContext) -> Result<CString, String> {
    let mut text = [0u8; 32];
    let last = (text.len() - 1) as c_int;
    // SAFETY: cuDeviceGetPCIBusId(char*, int, CUdevice) writes at most so many bytes, with NUL behind them.
    let answer = unsafe { sys::cuDeviceGetPCIBusId(text.as_mut_ptr().cast(), last, context.cu_device()).result() };
    answer.map_err(|error| format!("the driver does not say where the GPU is: {:?}", error.0))?;
    let text = CStr::from_bytes_until_nul(&text).map_err(|error| error.to_string())?;
    Ok(text.to_owned())
}

fn succeed(what: &str, status: c_int) -> Result<(), String> {
    // `NVML_ERROR_NOT_SUPPORTED` of nvml.h.
    match status {
        0 => Ok(()),
        3 => Err(format!("{what}: this GPU does not measure it")),
        _ => Err(format!("{what} failed with status {status}")),
    }
}

impl Drop for Nvml {
    fn drop(&mut self) {
        // SAFETY: nvmlShutdown() takes nothing, and ends what one nvmlInit began.
        unsafe {
            if let Ok(shutdown) = self.get::<unsafe extern "C" fn() -> c_int>(c"nvmlShutdown") {
                shutdown();
            }
        }
    }
}
