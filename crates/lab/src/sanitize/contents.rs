//! What a buffer holds after the launches.

use std::borrow::Cow;
use std::ops::Range;

use emulator::{Buffer, Device, DeviceError, Fault};

/// What a buffer holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contents {
    /// How many bytes it has.
    pub length: usize,
    /// Bytes, and where they begin: of a buffer that takes memory only where it is accessed, those places; of any other, all of it
    /// in one. Where nobody wrote, they say nothing; what lies between is zeros.
    pub parts: Vec<(usize, Vec<u8>)>,
    /// How many bytes nobody wrote.
    pub unwritten: usize,
    /// The first of them.
    pub first_unwritten: Option<usize>,
    /// The store that put there what nobody wrote, if one did and it is known.
    pub store: Option<Box<Fault>>,
}

impl Contents {
    /// Copies a buffer's contents out.
    pub fn of(device: &Device, buffer: Buffer) -> Result<Contents, DeviceError> {
        let (length, mut unwritten, mut first_unwritten) = (device.size(buffer)?, 0, None);
        let mut parts = Vec::new();
        for (first, count) in device.parts(buffer)? {
            let mut bytes = vec![0; count];
            let missing = device.peek(buffer, first, &mut bytes)?;
            if missing > 0
                && let Err(DeviceError::Unwritten { first, .. }) = device.read_at(buffer, first, &mut vec![0; count])
            {
                first_unwritten.get_or_insert(first);
            }
            unwritten += missing;
            parts.push((first, bytes));
        }
        let store = if unwritten > 0 { device.unwritten_store(buffer)? } else { None };
        Ok(Contents { length, parts, unwritten, first_unwritten, store })
    }

    /// Bytes that all are known.
    pub fn whole(bytes: Vec<u8>) -> Contents {
        Contents { length: bytes.len(), parts: vec![(0, bytes)], unwritten: 0, first_unwritten: None, store: None }
    }

    /// All bytes, unless that would be more than are at hand.
    pub fn all(&self) -> Option<&[u8]> {
        match self.parts.as_slice() {
            [(0, bytes)] if bytes.len() == self.length => Some(bytes),
            _ => None,
        }
    }

    /// The bytes of a part of the buffer.
    pub fn range(&self, range: Range<usize>) -> Cow<'_, [u8]> {
        if let Some(all) = self.all() {
            return Cow::Borrowed(&all[range]);
        }
        let mut bytes = vec![0; range.len()];
        for (first, part) in &self.parts {
            let (from, to) = (range.start.max(*first), range.end.min(first + part.len()));
            if from < to {
                bytes[from - range.start..to - range.start].copy_from_slice(&part[from - first..to - first]);
            }
        }
        Cow::Owned(bytes)
    }

    /// The places where one of two buffers of one length may hold something else than zeros.
    pub fn places(&self, other: &Contents) -> Vec<Range<usize>> {
        let parts = self.parts.iter().chain(&other.parts);
        let mut places: Vec<Range<usize>> = parts.map(|(first, bytes)| *first..first + bytes.len()).collect();
        places.sort_unstable_by_key(|place| place.start);
        places.dedup();
        places
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_between_the_parts_is_zeros() {
        let sparse = |parts: &[(usize, &[u8])]| {
            let parts = parts.iter().map(|(first, bytes)| (*first, bytes.to_vec())).collect();
            Contents { length: 100, parts, ..Contents::whole(Vec::new()) }
        };
        let contents = sparse(&[(10, &[1, 2, 3]), (20, &[4])]);
        assert_eq!(*contents.range(11..21), [2, 3, 0, 0, 0, 0, 0, 0, 0, 4]);
        assert_eq!((*contents.range(50..52)).to_vec(), [0, 0]);
        assert_eq!(contents.places(&sparse(&[(20, &[5]), (40, &[6])])), [10..13, 20..21, 40..41]);
        assert_eq!((contents.all(), Contents::whole(vec![7]).all()), (None, Some(&[7][..])));
    }
}
