//! A buffer's type against the pointer that it is for.

use cuda_source::Parameter;
use cuda_source::types::Scalar;

use super::argument::NewBuffer;
use super::element::Element;

/// Words in the names of types that stand for bits, of whatever they are: bytes, unsigned numbers, vectors of whole numbers.
const BITS: [&str; 4] = ["char", "byte", "int8", "u"];

/// Why a buffer is not for this parameter. Pointers to bits, and to what is not known, take every type.
pub fn fits(parameter: &Parameter, buffer: &NewBuffer) -> Option<String> {
    let scalar = parameter.scalar.filter(|_| parameter.pointer)?;
    let wanted = Element::of_text(scalar, &parameter.element);
    let of = Element::named(wanted).ok()?;
    let parts = || parameter.element.split(|c: char| !c.is_alphanumeric() && c != '_');
    let bits = scalar == Scalar::Whole
        && (parts().any(|part| BITS.iter().any(|word| part.starts_with(word))) || is_vector(&parameter.element));
    let same = match (of, buffer.element) {
        (Element::Signed(a) | Element::Unsigned(a), Element::Signed(b) | Element::Unsigned(b)) => a == b,
        // An f32 whose last bits are zeros.
        (Element::Float(_), Element::Float(gemm::Element::Tf32)) => wanted == "f32",
        (a, b) => a == b,
    };
    let name = if parameter.name.is_empty() { "it" } else { &parameter.name };
    (!bits && !same).then(|| {
        format!(
            "its elements are {}, and the parameter is `{} {name}`: {}:{wanted}[{}]",
            buffer.element.name(),
            parameter.type_name,
            buffer.name,
            buffer.count
        )
    })
}

/// `int4`, and not `int` or `int32_t`.
fn is_vector(element: &str) -> bool {
    matches!(element.chars().last(), Some('2'..='4')) && !element.ends_with("32") && !element.ends_with("64")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_held_against_pointers() {
        let program = |element: &str| {
            let text = format!("__global__ void k(const {element}* p) {{}}\n");
            cuda_source::Program::read("", &text, &[], &mut |_| None).kernels()[0].parameters[0].clone()
        };
        let buffer = |element: &str| NewBuffer {
            name: "p".to_string(),
            element: Element::named(element).unwrap(),
            count: "64".to_string(),
            content: None,
        };
        for (text, element, taken) in [
            ("double", "f32", false),
            ("float", "f64", false),
            ("float", "i32", false),
            ("float", "tf32", true),
            ("float4", "f32", true),
            ("__half", "bf16", false),
            ("int", "f32", false),
            ("int", "i64", false),
            ("int", "u32", true),
            ("int4", "f16", true),
            ("unsigned", "f16", true),
            ("unsigned char", "e4m3", true),
            ("void", "f64", true),
            ("Particle", "f32", true),
        ] {
            let said = fits(&program(text), &buffer(element));
            assert_eq!(said.is_none(), taken, "{text}, {element}: {said:?}");
        }
        let said = fits(&program("double"), &buffer("f32")).unwrap();
        assert_eq!(said, "its elements are f32, and the parameter is `const double* p`: p:f64[64]");
    }
}
