//! Texts by name in one compressed file: the PTX of a level's configurations, a corpus of tests.
//!
//! Unpacked by zstd, an archive is text that a person can read, and that git can compare:
//!
//! ```text
//! ==> 16-f32.ptx <==
//! // Made by `cargo x ptx` from level1-tiling/kernel.cu: do not edit.
//! …
//! ==> 16-f64.ptx <==
//! …
//! ```
//!
//! `cargo x pack` writes archives, `cargo x unpack` prints them. What is compressed may begin with a line that says how numbers are
//! written: see [`numbers`].

#![forbid(unsafe_code)]

mod numbers;

use std::fmt::Write;
use std::fs;
use std::io::{self, Read};
use std::ops::Range;
use std::path::Path;
use std::sync::OnceLock;

use ruzstd::decoding::StreamingDecoder;

/// The line that begins a text stands between these.
const BEGIN: &str = "==> ";
const END: &str = " <==\n";
/// The first line of what is compressed, where distances stand in place of numbers.
const DISTANCES: &str = "numbers by distance\n";

/// Why an archive cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unreadable {
    /// There is no such file, or it may not be read.
    #[error("cannot read {file}: {why}")]
    File {
        /// The file.
        file: String,
        /// What the system says.
        why: String,
    },
    /// They are not what zstd wrote.
    #[error("the archive is damaged, or not one: {0}")]
    Damaged(String),
    /// Unpacked, they are not texts by name.
    #[error("the archive has no texts by name: it begins with {0:?}")]
    Foreign(String),
}

/// An archive that is part of the program. It is unpacked when it is first read, once per process.
#[derive(Debug)]
pub struct Archive {
    bytes: &'static [u8],
    texts: OnceLock<Result<Texts, Unreadable>>,
}

impl Archive {
    /// An archive from its bytes. Without any, it has no texts.
    pub const fn new(bytes: &'static [u8]) -> Archive {
        Archive { bytes, texts: OnceLock::new() }
    }

    /// The texts.
    ///
    /// # Errors
    /// [`Unreadable`], on each call, where the bytes are not an archive.
    pub fn texts(&self) -> Result<&Texts, Unreadable> {
        self.texts.get_or_init(|| Texts::unpack(self.bytes)).as_ref().map_err(Unreadable::clone)
    }
}

impl From<Texts> for Archive {
    /// An archive of texts that are at hand.
    fn from(texts: Texts) -> Archive {
        Archive { bytes: &[], texts: OnceLock::from(Ok(texts)) }
    }
}

/// Texts by name, in the order in which they were written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Texts {
    joined: String,
    /// Where each name and its text stand.
    places: Vec<(Range<usize>, Range<usize>)>,
}

impl Texts {
    /// Unpacks an archive.
    ///
    /// # Errors
    /// [`Unreadable`], where the bytes are not an archive, or not all of one.
    pub fn unpack(bytes: &[u8]) -> Result<Texts, Unreadable> {
        if bytes.is_empty() {
            return Ok(Texts::default());
        }
        let damaged = |why: String| Unreadable::Damaged(why);
        let mut decoder = StreamingDecoder::new(bytes).map_err(|error| damaged(error.to_string()))?;
        let mut joined = String::new();
        decoder.read_to_string(&mut joined).map_err(|error| damaged(error.to_string()))?;
        let decoder = decoder.into_frame_decoder();
        let (written, read) = (decoder.get_checksum_from_data(), decoder.get_calculated_checksum());
        if written.is_none() || written != read {
            return Err(damaged("its checksum is not that of its content".to_string()));
        }
        match joined.strip_prefix(DISTANCES) {
            Some(text) => Texts::parse(numbers::numbered(text)),
            None => Texts::parse(joined),
        }
    }

    /// Reads an archive's file.
    ///
    /// # Errors
    /// [`Unreadable`], where there is no such file, or it is not an archive.
    pub fn read(file: &Path) -> Result<Texts, Unreadable> {
        let missing = |error: io::Error| Unreadable::File { file: file.display().to_string(), why: error.to_string() };
        Texts::unpack(&fs::read(file).map_err(missing)?)
    }

    /// Writes each text into a file of its name, below a folder.
    ///
    /// # Errors
    /// Where a folder cannot be made, or a file not be written.
    pub fn write_below(&self, folder: &Path) -> io::Result<()> {
        self.iter().try_for_each(|(name, text)| {
            let file = folder.join(name);
            file.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| fs::write(&file, text))
        })
    }

    /// Reads what [`Texts::joined`] gives.
    ///
    /// # Errors
    /// [`Unreadable::Foreign`], where the text does not begin with a name.
    pub fn parse(joined: String) -> Result<Texts, Unreadable> {
        let mut places: Vec<(Range<usize>, Range<usize>)> = Vec::new();
        let mut at = 0;
        for line in joined.split_inclusive('\n') {
            let next = at + line.len();
            if line.starts_with(BEGIN) && line.ends_with(END) {
                places.push((at + BEGIN.len()..next - END.len(), next..next));
            } else if let Some((_, text)) = places.last_mut() {
                text.end = next;
            } else {
                return Err(Unreadable::Foreign(line.trim_end().chars().take(40).collect()));
            }
            at = next;
        }
        Ok(Texts { joined, places })
    }

    /// The archive's text. Each text ends with a line break: one is added where it is missing.
    pub fn of<'a>(texts: impl IntoIterator<Item = (&'a str, &'a str)>) -> Texts {
        let mut all = Texts::default();
        for (name, text) in texts {
            // Writing to a String cannot fail.
            let _ = write!(all.joined, "{BEGIN}{name}{END}");
            let begin = all.joined.len();
            all.joined.push_str(text);
            if !text.is_empty() && !text.ends_with('\n') {
                all.joined.push('\n');
            }
            let name = begin - END.len() - name.len()..begin - END.len();
            all.places.push((name, begin..all.joined.len()));
        }
        all
    }

    /// Names and texts.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.places.iter().map(|(name, text)| (&self.joined[name.clone()], &self.joined[text.clone()]))
    }

    /// The text of this name.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.iter().find(|(found, _)| *found == name).map(|(_, text)| text)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// All in one text: what [`Texts::parse`] reads.
    pub fn joined(&self) -> &str {
        &self.joined
    }

    /// The bytes of an archive: the shorter ones of those of the text as it is, and with distances in place of numbers.
    #[cfg(feature = "pack")]
    pub fn pack(&self) -> io::Result<Vec<u8>> {
        let plain = compressed(&[&self.joined])?;
        let distances = numbers::distances(&self.joined);
        if numbers::numbered(&distances) != self.joined {
            return Ok(plain);
        }
        let other = compressed(&[DISTANCES, &distances])?;
        Ok(if other.len() < plain.len() { other } else { plain })
    }
}

/// The bytes that zstd makes of texts, one after the other.
#[cfg(feature = "pack")]
fn compressed(texts: &[&str]) -> io::Result<Vec<u8>> {
    let mut encoder = zstd::Encoder::new(Vec::new(), 22)?;
    encoder.include_checksum(true)?;
    // The texts resemble each other, and some are megabytes long: what a text repeats must be in reach.
    encoder.long_distance_matching(true)?;
    encoder.window_log(26)?;
    texts.iter().try_for_each(|text| io::Write::write_all(&mut encoder, text.as_bytes()))?;
    encoder.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `==> a <==`, `one`, `==> b/c.ptx <==`, `==>`, by zstd 1.5 with a checksum.
    const PACKED: &[u8] = include_bytes!("../tests/packed.zst");

    #[test]
    fn texts_come_back_as_they_went() {
        let texts = Texts::of([("a", "one\ntwo\n"), ("b/c.ptx", "==> no name\n"), ("empty", "")]);
        let again = Texts::parse(texts.joined().to_string()).unwrap();
        assert_eq!(again, texts);
        let all: Vec<(&str, &str)> = again.iter().collect();
        assert_eq!(all, [("a", "one\ntwo\n"), ("b/c.ptx", "==> no name\n"), ("empty", "")]);
        assert_eq!((again.get("b/c.ptx"), again.get("b")), (Some("==> no name\n"), None));
        assert_eq!(Texts::of([("a", "no end")]).get("a"), Some("no end\n"));
    }

    #[test]
    fn an_archive_is_unpacked_once() {
        static ARCHIVE: Archive = Archive::new(PACKED);
        let texts = ARCHIVE.texts().unwrap();
        assert_eq!(texts.iter().collect::<Vec<_>>(), [("a", "one\n"), ("b/c.ptx", "==>\n")]);
        assert!(std::ptr::eq(texts, ARCHIVE.texts().unwrap()));
        assert!(Archive::new(&[]).texts().unwrap().is_empty());
    }

    #[test]
    fn every_damaged_or_foreign_archive_is_an_error() {
        let whole = Texts::unpack(PACKED).unwrap();
        for end in 1..PACKED.len() {
            assert!(matches!(Texts::unpack(&PACKED[..end]), Err(Unreadable::Damaged(_))), "cut at {end}");
        }
        for at in 0..PACKED.len() {
            let mut bytes = PACKED.to_vec();
            bytes[at] ^= 0x10;
            // A bit that says nothing changes nothing.
            assert!(
                Texts::unpack(&bytes).is_ok_and(|texts| texts == whole) || Texts::unpack(&bytes).is_err(),
                "byte {at}"
            );
        }
        assert!(matches!(Texts::unpack(b"PK\x03\x04"), Err(Unreadable::Damaged(_))));
        let foreign = Texts::parse("// a kernel\n".to_string()).unwrap_err();
        assert_eq!(foreign.to_string(), "the archive has no texts by name: it begins with \"// a kernel\"");
    }

    #[cfg(feature = "pack")]
    #[test]
    fn what_is_packed_is_unpacked() {
        for text in ["==>\n", "	add.f32 	%f3, %f2, %f1;\n", "a distance of its own: %r+3\n", DISTANCES] {
            let texts = Texts::of([("a", "one\n"), ("b/c.ptx", text)]);
            assert_eq!(Texts::unpack(&texts.pack().unwrap()).unwrap(), texts);
        }
    }
}
