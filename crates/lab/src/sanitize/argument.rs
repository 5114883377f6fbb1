//! `--arg`: what stands for a kernel's parameter, as words.
//!
//! ```text
//! in:f32[4096]=random      a buffer with its name, type, length and content
//! out:f32[16]              a buffer that nobody has written
//! in                       a buffer that is named before
//! in+1024                  the same, from this element on
//! n:i32=4096               a number
//! n=4096, or 4096, or n    a number as wide as the parameter; n alone is one given by --set
//! null                     a pointer to nothing
//! a:map(bf16[64x64],box=8x8)=random   a tensor map of a new buffer, see `map`; map(in[64x64],box=8x8) of one named before
//! {i32=3,f32=0.5,in}       a structure by value, its members laid out as C does; s:{…} names it
//! {bias:f32[64]=ones}      a structure with a pointer to a new buffer
//! ```

use super::content::Content;
use super::element::Element;
use super::map::{self, MapWords};
use crate::expression::parts;

/// A word of `--arg`, read.
#[derive(Debug, Clone, PartialEq)]
pub enum Argument {
    /// A buffer that comes to be.
    New(NewBuffer),
    /// What stands for itself: a buffer's name, an offset from it, a number, or a name from `--set`.
    Plain(String),
    /// A number of a certain type.
    Typed(Element, String),
    /// A tensor map.
    Map(MapWords),
    /// A structure.
    Structure(Vec<Argument>),
}

/// A buffer's description.
#[derive(Debug, Clone, PartialEq)]
pub struct NewBuffer {
    /// Its name.
    pub name: String,
    /// What it consists of.
    pub element: Element,
    /// How many there are: an expression.
    pub count: String,
    /// What it holds; nothing that anybody has written without.
    pub content: Option<Content>,
}

/// The name that a word gives its argument, if any, and the argument.
pub fn parse(word: &str) -> Result<(Option<String>, Argument), String> {
    let word = word.trim();
    if word.starts_with('{') {
        return Ok((None, structure(word)?));
    }
    if word.starts_with("map(") {
        return Ok((None, Argument::Map(map::parse(word)?)));
    }
    if let Some((name, rest)) = word.split_once(':')
        && is_name(name.trim())
    {
        let name = name.trim().to_string();
        let rest = rest.trim();
        if rest.starts_with('{') {
            return Ok((Some(name), structure(rest)?));
        }
        if rest.starts_with("map(") {
            return Ok((Some(name), Argument::Map(map::parse(rest)?)));
        }
        if rest.contains('[') {
            let buffer = buffer(&name, rest)?;
            return Ok((Some(name), Argument::New(buffer)));
        }
        return Ok((Some(name), typed(rest)?));
    }
    match word.split_once('=') {
        Some((name, value)) if is_name(name.trim()) => {
            Ok((Some(name.trim().to_string()), Argument::Plain(value.trim().to_string())))
        }
        _ if word.is_empty() => Err("an argument is empty".to_string()),
        _ => Ok((is_name(word).then(|| word.to_string()), Argument::Plain(word.to_string()))),
    }
}

/// `f32[COUNT]` or `f32[COUNT]=CONTENT`.
pub fn buffer(name: &str, text: &str) -> Result<NewBuffer, String> {
    let (declared, content) = text.split_once('=').map_or((text, None), |(left, right)| (left, Some(right)));
    let counted = declared.trim().strip_suffix(']').and_then(|rest| rest.split_once('['));
    let (element, count) = counted.ok_or_else(|| format!("`{declared}` is no type with a length, as `f32[64]` is"))?;
    let content = content.map(Content::parse).transpose()?;
    Ok(NewBuffer {
        name: name.to_string(),
        element: Element::named(element.trim())?,
        count: count.trim().to_string(),
        content,
    })
}

/// `i32=5`.
fn typed(text: &str) -> Result<Argument, String> {
    let (element, value) = text.split_once('=').ok_or_else(|| format!("`{text}` says no value, as `i32=5` does"))?;
    Ok(Argument::Typed(Element::named(element.trim())?, value.trim().to_string()))
}

fn structure(text: &str) -> Result<Argument, String> {
    let inner = text.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
    let inner = inner.ok_or_else(|| format!("`}}` is missing in `{text}`"))?;
    let member = |word: &str| {
        let word = word.trim();
        match word.starts_with('{') {
            true => structure(word),
            false if word.starts_with("map(") => Ok(Argument::Map(map::parse(word)?)),
            // `bias:f32[64]=ones`, `alpha:f32=0.5`
            false if word.split_once(':').is_some_and(|(name, _)| is_name(name.trim())) => {
                parse(word).map(|(_, member)| member)
            }
            false if word.contains('=') => typed(word),
            false if word.is_empty() => Err(format!("`{text}` has an empty member")),
            false => Ok(Argument::Plain(word.to_string())),
        }
    };
    Ok(Argument::Structure(parts(inner).into_iter().map(member).collect::<Result<_, _>>()?))
}

/// Whether it is a name as C has them.
pub fn is_name(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && word.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read() {
        let named = |name: &str, argument| Ok((Some(name.to_string()), argument));
        let plain = |word: &str| Argument::Plain(word.to_string());
        let in_ = |content| {
            Argument::New(NewBuffer {
                name: "in".to_string(),
                element: Element::Float(gemm::Element::F32),
                count: "2*n".to_string(),
                content,
            })
        };
        assert_eq!(parse("in:f32[2*n]=random"), named("in", in_(Some(Content::Random(-1.0, 1.0)))));
        assert_eq!(parse("in:f32[2*n]"), named("in", in_(None)));
        assert_eq!(parse("in"), named("in", plain("in")));
        assert_eq!(parse("in+16"), Ok((None, plain("in+16"))));
        assert_eq!(parse("n:i32=-5"), named("n", Argument::Typed(Element::Signed(4), "-5".to_string())));
        assert_eq!(parse("n=5"), named("n", plain("5")));
        assert_eq!(parse("-5"), Ok((None, plain("-5"))));
        assert_eq!(
            parse("{n:i32=5,in:f32[2*n]}"),
            Ok((None, Argument::Structure(vec![Argument::Typed(Element::Signed(4), "5".to_string()), in_(None),])))
        );
        let inner = Argument::Structure(vec![
            Argument::Typed(Element::Float(gemm::Element::F32), "0.5".to_string()),
            plain("in"),
        ]);
        let outer = Argument::Structure(vec![Argument::Typed(Element::Signed(4), "3".to_string()), inner]);
        assert_eq!(parse("s:{i32=3,{f32=0.5,in}}"), named("s", outer));
    }

    #[test]
    fn what_is_no_argument_says_why() {
        for (word, why) in [
            ("", "an argument is empty"),
            ("in:f32", "`f32` says no value"),
            ("in:f32[5", "`f32[5` is no type with a length"),
            ("in:float[5]", "`float` is no type"),
            ("in:f32[5]=", "nothing stands behind the `=`"),
            ("s:{i32=3", "`}` is missing"),
            ("s:{i32=3,,}", "an empty member"),
        ] {
            let said = parse(word).unwrap_err();
            assert!(said.contains(why), "{word}: {said}");
        }
    }
}
