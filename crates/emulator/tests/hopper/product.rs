//! The products of this folder's kernels: types, shapes, matrices made by rule, launches.

use std::path::{Path, PathBuf};

use emulator::{
    Argument, Device, Dim3, Launch, Module, Report, TensorElement, TensorMap, TensorMapDescription, TensorSwizzle,
};

use super::texts;

/// The types of A and B: a macro's ending, and the element of a tensor map.
pub const TYPES: [(&str, TensorElement); 4] = [
    ("bf16", TensorElement::Bf16),
    ("f16", TensorElement::F16),
    ("tf32", TensorElement::F32),
    ("e4m3", TensorElement::U8),
];

/// A kernel in one of its forms.
#[derive(Debug, Clone, Copy)]
pub struct Form {
    /// What its PTX is called, before the type.
    pub name: &'static str,
    /// Blocks of a cluster.
    pub cluster: u32,
    /// Rows of a block's tile of C; a tile has 128 columns.
    pub rows: u32,
    /// Threads of a block.
    pub threads: u32,
    /// Bytes of shared memory.
    pub shared: u32,
    /// Blocks of a launch where they do not follow from the shape: of a persistent kernel.
    pub blocks: Option<u32>,
}

const SPECIALISED: Form =
    Form { name: "ring", cluster: 1, rows: 128, threads: 384, shared: 3 * 32768 + 4 * 8192 + 48, blocks: None };

/// All forms.
pub const FORMS: [Form; 4] = [
    Form { name: "warpgroup", rows: 64, threads: 128, shared: 8192 + 16384 + 8, ..SPECIALISED },
    SPECIALISED,
    Form { name: "cluster", cluster: 2, ..SPECIALISED },
    Form { name: "persistent", blocks: Some(2), ..SPECIALISED },
];

/// M, N and K: one that fills tiles and one that does not.
pub const SHAPES: [[u32; 3]; 2] = [[256, 384, 512], [200, 264, 208]];

/// One product of one kernel.
#[derive(Debug, Clone, Copy)]
pub struct Product {
    pub form: Form,
    pub of: (&'static str, TensorElement),
    pub shape: [u32; 3],
}

/// All products.
pub fn all() -> impl Iterator<Item = Product> {
    let of_form =
        |form| TYPES.into_iter().flat_map(move |of| SHAPES.into_iter().map(move |shape| Product { form, of, shape }));
    FORMS.into_iter().flat_map(of_form)
}

impl Product {
    /// What the record calls it.
    pub fn name(&self) -> String {
        let [m, n, k] = self.shape;
        format!("{} {} {m} {n} {k}", self.form.name, self.of.0)
    }

    /// The committed PTX.
    pub fn ptx(&self) -> &'static str {
        texts::ptx(&format!("hopper/{}-{}.ptx", self.form.name, self.of.0))
    }

    fn bytes(&self) -> u32 {
        self.of.1.bytes()
    }

    fn out_bytes(&self) -> u32 {
        if self.bytes() == 2 { 2 } else { 4 }
    }

    /// Runs this PTX with all checks on, and returns C's bytes, or what is wrong in words.
    pub fn run(&self, ptx: &str, threads: Option<usize>) -> Result<(Vec<u8>, Report), String> {
        let kernel =
            Module::parse(ptx).and_then(|module| module.kernel("kernel")).map_err(|error| error.to_string())?;
        let [m, n, k] = self.shape.map(u64::from);
        let mut device = Device::new();
        device.set_threads(threads);
        let (bytes, out) = (u64::from(self.bytes()), u64::from(self.out_bytes()));
        let a = device.alloc("A", (m * k * bytes) as usize);
        let b = device.alloc("B", (k * n * bytes) as usize);
        let c = device.alloc("C", (m * n * out) as usize);
        device.write(a, &matrix(self.of.0, m * k, 1)).expect("A has its size");
        device.write(b, &matrix(self.of.0, k * n, 2)).expect("B has its size");
        let row = 128 / bytes;
        let mut map = |buffer, element, [rows, columns]: [u64; 2], [high, wide]: [u64; 2]| -> Argument {
            let address = device.address(buffer).expect("it is this device's");
            let map = TensorMapDescription::packed(element, address, &[columns, rows], &[wide as u32, high as u32]);
            let map: TensorMap = map.swizzle(TensorSwizzle::B128).encode().expect("a map");
            map.into()
        };
        let element = self.of.1;
        let map_a = map(a, element, [m, k], [u64::from(self.form.rows), row]);
        let map_b = match bytes {
            2 => map(b, element, [k, n], [row, row]),
            _ => map(b, element, [n, k], [u64::from(128 / self.form.cluster), row]),
        };
        let element = if bytes == 2 { element } else { TensorElement::F32 };
        let map_c = map(c, element, [m, n], [64, 128 / out]);
        let numbers = self.shape.map(Argument::U32);
        let arguments = match self.form.name {
            "warpgroup" => [vec![map_a, map_b, Argument::Buffer(c)], numbers.to_vec()].concat(),
            _ => [vec![map_a, map_b, map_c, Argument::Buffer(c)], numbers.to_vec()].concat(),
        };
        let launch = Launch::new(self.grid(), Dim3::xy(self.form.threads, 1)).dynamic_shared(self.form.shared);
        let report = device
            .launch(&kernel, launch.instruction_limit(20_000_000), &arguments)
            .map_err(|error| error.to_string())?;
        let mut bytes = vec![0; (m * n * out) as usize];
        device.read(c, &mut bytes).map_err(|error| error.to_string())?;
        Ok((bytes, report))
    }

    fn grid(&self) -> Dim3 {
        let [m, n, _] = self.shape;
        let (across, high) = (n.div_ceil(128), self.form.rows * self.form.cluster);
        let down = m.div_ceil(high) * self.form.cluster;
        match self.form {
            Form { name: "warpgroup", .. } => Dim3::xy(across, down),
            Form { blocks: Some(blocks), .. } => Dim3::xy(blocks, 1),
            _ => Dim3::xy(across * down, 1),
        }
    }
}

/// Elements by rule, with signs, several exponents and all their significant bits: of an index and the matrix's number.
fn matrix(of: &str, elements: u64, number: u32) -> Vec<u8> {
    let bits = |index: u64| {
        let mut h = (index as u32).wrapping_mul(0x9e37_79b9).wrapping_add(number.wrapping_mul(0x85eb_ca6b));
        h = (h ^ h >> 16).wrapping_mul(0x7feb_352d);
        h = (h ^ h >> 15).wrapping_mul(0x846c_a68b);
        h ^= h >> 16;
        let exponent = h >> 16 & 7;
        match of {
            "bf16" => h & 0x8000 | (120 + exponent) << 7 | h & 0x7f,
            "f16" => h & 0x8000 | (8 + exponent) << 10 | h & 0x3ff,
            "tf32" => (h & 0x8000) << 16 | (120 + exponent) << 23 | (h & 0x3ff) << 13,
            _ if h & 0x7f == 0x7f => 0,
            _ => h & 0xff,
        }
    };
    let size = match of {
        "tf32" => 4,
        "e4m3" => 1,
        _ => 2,
    };
    (0..elements).flat_map(|index| bits(index).to_le_bytes().into_iter().take(size)).collect()
}

/// FNV-1a of bytes.
pub fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

/// This folder.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../emulator/tests/hopper")
}
