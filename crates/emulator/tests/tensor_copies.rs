//! Copies of boxes of tensors against what an H200 makes of them, byte by byte: all types, one to five dimensions,
//! swizzles, steps, boxes that hang over the tensor's edges, loads, stores and reductions. `data/tensor-copies.cpp`
//! makes the record, on a GPU.

use std::collections::HashMap;

use emulator::{
    Argument, Device, Dim3, Kernel, Launch, Module, TensorElement, TensorFill, TensorMapDescription, TensorSwizzle,
};

const KERNEL: &str = include_str!("data/tensor-copies.ptx");
const RECORD: &str = include_str!("data/tensor-copies.txt");
const MODES: [&str; 10] = ["load", "store", "add", "min", "max", "inc", "dec", "and", "or", "xor"];
/// Bytes of the tensors' memory, and of shared memory.
const MEMORY: usize = 65536;
const SHARED: usize = 16384;

struct Case<'a> {
    words: HashMap<&'a str, &'a str>,
    mode: usize,
    element: TensorElement,
}

impl<'a> Case<'a> {
    fn new(line: &'a str) -> Case<'a> {
        let columns: Vec<&str> = line.split(' ').collect();
        let words: HashMap<&str, &str> = columns.chunks(2).filter_map(|pair| Some((pair[0], *pair.get(1)?))).collect();
        let named = |element: &TensorElement| element.to_string() == words["element"];
        let mode = MODES.iter().position(|mode| *mode == words["mode"]).unwrap();
        Case { mode, element: TensorElement::ALL.into_iter().find(named).unwrap(), words }
    }

    fn number(&self, name: &str) -> u32 {
        self.words[name].parse().unwrap()
    }

    fn list<T: std::str::FromStr>(&self, name: &str) -> Vec<T> {
        self.words[name].split(',').filter_map(|number| number.parse().ok()).collect()
    }

    fn map(&self, address: u64) -> TensorMapDescription {
        let swizzles = [TensorSwizzle::None, TensorSwizzle::B32, TensorSwizzle::B64, TensorSwizzle::B128];
        let (sizes, strides, box_sizes) = (self.list("sizes"), self.list("strides"), self.list("box"));
        TensorMapDescription::new(
            self.element,
            address + u64::from(self.number("offset")),
            &sizes,
            &strides,
            &box_sizes,
        )
        .element_strides(&self.list("steps"))
        .swizzle(swizzles[self.number("swizzle") as usize])
        .fill(if self.number("fill") == 0 { TensorFill::Zeros } else { TensorFill::Nan })
    }

    /// What a memory holds before: as `word` of the program that made the record.
    fn data(&self, seed: u32, bytes: usize) -> Vec<u8> {
        (0..bytes as u32 / 4).flat_map(|n| self.word(seed, n).to_le_bytes()).collect()
    }

    fn word(&self, seed: u32, n: u32) -> u32 {
        let (hash, special) = (hash32(seed.wrapping_add(n)), self.number("kind") == 2);
        if self.number("kind") == 0 {
            return hash;
        }
        use TensorElement::*;
        match self.element {
            F16 | Bf16 => {
                let brain = self.element == Bf16;
                half(hash, special, brain) | half(hash32(hash.wrapping_add(1)), special, brain) << 16
            }
            F32 | F32Ftz | Tf32 | Tf32Ftz => single(hash, special),
            F64 if n % 2 == 1 => hash & 0x8000_0000 | 0x3fe0_0000 | hash & 0x1f_ffff,
            _ => hash,
        }
    }

    /// What is there after it, or why there is nothing.
    fn run(&self, kernel: &Kernel) -> Result<Vec<u8>, String> {
        let mut device = Device::new();
        let memory = device.alloc("memory", MEMORY);
        let (given, out) = (device.alloc("in", SHARED), device.alloc("out", SHARED + 16));
        let seed = self.number("seed");
        device.write(memory, &self.data(seed, MEMORY)).unwrap();
        device.write(given, &self.data(seed.wrapping_add(0x1000_0000), SHARED)).unwrap();
        let address = device.address(memory).unwrap();
        let map = self.map(address).encode().map_err(|error| error.to_string())?;
        let mut coordinates: Vec<i32> = self.list("coords");
        coordinates.resize(5, 0);
        let mut arguments: Vec<Argument> = vec![map.into(), (self.mode as u32).into(), self.number("rank").into()];
        arguments.extend(coordinates.into_iter().map(Argument::from));
        arguments.extend([self.number("place").into(), self.number("bytes").into(), (SHARED as u32).into()]);
        arguments.extend([Argument::Buffer(given), Argument::Buffer(out)]);
        let launch = Launch::new(Dim3::xy(1, 1), Dim3::xy(128, 1)).dynamic_shared(SHARED as u32);
        device.launch(kernel, launch, &arguments).map_err(|error| error.to_string())?;
        let (buffer, bytes) = if self.mode == 0 { (out, SHARED) } else { (memory, MEMORY) };
        let mut after = vec![0; bytes];
        device.read(buffer, &mut after).map_err(|error| error.to_string())?;
        Ok(after)
    }
}

fn hash32(x: u32) -> u32 {
    let x = (x ^ x >> 16).wrapping_mul(0x7feb_352d);
    let x = (x ^ x >> 15).wrapping_mul(0x846c_a68b);
    x ^ x >> 16
}

fn fnv(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3))
}

fn half(hash: u32, special: bool, brain: bool) -> u32 {
    let sign = hash & 0x8000;
    let of = |brains: u32, others: u32| sign | if brain { brains } else { others };
    match hash >> 16 & 15 {
        0 if special => sign,
        1 if special => of(0x7f80, 0x7c00),
        2 if special => of(0x7fc1, 0x7e01),
        3 if special => sign | hash & if brain { 0x7f } else { 0x3ff },
        4 if special => of(0x7f7f, 0x7bff),
        5 if special => of(0x7f81, 0x7c01),
        _ => of(0x3f00 | hash & 0xff, 0x3800 | hash & 0x7ff),
    }
}

fn single(hash: u32, special: bool) -> u32 {
    let sign = hash & 0x8000_0000;
    sign | match hash >> 23 & 15 {
        0 if special => 0,
        1 if special => 0x7f80_0000,
        2 if special => 0x7fc0_0001,
        3 if special => hash & 0x7f_ffff,
        4 if special => 0x7f7f_ffff,
        5 if special => 0x7f80_0001,
        _ => 0x3f00_0000 | hash & 0xff_ffff,
    }
}

#[test]
fn copies_are_those_of_an_h200() {
    let kernel = Module::parse(KERNEL).and_then(|module| module.kernel("probe")).unwrap();
    let (mut wrong, mut count, mut failed) = (Vec::new(), 0, 0);
    for line in RECORD.lines().filter(|line| !line.starts_with('#')) {
        let case = Case::new(line);
        count += 1;
        let got = case.run(&kernel);
        let what: Vec<&str> = line.split(' ').take_while(|word| *word != "done").collect();
        if line.contains(" failed ") || line.contains(" refused ") {
            failed += 1;
            if got.is_ok() {
                wrong.push(format!("no fault, and the GPU has one: {}", what.join(" ")));
            }
            continue;
        }
        let got = match got {
            Ok(got) => got,
            Err(error) => {
                wrong.push(format!("{}\n    {}", what.join(" "), error.lines().next().unwrap_or_default()));
                continue;
            }
        };
        if format!("{:016x}", fnv(&got)) != case.words["hash"] {
            wrong.push(format!("other bytes: {}", what.join(" ")));
        }
    }
    assert!(wrong.is_empty(), "{} of {count}:\n{}", wrong.len(), wrong.join("\n"));
    assert!(count - failed >= 300, "{count}, {failed}");
}
