//! `--arg`: tensor maps, as `a:map(bf16[4096x4096],box=128x64,swizzle=128)=random`.
//!
//! ```text
//! NAME:map(TYPE[SIZES],box=SIZES…)            a new buffer with a tensor in it, and the map of that
//! NAME:map(TYPE[SIZES],box=SIZES…)=CONTENT    the same, filled
//! NAME:map(BUFFER[SIZES],box=SIZES…)          a map of a buffer that is named before
//!
//! SIZES      rows x columns, as many as 5, as the tensor is stored: the last is the innermost, whose elements lie side by side
//! swizzle=   none, 32, 64, 128: how 16-byte chunks lie in shared memory
//! fill=      zeros, nan: what stands for elements outside
//! strides=   bytes from an element to the next, of all dimensions but the innermost; packed without
//! steps=     from an element of the box to the next that is moved; 1 without
//! l2=        none, 64, 128, 256: what the L2 cache fetches
//! ```

use emulator::{
    TensorElement, TensorFill, TensorInterleave, TensorL2Promotion, TensorMap, TensorMapDescription, TensorSwizzle,
};
use gemm::Element as Float;

use super::content::Content;
use super::element::Element;
use crate::expression::parts;

/// An address that every map may have, while there is none.
const ANY_ADDRESS: u64 = 1 << 20;

/// A map's description, in words.
#[derive(Debug, Clone, PartialEq)]
pub struct MapWords {
    /// The type of a new buffer's elements, or the name of a buffer.
    of: String,
    sizes: Vec<String>,
    box_sizes: Vec<String>,
    strides: Option<Vec<String>>,
    steps: Option<Vec<String>>,
    interleave: TensorInterleave,
    swizzle: TensorSwizzle,
    fill: TensorFill,
    l2: TensorL2Promotion,
    /// What a new buffer holds.
    pub content: Option<Content>,
}

/// A map of a buffer, which gets its address when there is one.
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedMap {
    /// The buffer.
    pub buffer: usize,
    description: TensorMapDescription,
}

impl PlannedMap {
    /// The map, where the buffer begins at `address`: at a multiple of 16.
    pub fn at(&self, address: u64) -> Option<TensorMap> {
        let mut description = self.description.clone();
        description.address = address;
        description.encode().ok()
    }
}

/// `map(…)` or `map(…)=CONTENT`.
pub fn parse(text: &str) -> Result<MapWords, String> {
    let inner = text.strip_prefix("map(").unwrap_or(text);
    let (inner, rest) = inner.split_once(')').map(|(start, _)| closing(inner, start.len())).unwrap_or((inner, None));
    let rest = rest.ok_or_else(|| format!("`)` is missing in `{text}`"))?.trim();
    let content = match rest.strip_prefix('=') {
        Some(content) => Some(Content::parse(content)?),
        None if rest.is_empty() => None,
        None => return Err(format!("`{rest}` is not expected behind the map: a content is as in `=random`")),
    };
    let mut words = parts(inner).into_iter();
    let tensor = words.next().unwrap_or_default();
    let counted = tensor.strip_suffix(']').and_then(|rest| rest.split_once('['));
    let (of, sizes) = counted.ok_or_else(|| format!("`{tensor}` is no type with sizes, as `bf16[4096x4096]` is"))?;
    let mut map = MapWords {
        of: of.trim().to_string(),
        sizes: extents(sizes),
        box_sizes: Vec::new(),
        strides: None,
        steps: None,
        interleave: TensorInterleave::None,
        swizzle: TensorSwizzle::None,
        fill: TensorFill::Zeros,
        l2: TensorL2Promotion::None,
        content,
    };
    for word in words {
        let (name, value) = word.split_once('=').map_or((word, ""), |(name, value)| (name.trim(), value.trim()));
        match name {
            "box" => map.box_sizes = extents(value),
            "strides" => map.strides = Some(extents(value)),
            "steps" => map.steps = Some(extents(value)),
            "swizzle" => {
                use TensorSwizzle::{B32, B64, B128, None};
                map.swizzle = one_of(name, value, &[("none", None), ("32", B32), ("64", B64), ("128", B128)])?;
            }
            "fill" => map.fill = one_of(name, value, &[("zeros", TensorFill::Zeros), ("nan", TensorFill::Nan)])?,
            "interleave" => map.interleave = one_of(name, value, &[("none", TensorInterleave::None)])?,
            "l2" => {
                use TensorL2Promotion::{B64, B128, B256, None};
                map.l2 = one_of(name, value, &[("none", None), ("64", B64), ("128", B128), ("256", B256)])?;
            }
            _ => {
                return Err(format!(
                    "`{name}` says nothing of a map: there are box, swizzle, fill, strides, steps, l2, interleave"
                ));
            }
        }
    }
    match map.box_sizes.is_empty() {
        true => Err("the box is missing, as in `box=128x64`".to_string()),
        false => Ok(map),
    }
}

/// What stands before the parenthesis that closes the one before the text, and behind it; `first` is the first that closes any.
fn closing(text: &str, first: usize) -> (&str, Option<&str>) {
    let mut depth = text[..first].matches('(').count();
    for (at, c) in text[first..].char_indices().map(|(at, c)| (first + at, c)) {
        match c {
            ')' if depth == 0 => return (&text[..at], Some(&text[at + 1..])),
            ')' => depth -= 1,
            '(' => depth += 1,
            _ => (),
        }
    }
    (text, None)
}

fn one_of<T: Copy>(name: &str, value: &str, all: &[(&str, T)]) -> Result<T, String> {
    let names = || all.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
    let found = all.iter().find(|(known, _)| *known == value);
    found.map(|(_, value)| *value).ok_or_else(|| format!("{name}={value}: there is {}", names()))
}

/// The parts of `64 x 128`, at each `x` that is no part of a name.
fn extents(text: &str) -> Vec<String> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let (mut parts, mut start) = (Vec::new(), 0);
    for (at, _) in text.match_indices(['x', '×']) {
        let before = text[..at].trim_end_matches(is_word);
        // What stands before it in one word is a number or nothing, and so is what stands behind.
        let number = |word: &str| word.chars().all(|c| c.is_ascii_digit());
        let last = text[before.len().max(start)..at].trim();
        let next: String = text[at..].chars().skip(1).take_while(|c| is_word(*c)).collect();
        let next = next.split('x').next().unwrap_or_default();
        if number(last) && number(next) {
            parts.push(text[start..at].trim().to_string());
            start = at + text[at..].chars().next().map_or(1, char::len_utf8);
        }
    }
    parts.push(text[start..].trim().to_string());
    parts
}

impl MapWords {
    /// The buffer that is named before, if there is one of that name.
    pub fn known(&self, find: impl Fn(&str) -> Option<usize>) -> Option<usize> {
        find(&self.of)
    }

    /// The type of a new buffer's elements.
    pub fn element(&self) -> Result<Element, String> {
        Element::named(&self.of).map_err(|why| format!("{why}; and no buffer `{}` is named before", self.of))
    }

    /// The map of a buffer of such elements, and how many of them the tensor takes. `value` knows what an expression is.
    pub fn plan(
        &self,
        element: Element,
        buffer: usize,
        value: impl Fn(&str) -> Result<u64, String>,
    ) -> Result<(PlannedMap, u64), String> {
        // Dimension 0 is the innermost.
        let of = |words: &[String]| words.iter().rev().map(|word| value(word)).collect::<Result<Vec<u64>, String>>();
        let small = |words: &[String]| -> Result<Vec<u32>, String> {
            Ok(of(words)?.into_iter().map(|number| u32::try_from(number).unwrap_or(u32::MAX)).collect())
        };
        let (sizes, box_sizes) = (of(&self.sizes)?, small(&self.box_sizes)?);
        let mut map = TensorMapDescription::packed(tensor_element(element), ANY_ADDRESS, &sizes, &box_sizes)
            .swizzle(self.swizzle)
            .fill(self.fill)
            .interleave(self.interleave)
            .l2_promotion(self.l2);
        if let Some(strides) = &self.strides {
            map.strides = of(strides)?;
        }
        if let Some(steps) = &self.steps {
            map = map.element_strides(&small(steps)?);
        }
        map.encode().map_err(|error| error.to_string())?;
        let width = element.bytes() as u64;
        let rows = map.strides.iter().zip(&sizes[1..]).map(|(stride, size)| stride.saturating_mul(size - 1));
        let bytes = rows.fold(width.saturating_mul(sizes[0]), u64::saturating_add);
        Ok((PlannedMap { buffer, description: map }, bytes.div_ceil(width)))
    }
}

/// As the driver names the type; what it has no name for is bytes to it.
fn tensor_element(element: Element) -> TensorElement {
    match element {
        Element::Signed(4) => TensorElement::S32,
        Element::Signed(8) => TensorElement::S64,
        Element::Float(Float::F16) => TensorElement::F16,
        Element::Float(Float::Bf16) => TensorElement::Bf16,
        Element::Float(Float::Tf32) => TensorElement::Tf32,
        Element::Float(Float::F32) => TensorElement::F32,
        Element::Float(Float::F64) => TensorElement::F64,
        element => match element.bytes() {
            1 => TensorElement::U8,
            2 => TensorElement::U16,
            4 => TensorElement::U32,
            _ => TensorElement::U64,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BF16: Element = Element::Float(Float::Bf16);

    fn planned(text: &str) -> Result<(TensorMapDescription, u64), String> {
        let known = |name: &str| (name == "n" || name == "max").then_some(64);
        let value = |text: &str| crate::expression::value(text, &known);
        let words = parse(text)?;
        words.plan(words.element()?, 0, value).map(|(map, count)| (map.description, count))
    }

    #[test]
    fn a_map_is_what_its_words_say() {
        let all = "map(bf16[512x256],box=64x32,swizzle=64,fill=nan,l2=128,steps=2x1,interleave=none)=random";
        let (map, count) = planned(all).unwrap();
        let wanted = TensorMapDescription::packed(TensorElement::Bf16, ANY_ADDRESS, &[256, 512], &[32, 64])
            .swizzle(TensorSwizzle::B64)
            .fill(TensorFill::Nan)
            .l2_promotion(TensorL2Promotion::B128)
            .element_strides(&[1, 2]);
        assert_eq!((map, count), (wanted, 512 * 256));
        assert_eq!(parse(all).unwrap().content, Some(Content::Random(-1.0, 1.0)));
        let (map, count) = planned("map(f32[3x4x8],strides=1024x64,box=1x2x4)").unwrap();
        assert_eq!((map.sizes, map.strides, map.box_sizes), (vec![8, 4, 3], vec![64, 1024], vec![4, 2, 1]));
        assert_eq!(count, (2 * 1024 + 3 * 64 + 8 * 4) / 4);
        assert_eq!(planned("map(u8[n x 2*n],box=(n)x16)").unwrap().0.sizes, [128, 64]);
        assert_eq!(planned("map(u8[64],box=16)").unwrap().0.sizes, [64]);
        assert_eq!(planned("map(e4m3[max x 16],box=16x16)").unwrap().0.element, TensorElement::U8);
        assert_eq!(
            parse("map(u8[cdiv(n,2)x64],box=16x16)=random(0,10)").unwrap().content,
            Some(Content::Random(0.0, 10.0))
        );
    }

    #[test]
    fn what_no_map_can_be_is_said_with_value_and_limit() {
        for (words, why) in [
            ("map(bf16[64x64],box=8x8", "`)` is missing in `map(bf16[64x64],box=8x8`"),
            ("map(bf16,box=8x8)", "`bf16` is no type with sizes, as `bf16[4096x4096]` is"),
            ("map(bf16[64x64])", "the box is missing, as in `box=128x64`"),
            ("map(bf16[64x64],box=8x8)random", "`random` is not expected behind the map"),
            ("map(bf16[64x64],box=8x8,swizzle=16)", "swizzle=16: there is none, 32, 64, 128"),
            ("map(bf16[64x64],box=8x8,interleave=16)", "interleave=16: there is none"),
            ("map(bf16[64x64],box=8x8,colour=red)", "`colour` says nothing of a map"),
            ("map(half[64x64],box=8x8)", "`half` is no type"),
            (
                "map(bf16[64x64],box=8x128,swizzle=128)",
                "a box whose rows have 256 bytes, and the swizzle takes at most 128",
            ),
            ("map(bf16[64x64],box=8)", "1 box sizes for a tensor of 2 dimensions: give 2"),
            ("map(bf16[64x64],box=257x8)", "a box of 257 elements in dimension 1: a map takes 1 to 256"),
            ("map(bf16[64x60],box=8x8)", "a stride of 120 bytes in dimension 1"),
            ("map(bf16[0x64],box=8x8)", "0 elements in dimension 1"),
            ("map(i32[64x64],box=8x8,fill=nan)", "a tensor of s32 filled with NaN"),
            ("map(bf16[m x 64],box=8x8)", "`m`"),
        ] {
            let said = planned(words).unwrap_err();
            assert!(said.contains(why), "{words}: {said}");
        }
        assert_eq!(BF16.bytes(), 2);
    }
}
