//! What a multiply-add of `mma.sync` costs the emulator on one core, for one form of each kind of arithmetic.
//!
//! ```sh
//! cargo run --release -p emulator-tests --example mma
//! ```

use std::time::Instant;

use emulator::{Argument, Device, Launch, Module};

/// Multiplications of the one warp.
const TURNS: usize = 4096;

/// A form: shape, types, and the registers of A, B, and of C and D.
type Form = (&'static str, &'static str, [usize; 3]);

const FORMS: [Form; 10] = [
    ("m16n8k8", "f32.f16.f16.f32", [2, 1, 4]),
    ("m16n8k16", "f32.f16.f16.f32", [4, 2, 4]),
    ("m16n8k16", "f16.f16.f16.f16", [4, 2, 2]),
    ("m16n8k16", "f32.bf16.bf16.f32", [4, 2, 4]),
    ("m16n8k8", "f32.tf32.tf32.f32", [4, 2, 4]),
    ("m16n8k32", "f32.e4m3.e5m2.f32", [4, 2, 4]),
    ("m16n8k16", "f64.f64.f64.f64", [8, 4, 4]),
    ("m16n8k32", "s32.s8.u8.s32", [4, 2, 4]),
    ("m16n8k64", "s32.s4.s4.s32", [4, 2, 4]),
    ("m16n8k256", "s32.b1.b1.s32.and.popc", [4, 2, 4]),
];

fn main() {
    println!("| form | ns per multiply-add |\n|---|---|");
    for form in FORMS {
        let [one, many] = [1, TURNS].map(|turns| seconds(&kernel(form, turns)));
        let k: usize = form.0.rsplit('k').next().and_then(|k| k.parse().ok()).expect("shapes end in k");
        let nanoseconds = 1e9 * (many - one) / ((TURNS - 1) * 16 * 8 * k) as f64;
        println!("| {}.row.col.{} | {nanoseconds:.2} |", form.0, form.1);
    }
}

/// A warp that multiplies what it read `turns` times, each time adding to the last result.
fn kernel((shape, types, [a, b, c]): Form, turns: usize) -> String {
    let wide = types.contains("f64");
    let (bits, bytes) = if wide { ("b64", 8) } else { ("b32", 4) };
    let class = match &types[..3] {
        "f32" | "f64" => types[..3].to_string(),
        "f16" => "f16x2".into(),
        _ => "b32".into(),
    };
    let class = if class == "f16x2" { "b32" } else { &class };
    let factor = if wide { "f64" } else { bits };
    let list = |letter: &str, count: usize| {
        let names: Vec<String> = (0..count).map(|n| format!("%{letter}{n}")).collect();
        format!("{{{}}}", names.join(", "))
    };
    let mut text = format!(
        ".version 8.7\n.target sm_90\n.address_size 64\n.visible .entry form(.param .u64 in)\n{{\n\
         .reg .pred %p; .reg .b32 %n, %t; .reg .b64 %x, %y; .reg .{factor} %a<{a}>, %b<{b}>; .reg .{class} %c<{c}>;\n\
         ld.param.u64 %x, [in];\nmov.u32 %t, %tid.x;\nmul.wide.u32 %y, %t, {};\nadd.s64 %x, %x, %y;\n",
        (a + b) * bytes
    );
    for (n, register) in (0..a).map(|n| format!("%a{n}")).chain((0..b).map(|n| format!("%b{n}"))).enumerate() {
        text += &format!("ld.global.{factor} {register}, [%x+{}];\n", n * bytes);
    }
    for n in 0..c {
        text += &format!("mov.{class} %c{n}, {};\n", if class.starts_with('f') { "0f00000000" } else { "0" });
    }
    let (a, b, c) = (list("a", a), list("b", b), list("c", c));
    let text = if class == "f64" { text.replace("0f00000000", "0d0000000000000000") } else { text };
    format!(
        "{text}mov.u32 %n, 0;\nagain:\nmma.sync.aligned.{shape}.row.col.{types} {c}, {a}, {b}, {c};\n\
         add.u32 %n, %n, 1;\nsetp.lt.u32 %p, %n, {turns};\n@%p bra again;\nret;\n}}\n"
    )
}

/// The shortest of some runs, on numbers of many sizes.
fn seconds(ptx: &str) -> f64 {
    let kernel = Module::parse(ptx).and_then(|module| module.kernel("form")).expect("it is PTX");
    let mut device = Device::new();
    let bytes: Vec<u8> = (0..32 * 12 * 8u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8 & 0xb7).collect();
    let input = device.alloc("in", bytes.len());
    device.write(input, &bytes).expect("it has room");
    let run = |device: &mut Device| {
        let start = Instant::now();
        device.launch(&kernel, Launch::new(1, 32), &[Argument::Buffer(input)]).expect("it runs");
        start.elapsed().as_secs_f64()
    };
    (0..5).map(|_| run(&mut device)).fold(f64::INFINITY, f64::min)
}
