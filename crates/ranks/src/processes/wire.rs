//! What ranks say to each other and to their rendezvous, over TCP: each side greets, then come messages, each of a kind, a length and bytes.
//!
//! The greeting is the same in every version of the protocol: so that who speaks another one can be named.

use std::io::{self, Read, Write};

/// The version of what comes behind the greeting.
pub const PROTOCOL: u32 = 1;
/// How a greeting begins.
const MAGIC: [u8; 8] = *b"ranksMNK";
/// Bytes of a message at most, but of a block of C.
const MOST: u64 = 1 << 20;
/// Bytes of a block of C at most, as a guard against a wrong length.
const LARGEST: u64 = 1 << 38;

/// What each side says first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Greeting {
    /// Its version of the protocol.
    pub protocol: u32,
    /// A rank's number; the host of the rendezvous gives the count of ranks.
    pub rank: u32,
}

/// A rank that has come.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Hello {
    /// Its program, with its version.
    pub program: String,
    /// Its plan.
    pub plan: String,
    /// The library by which its panels travel, with its version; empty where it has none.
    pub library: String,
    /// Where other ranks reach it.
    pub address: String,
    /// What the first rank has for all: NCCL's id, or nothing.
    pub token: Vec<u8>,
}

/// All have come.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Welcome {
    /// Where each rank is reached.
    pub addresses: Vec<String>,
    /// What the first rank has for all.
    pub token: Vec<u8>,
    /// By which ranks of this product know each other.
    pub secret: u64,
}

/// What a rank has made.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Done {
    /// Its block of C, row-major and without padding.
    pub block: Vec<u8>,
    /// Milliseconds of a product, where they were measured.
    pub milliseconds: Option<f64>,
}

/// A message.
#[derive(Debug, Clone, PartialEq)]
pub enum Message {
    /// From a rank: it is there.
    Hello(Hello),
    /// To all ranks: all are there.
    Welcome(Welcome),
    /// From both: nothing is wrong.
    Alive,
    /// From a rank: its part is done.
    Done(Done),
    /// From both: what is wrong, in words.
    Failed(String),
    /// To all ranks: all blocks have come.
    End,
}

impl Greeting {
    /// Writes it.
    ///
    /// # Errors
    /// What the socket answers.
    pub fn write(self, mut to: impl Write) -> io::Result<()> {
        let numbers = [self.protocol, self.rank].map(u32::to_le_bytes).concat();
        to.write_all(&[MAGIC.as_slice(), &numbers].concat())
    }

    /// Reads it.
    ///
    /// # Errors
    /// What the socket answers; [`io::ErrorKind::InvalidData`] where it is no greeting.
    pub fn read(mut from: impl Read) -> io::Result<Greeting> {
        let mut bytes = [0; 16];
        from.read_exact(&mut bytes)?;
        let number = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        if bytes[..8] != MAGIC {
            return Err(io::ErrorKind::InvalidData.into());
        }
        Ok(Greeting { protocol: number(8), rank: number(12) })
    }
}

impl Message {
    /// Writes it.
    ///
    /// # Errors
    /// What the socket answers.
    pub fn write(&self, mut to: impl Write) -> io::Result<()> {
        let (kind, packed) = match self {
            Message::Hello(Hello { program, plan, library, address, token }) => {
                let texts = [program, plan, library, address].map(String::as_bytes);
                (0, packed(texts.into_iter().chain([token.as_slice()])))
            }
            Message::Welcome(Welcome { addresses, token, secret }) => {
                let first = [token.as_slice(), &secret.to_le_bytes()];
                (1, packed(first.into_iter().chain(addresses.iter().map(String::as_bytes))))
            }
            Message::Alive => (2, Vec::new()),
            Message::Done(Done { block, milliseconds }) => {
                to.write_all(&head(3, 8 + block.len()))?;
                to.write_all(&milliseconds.unwrap_or(f64::NAN).to_le_bytes())?;
                return to.write_all(block);
            }
            Message::Failed(why) => (4, why.as_bytes().to_vec()),
            Message::End => (5, Vec::new()),
        };
        to.write_all(&[head(kind, packed.len()), packed].concat())
    }

    /// Reads the next one.
    ///
    /// # Errors
    /// What the socket answers; [`io::ErrorKind::InvalidData`] where it is no message.
    pub fn read(mut from: impl Read) -> io::Result<Message> {
        let mut head = [0; 9];
        from.read_exact(&mut head)?;
        let [kind, length @ ..] = head;
        let length = u64::from_le_bytes(length);
        if length > if kind == 3 { LARGEST } else { MOST } {
            return Err(io::ErrorKind::InvalidData.into());
        }
        // Grows with what comes, whatever length is claimed.
        let mut bytes = Vec::new();
        if from.take(length).read_to_end(&mut bytes)? as u64 != length {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Message::of(kind, bytes).ok_or_else(|| io::ErrorKind::InvalidData.into())
    }

    fn of(kind: u8, bytes: Vec<u8>) -> Option<Message> {
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).ok();
        Some(match kind {
            0 => {
                let fields = unpacked(&bytes)?;
                let [program, plan, library, address, token] = fields.as_slice() else { return None };
                let [program, plan, library, address] = [text(program)?, text(plan)?, text(library)?, text(address)?];
                Message::Hello(Hello { program, plan, library, address, token: token.to_vec() })
            }
            1 => {
                let fields = unpacked(&bytes)?;
                let [token, secret, addresses @ ..] = fields.as_slice() else { return None };
                let addresses = addresses.iter().map(|address| text(address)).collect::<Option<Vec<String>>>()?;
                let secret = u64::from_le_bytes((*secret).try_into().ok()?);
                Message::Welcome(Welcome { addresses, token: token.to_vec(), secret })
            }
            2 => Message::Alive,
            3 => {
                let (number, block) = bytes.split_at_checked(8)?;
                let number = f64::from_le_bytes(number.try_into().ok()?);
                Message::Done(Done { block: block.to_vec(), milliseconds: Some(number).filter(|ms| ms.is_finite()) })
            }
            4 => Message::Failed(text(&bytes)?),
            5 => Message::End,
            _ => return None,
        })
    }
}

fn head(kind: u8, length: usize) -> Vec<u8> {
    [&[kind][..], &(length as u64).to_le_bytes()].concat()
}

/// Fields, each behind its length.
fn packed<'a>(fields: impl Iterator<Item = &'a [u8]>) -> Vec<u8> {
    fields.flat_map(|field| [&(field.len() as u64).to_le_bytes(), field].concat()).collect()
}

fn unpacked(mut bytes: &[u8]) -> Option<Vec<&[u8]>> {
    let mut fields = Vec::new();
    while !bytes.is_empty() {
        let (length, behind) = bytes.split_at_checked(8)?;
        let length = usize::try_from(u64::from_le_bytes(length.try_into().ok()?)).ok()?;
        let (field, behind) = behind.split_at_checked(length)?;
        fields.push(field);
        bytes = behind;
    }
    Some(fields)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_and_what_is_cut_off_is_an_error() {
        let hello = Hello {
            program: "lab 1".to_string(),
            plan: "1×2×3".to_string(),
            library: String::new(),
            address: "[::1]:80".to_string(),
            token: vec![0, 255],
        };
        let welcome =
            Welcome { addresses: vec!["a:1".to_string(), String::new()], token: Vec::new(), secret: u64::MAX };
        let messages = [
            Message::Hello(hello),
            Message::Welcome(welcome),
            Message::Alive,
            Message::Done(Done { block: vec![7; 3000], milliseconds: Some(0.125) }),
            Message::Done(Done::default()),
            Message::Failed("rank 1 is lost".to_string()),
            Message::End,
        ];
        for message in messages {
            let mut bytes = Vec::new();
            message.write(&mut bytes).unwrap();
            assert_eq!(Message::read(bytes.as_slice()).unwrap(), message);
            for end in 0..bytes.len() {
                assert!(Message::read(&bytes[..end]).is_err(), "{message:?} to {end}");
            }
        }
    }

    #[test]
    fn what_is_no_message_is_an_error_and_takes_no_room() {
        for bytes in [&b"GET / HTTP/1.1\r\n\r\n"[..], &[3, 255, 255, 255, 255, 255, 255, 255, 255], &[9; 9], &[0; 9]] {
            assert!(Message::read(bytes).is_err(), "{bytes:?}");
        }
        assert_eq!(Greeting::read(&b"GET / HTTP/1.1\r\n\r\n"[..]).unwrap_err().kind(), io::ErrorKind::InvalidData);
        let mut bytes = Vec::new();
        let greeting = Greeting { protocol: 7, rank: 3 };
        greeting.write(&mut bytes).unwrap();
        assert_eq!(Greeting::read(bytes.as_slice()).unwrap(), greeting);
    }
}
