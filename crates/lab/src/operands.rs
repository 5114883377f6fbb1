//! `--args A,B,C,M,N,K`: a kernel's arguments in its own order, each as wide as the kernel's parameter.

use emulator::Parameter;
use gemm::task::Operand;
use gemm::{Element, Error, Shape};

use crate::expression::{evaluate, parts};

/// The arguments, and the factors that they name.
#[derive(Debug, Clone, PartialEq)]
pub struct Operands {
    /// In the kernel's order.
    pub list: Vec<Operand>,
    /// The value of `alpha=…`, or 1.
    pub alpha: f64,
    /// The value of `beta=…`, or 0.
    pub beta: f64,
}

/// Fits the words of `--args` to the kernel's parameters. `declared` says them as the kernel's text does, where there is one; `half` says what a parameter of 16 bits is.
pub fn fit(
    words: &str,
    (parameters, declared): (&[Parameter], &[String]),
    shape: &Shape,
    half: &dyn Fn(usize) -> Element,
) -> Result<Operands, Error> {
    let words = parts(words);
    if words.len() != parameters.len() {
        let kinds = || parameters.iter().map(|parameter| parameter.kind.clone()).collect::<Vec<_>>().join(", ");
        let said = if declared.len() == parameters.len() { declared.join(", ") } else { kinds() };
        return Err(Error::usage(
            format!("--args names {} arguments, and the kernel takes {}", words.len(), parameters.len()),
            format!("its parameters are, in order: {said}"),
        ));
    }
    let mut operands = Operands { list: Vec::new(), alpha: 1.0, beta: 0.0 };
    for (index, (word, parameter)) in words.iter().zip(parameters).enumerate() {
        let (name, value) = word.split_once('=').map_or(("", *word), |(name, value)| (name.trim(), value.trim()));
        // A factor is what the kernel gets, which a type of 16 bits rounds.
        let factor = || number(value).map(|value| if is_half(parameter) { rounded(half(index), value) } else { value });
        match name {
            "" => (),
            "alpha" => operands.alpha = factor()?,
            "beta" => operands.beta = factor()?,
            _ => {
                let hint = "`alpha=…` and `beta=…` have names, all other numbers stand alone";
                return Err(Error::usage(format!("--args: `{name}` has no meaning"), hint));
            }
        }
        operands.list.push(operand(index, value, parameter, shape, half)?);
    }
    if !operands.list.contains(&Operand::C) {
        return Err(Error::usage(
            "--args does not name C: there is nothing to check",
            "pass it where the product goes",
        ));
    }
    Ok(operands)
}

/// `__half` and `__nv_bfloat16` are structures of two bytes in PTX.
fn is_half(parameter: &Parameter) -> bool {
    parameter.bytes == 2 && matches!(parameter.kind.as_str(), "b8" | "b16" | "f16" | "bf16")
}

fn rounded(element: Element, value: f64) -> f64 {
    element.value(&element.nearest(value)[..element.bytes()])
}

fn operand(
    index: usize,
    word: &str,
    parameter: &Parameter,
    shape: &Shape,
    half: &dyn Fn(usize) -> Element,
) -> Result<Operand, Error> {
    let whole = || evaluate(word, shape);
    let too_large = |value: u64| {
        let message = format!("--args: {value} does not fit into parameter {index}, which is 32 bits");
        Error::usage(message, format!("pass at most {}", u32::MAX))
    };
    match (word, parameter.kind.as_str(), parameter.bytes) {
        ("A", _, 8) => Ok(Operand::A),
        ("B", _, 8) => Ok(Operand::B),
        ("C", _, 8) => Ok(Operand::C),
        ("A" | "B" | "C", kind, _) => Err(Error::usage(
            format!("--args: parameter {index} is a {kind}, and {word} is a pointer"),
            "is the order that of the kernel's parameters?",
        )),
        _ if is_half(parameter) => {
            let [low, high, ..] = half(index).nearest(number(word)?);
            Ok(Operand::Half(u16::from_le_bytes([low, high])))
        }
        (_, "f32", 4) => Ok(Operand::F32(number(word)? as f32)),
        (_, "f64", 8) => Ok(Operand::F64(number(word)?)),
        (_, "u32" | "s32" | "b32", 4) => {
            whole().and_then(|v| u32::try_from(v).map_err(|_| too_large(v))).map(Operand::U32)
        }
        (_, "u64" | "s64" | "b64", 8) => whole().map(Operand::U64),
        (_, kind, bytes) => Err(Error::usage(
            format!("--args: parameter {index} is {bytes} bytes of {kind}: such parameters cannot be passed"),
            "pointers, 32- and 64-bit integers, halves, float and double can; write a kernel that takes those",
        )),
    }
}

fn number(word: &str) -> Result<f64, Error> {
    let value = word.parse().ok().filter(|value: &f64| value.is_finite());
    value.ok_or_else(|| Error::usage(format!("--args: `{word}` is no number"), "write it as 1, 0.5 or 1e-3"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHAPE: Shape = Shape { m: 100, n: 70, k: 50 };

    fn parameters(kinds: &[&str]) -> Vec<Parameter> {
        let bytes = |kind: &str| kind[1..].parse::<u64>().unwrap() / 8;
        kinds.iter().map(|kind| Parameter::new(kind, bytes(kind))).collect()
    }

    fn refused(words: &str, kinds: &[&str]) -> String {
        fit(words, (&parameters(kinds), &[]), &SHAPE, &|_| Element::F16).unwrap_err().to_string()
    }

    #[test]
    fn any_order_and_every_width() {
        let kinds = ["u32", "u64", "f32", "u64", "u64", "f64", "u64"];
        let operands =
            fit("M,cdiv(N,32),alpha=2,A,B,beta=-0.5,C", (&parameters(&kinds), &[]), &SHAPE, &|_| Element::F16).unwrap();
        let list = [
            Operand::U32(100),
            Operand::U64(3),
            Operand::F32(2.0),
            Operand::A,
            Operand::B,
            Operand::F64(-0.5),
            Operand::C,
        ];
        assert_eq!(operands, Operands { list: list.to_vec(), alpha: 2.0, beta: -0.5 });
    }

    #[test]
    fn factors_of_16_bits_are_those_that_the_kernel_gets() {
        let kinds = [Parameter::new("u64", 8), Parameter::new("b8", 2), Parameter::new("b8", 2)];
        let half = |place| if place == 1 { Element::F16 } else { Element::Bf16 };
        let operands = fit("C,alpha=1.5,beta=0.1", (&kinds, &[]), &SHAPE, &half).unwrap();
        assert_eq!(operands.list, [Operand::C, Operand::Half(0x3e00), Operand::Half(0x3dcd)]);
        assert_eq!((operands.alpha, operands.beta), (1.5, 0.100_097_656_25));
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        assert!(refused("A,B", &["u64"; 3]).starts_with("--args names 2 arguments, and the kernel takes 3"));
        assert!(refused("A,B,C,M", &["u64", "u32", "u64", "u32"]).contains("parameter 1 is a u32, and B is a pointer"));
        assert!(refused("A,B,M", &["u64", "u64", "u32"]).contains("does not name C"));
        assert!(refused("C,x", &["u64", "f32"]).contains("`x` is no number"));
        assert!(refused("C,gamma=1", &["u64", "f32"]).contains("`gamma` has no meaning"));
        assert!(refused("C,4294967296", &["u64", "u32"]).contains("4294967296 does not fit"));
        assert!(refused("C,1", &["u64", "u16"]).contains("cannot be passed"));
    }
}
