//! PTX that is cut off, garbled or nonsense gives an error, or runs to an end of its own; nothing panics.

use emulator::{Argument, Device, Dim3, FaultKind, Launch, LaunchError, Module};

#[path = "ptx/table.rs"]
#[allow(dead_code)]
mod table;

/// A small generator, so that every run breaks the same things.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % sides.max(1)
    }
}

/// What numbers and words of a text are replaced by.
const ODDITIES: [&str; 22] = [
    "0",
    "-1",
    "4294967295",
    "99999999999999999999",
    "0x7fffffffffffffff",
    "-9223372036854775808",
    "%r0",
    "%nothing",
    "[",
    "]",
    "{",
    "}",
    "(",
    ",",
    ";",
    ".b128",
    ".pred",
    ".align",
    "_",
    "!",
    "1<",
    "170141183460469231731687303715884105727",
];

fn broken(text: &str, dice: &mut Dice) -> String {
    let mut text = text.to_string();
    for _ in 0..1 + dice.roll(3) {
        let lines: Vec<&str> = text.lines().collect();
        let (a, b) = (dice.roll(lines.len()), dice.roll(lines.len()));
        text = match dice.roll(6) {
            0 => text[..dice.roll(text.len())].to_string(),
            1 => lines.iter().enumerate().filter(|(n, _)| *n != a).map(|(_, l)| format!("{l}\n")).collect(),
            2 => {
                let mut lines = lines;
                lines.swap(a, b);
                lines.join("\n")
            }
            3 => {
                let mut lines = lines;
                lines.insert(a, lines[b]);
                lines.join("\n")
            }
            _ => {
                let words: Vec<&str> = text.split_inclusive([' ', ',', '\t', '.', ';']).collect();
                let place = dice.roll(words.len());
                let odd = ODDITIES[dice.roll(ODDITIES.len())];
                words
                    .iter()
                    .enumerate()
                    .map(|(n, w)| if n == place { format!("{odd} ") } else { w.to_string() })
                    .collect()
            }
        };
        if text.is_empty() {
            break;
        }
    }
    text
}

fn try_to_run(text: &str) {
    let Ok(module) = Module::parse(text) else { return };
    for name in module.kernels().map(str::to_string).collect::<Vec<_>>() {
        let Ok(kernel) = module.kernel(&name) else { continue };
        let mut device = Device::new();
        let (from, to) = (device.alloc("in", 4096), device.alloc("out", 4096));
        device.write(from, &[1; 4096]).expect("it has this size");
        device.write(to, &[0; 4096]).expect("it has this size");
        let mut launch = Launch::new(Dim3::xy(2, 1), Dim3::xy(48, 1));
        launch.instruction_limit = 2000;
        // Whether it runs or is convicted does not matter here.
        let _ = device.launch(&kernel, launch, &[Argument::Buffer(from), Argument::Buffer(to)]);
    }
}

#[test]
fn broken_text_never_panics() {
    let mut dice = Dice(1);
    for form in table::forms() {
        for _ in 0..10 {
            try_to_run(&broken(&form.ptx, &mut dice));
        }
    }
}

#[test]
fn deep_nesting_is_an_error() {
    for nest in ["{", "(", "[", "-", "!", "{{ .reg .b32 %r<3>; "] {
        let text =
            format!(".version 8.0\n.target sm_80\n.visible .entry f()\n{{ mov.u32 %r1, {} }}", nest.repeat(200_000));
        assert!(Module::parse(&text).is_err(), "{nest}");
    }
    let text = format!(".version 8.0\n.target sm_80\n.global .b8 a[4] = {}", "{".repeat(200_000));
    assert!(Module::parse(&text).is_err());
}

#[test]
fn sizes_beyond_any_gpu_are_errors() {
    for variable in [
        ".shared .b8 a[99999999999];",
        ".local .b8 a[99999999999];",
        ".shared .b64 a[18446744073709551615][18446744073709551615];",
        ".reg .b32 %r<-1>;",
    ] {
        let text = format!(".version 8.0\n.target sm_80\n.visible .entry f()\n{{ {variable} ret; }}");
        let result = Module::parse(&text).and_then(|module| module.kernel("f").map(drop));
        assert!(result.is_err(), "{variable}");
    }
    for variable in [".const .b8 a[99999999999];", ".global .b8 a[9999999999999999];"] {
        let text = format!(".version 8.0\n.target sm_80\n{variable}\n.visible .entry f()\n{{ ret; }}");
        assert!(Module::parse(&text).and_then(|module| module.kernel("f").map(drop)).is_err(), "{variable}");
    }
}

#[test]
fn calls_that_multiply_without_end_make_no_endless_kernel() {
    let mut text = String::from(".version 8.0\n.target sm_80\n.func f0() { ret; }\n");
    for n in 1..40 {
        text += &format!(".func f{n}() {{ call f{0}; call f{0}; call f{0}; ret; }}\n", n - 1);
    }
    text += ".visible .entry k() { call f30; ret; }\n.func r() { call r; ret; }\n.visible .entry l() { call r; ret; }";
    let module = Module::parse(&text).expect("the text is right");
    // From some size on, bodies stand in nobody's place: the kernel is small, and its run is what is long.
    for (name, kind) in [("k", FaultKind::NoProgress), ("l", FaultKind::OutOfBounds)] {
        let kernel = module.kernel(name).expect("its calls are calls");
        let launch = Launch::new(1, 1).instruction_limit(100_000);
        let Err(LaunchError::Fault(fault)) = Device::new().launch(&kernel, launch, &[]) else {
            panic!("it ends: {name}")
        };
        assert_eq!(fault.kind, kind, "{fault}");
    }
}

#[test]
fn a_variable_is_not_initialised_beyond_its_end() {
    let module = |values: &str| {
        let variable = format!(".global .align 4 .b8 x[4] = {{{values}}};");
        Module::parse(&format!(".version 9.0\n.target sm_80\n.address_size 64\n{variable}\n"))
    };
    assert!(module("1, 2, 3").is_ok() && module("1, 2, 3, 4").is_ok());
    let error = module("1, 2, 3, 4, 5").unwrap_err().to_string();
    assert!(error.contains("5 bytes initialise `x`, which has 4"), "{error}");
}
