//! What a buffer holds: before the first launch, and what is expected of it after the last.

use std::path::Path;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha12Rng;

use super::element::Element;
use crate::candidate::regular;
use crate::expression::parts;

/// Bytes that are read of a file at most.
const MOST_OF_A_FILE: u64 = 1 << 34;

/// How a buffer is filled.
#[derive(Debug, Clone, PartialEq)]
pub enum Content {
    /// 0, 1, 2, …
    Range,
    /// Random numbers from a lower bound up to an upper one, which real numbers do not reach.
    Random(f64, f64),
    /// One number, everywhere.
    Each(String),
    /// These numbers, and zeros behind them.
    List(Vec<String>),
    /// The bytes of a file; of a `.txt` file, the numbers that stand there.
    File(String),
}

impl Content {
    /// `zeros`, `ones`, `range`, `random`, `random(LOW,HIGH)`, `@FILE`, `{1,2,3}` or a number.
    pub fn parse(text: &str) -> Result<Content, String> {
        let text = text.trim();
        if let Some(path) = text.strip_prefix('@') {
            return Ok(Content::File(path.to_string()));
        }
        if let Some(list) = text.strip_prefix('{') {
            let list = list.strip_suffix('}').ok_or_else(|| format!("`}}` is missing in `{text}`"))?;
            return Ok(Content::List(parts(list).into_iter().map(str::to_string).collect()));
        }
        if let Some(bounds) = text.strip_prefix("random(").and_then(|rest| rest.strip_suffix(')')) {
            let bounds: Vec<f64> = bounds.split(',').filter_map(|bound| bound.trim().parse().ok()).collect();
            return match bounds.as_slice() {
                &[low, high] if low < high && low.is_finite() && high.is_finite() => Ok(Content::Random(low, high)),
                _ => Err(format!("`{text}` names no lower and higher bound, as `random(0,10)` does")),
            };
        }
        Ok(match text {
            "" => return Err("nothing stands behind the `=`".to_string()),
            "zeros" => Content::Each("0".to_string()),
            "ones" => Content::Each("1".to_string()),
            "range" => Content::Range,
            "random" => Content::Random(-1.0, 1.0),
            number => Content::Each(number.to_string()),
        })
    }

    /// Whether every byte is zero.
    pub fn is_zeros(&self, element: Element) -> bool {
        match self {
            Content::Each(number) => element.parse(number).is_ok_and(|bytes| bytes.iter().all(|byte| *byte == 0)),
            _ => false,
        }
    }

    /// The bytes of so many elements. What is random depends on `seed` and on `name`, and on nothing else.
    pub fn bytes(&self, element: Element, count: usize, seed: u64, name: &str) -> Result<Vec<u8>, String> {
        let all = match self {
            Content::Range => (0..count).flat_map(|i| element.float(i as f64)).collect(),
            Content::Each(number) => element.parse(number)?.repeat(count),
            Content::Random(low, high) => {
                let of_name = name.bytes().fold(seed, |hash, byte| hash.wrapping_mul(31).wrapping_add(byte.into()));
                let mut random = ChaCha12Rng::seed_from_u64(of_name);
                // Whole numbers between -1 and 1 would be zeros.
                let (low, high) =
                    if element.is_float() || (*low, *high) != (-1.0, 1.0) { (*low, *high) } else { (0.0, 100.0) };
                (0..count).flat_map(|_| element.float(random.random_range(low..high))).collect()
            }
            Content::List(numbers) => of_words(numbers.iter().map(String::as_str), element, count)?,
            Content::File(path) => from_file(path, element, count)?,
        };
        Ok(all)
    }
}

fn from_file(path: &str, element: Element, count: usize) -> Result<Vec<u8>, String> {
    let bytes = regular(Path::new(path), MOST_OF_A_FILE).map_err(|why| format!("cannot read {path}: {why}"))?;
    if path.ends_with(".txt") {
        return of_words(String::from_utf8_lossy(&bytes).split_whitespace(), element, count);
    }
    let wanted = count * element.bytes();
    match bytes.len() == wanted {
        true => Ok(bytes),
        false => Err(format!("{path} has {} bytes, and {count} {} are {wanted}", bytes.len(), element.name())),
    }
}

fn of_words<'a>(words: impl Iterator<Item = &'a str>, element: Element, count: usize) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    for word in words {
        bytes.extend(element.parse(word)?);
    }
    let given = bytes.len() / element.bytes();
    if given > count {
        return Err(format!("{given} numbers do not fit into {count} elements"));
    }
    bytes.resize(count * element.bytes(), 0);
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(text: &str, element: Element, count: usize) -> Result<Vec<u8>, String> {
        Content::parse(text).and_then(|content| content.bytes(element, count, 1, "x"))
    }

    #[test]
    fn buffers_are_filled() {
        let byte = Element::Unsigned(1);
        for (text, expected) in
            [("zeros", [0, 0, 0]), ("ones", [1, 1, 1]), ("range", [0, 1, 2]), ("7", [7, 7, 7]), ("{4,5}", [4, 5, 0])]
        {
            assert_eq!(bytes(text, byte, 3), Ok(expected.to_vec()), "{text}");
        }
        let random = bytes("random(10,12)", byte, 100).unwrap();
        assert!(random.contains(&10) && random.contains(&11) && random.iter().all(|b| (10..12).contains(b)));
        assert_ne!(
            bytes("random", Element::Float(gemm::Element::F32), 4),
            Content::Random(-1.0, 1.0).bytes(Element::Float(gemm::Element::F32), 4, 1, "y")
        );
    }

    #[test]
    fn what_is_no_content_says_why() {
        let refused = |text: &str| bytes(text, Element::Unsigned(1), 3).unwrap_err();
        assert_eq!(refused(""), "nothing stands behind the `=`");
        assert_eq!(refused("{1,2,3,4}"), "4 numbers do not fit into 3 elements");
        assert_eq!(refused("{1"), "`}` is missing in `{1`");
        assert_eq!(refused("rnd"), "`rnd` is no u8");
        assert!(refused("random(3,2)").contains("no lower and higher bound"));
        assert!(refused("@/nonesuch.bin").starts_with("cannot read /nonesuch.bin"));
    }
}
