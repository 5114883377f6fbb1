//! The formats of C's `printf`.

/// One conversion of a format, or the text between two.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Piece {
    /// Text to show as it stands.
    plain: String,
    flags: Flags,
    width: usize,
    precision: Option<usize>,
    conversion: char,
    pub value: Value,
}

#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct Flags {
    left: bool,
    plus: bool,
    space: bool,
    alternate: bool,
    zero: bool,
}

/// What a conversion shows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Value {
    None,
    Signed(i64),
    Unsigned(u64),
    Float(f64),
    Character(u8),
    /// The address of a text.
    Text(u64),
}

/// The pieces of a format.
pub(crate) struct Pieces;

impl Pieces {
    /// Splits a format; `next` gives the next argument of so many bytes.
    pub fn of(format: &str, mut next: impl FnMut(u64) -> u64) -> Vec<Piece> {
        let mut pieces = Vec::new();
        let mut rest = format;
        while let Some(at) = rest.find('%') {
            if at > 0 {
                pieces.push(Piece::text(&rest[..at]));
            }
            let (piece, length) = Piece::conversion(&rest[at..], &mut next);
            pieces.push(piece);
            rest = &rest[at + length..];
        }
        if !rest.is_empty() {
            pieces.push(Piece::text(rest));
        }
        pieces
    }
}

impl Piece {
    fn text(plain: &str) -> Piece {
        let (flags, conversion, value) = (Flags::default(), '%', Value::None);
        Piece { plain: plain.to_string(), flags, width: 0, precision: None, conversion, value }
    }

    /// The conversion at the start of `text`, and its length. What is none is shown as it stands.
    fn conversion(text: &str, next: &mut impl FnMut(u64) -> u64) -> (Piece, usize) {
        let bytes = text.as_bytes();
        let mut at = 1;
        let mut flags = Flags::default();
        while let Some(flag) = bytes.get(at) {
            match flag {
                b'-' => flags.left = true,
                b'+' => flags.plus = true,
                b' ' => flags.space = true,
                b'#' => flags.alternate = true,
                b'0' => flags.zero = true,
                _ => break,
            }
            at += 1;
        }
        let mut number = |at: &mut usize| {
            if bytes.get(*at) == Some(&b'*') {
                *at += 1;
                return Some(next(4) as u32 as i32);
            }
            let start = *at;
            while bytes.get(*at).is_some_and(u8::is_ascii_digit) {
                *at += 1;
            }
            text[start..*at].parse::<i32>().ok()
        };
        let width = number(&mut at).unwrap_or(0);
        flags.left |= width < 0;
        let precision = match bytes.get(at) {
            Some(b'.') => {
                at += 1;
                usize::try_from(number(&mut at).unwrap_or(0)).ok()
            }
            _ => None,
        };
        let start = at;
        while bytes.get(at).is_some_and(|c| b"hlLqjzt".contains(c)) {
            at += 1;
        }
        let length = &text[start..at];
        let wide = length.contains(['l', 'q', 'j', 'z', 't', 'L']);
        let conversion = bytes.get(at).copied().map_or('\0', char::from);
        let value = match conversion {
            'd' | 'i' if wide => Value::Signed(next(8) as i64),
            'd' | 'i' => Value::Signed(match (next(4) as u32 as i32, length) {
                (value, "hh") => i64::from(value as i8),
                (value, "h") => i64::from(value as i16),
                (value, _) => i64::from(value),
            }),
            'u' | 'x' | 'X' | 'o' if wide => Value::Unsigned(next(8)),
            'u' | 'x' | 'X' | 'o' => Value::Unsigned(match (next(4), length) {
                (value, "hh") => value & 0xff,
                (value, "h") => value & 0xffff,
                (value, _) => value & 0xffff_ffff,
            }),
            'f' | 'F' | 'e' | 'E' | 'g' | 'G' | 'a' | 'A' => Value::Float(f64::from_bits(next(8))),
            'c' => Value::Character(next(4) as u8),
            's' => Value::Text(next(8)),
            'p' => Value::Unsigned(next(8)),
            '%' => return (Piece::text("%"), at + 1),
            _ => return (Piece::text(&text[..at]), at),
        };
        let (width, plain) = ((width.unsigned_abs() as usize).min(4096), String::new());
        let precision = precision.map(|n| n.min(4096));
        (Piece { plain, flags, width, precision, conversion, value }, at + 1)
    }

    /// Shows the piece, which is no text in memory.
    pub fn show(&self, out: &mut String) {
        let signed = |negative: bool| match (negative, self.flags.plus, self.flags.space) {
            (true, ..) => "-",
            (_, true, _) => "+",
            (_, _, true) => " ",
            _ => "",
        };
        match self.value {
            Value::None | Value::Text(_) => out.push_str(&self.plain),
            Value::Character(byte) => self.pad("", &char::from(byte).to_string(), false, out),
            Value::Signed(value) => {
                let digits = self.digits(value.unsigned_abs().to_string());
                self.pad(signed(value < 0), &digits, self.precision.is_none(), out);
            }
            Value::Unsigned(value) => {
                let (prefix, digits) = match self.conversion {
                    'x' if self.flags.alternate && value != 0 => ("0x", format!("{value:x}")),
                    'x' => ("", format!("{value:x}")),
                    'X' if self.flags.alternate && value != 0 => ("0X", format!("{value:X}")),
                    'X' => ("", format!("{value:X}")),
                    'o' if self.flags.alternate && value != 0 => ("0", format!("{value:o}")),
                    'o' => ("", format!("{value:o}")),
                    'p' => ("0x", format!("{value:x}")),
                    _ => ("", value.to_string()),
                };
                self.pad(prefix, &self.digits(digits), self.precision.is_none(), out);
            }
            Value::Float(value) => {
                let sign = signed(value.is_sign_negative() && !value.is_nan());
                let magnitude = value.abs();
                let text = match self.conversion.to_ascii_lowercase() {
                    _ if value.is_nan() => "nan".to_string(),
                    _ if value.is_infinite() => "inf".to_string(),
                    'f' => format!("{magnitude:.*}", self.precision.unwrap_or(6)),
                    'e' => exponential(magnitude, self.precision.unwrap_or(6)),
                    'g' => shortest(magnitude, self.precision.unwrap_or(6).max(1), self.flags.alternate),
                    _ => hexadecimal(magnitude),
                };
                let text = if self.conversion.is_ascii_uppercase() { text.to_uppercase() } else { text };
                self.pad(sign, &text, value.is_finite(), out);
            }
        }
    }

    /// Shows a text that was found in memory.
    pub fn show_text(&self, text: &str, out: &mut String) {
        let text: String = text.chars().take(self.precision.unwrap_or(usize::MAX)).collect();
        self.pad("", &text, false, out);
    }

    /// At least as many digits as the precision asks for; none for a 0 of precision 0.
    fn digits(&self, digits: String) -> String {
        match self.precision {
            Some(0) if digits == "0" => String::new(),
            Some(least) => format!("{digits:0>least$}"),
            None => digits,
        }
    }

    fn pad(&self, sign: &str, text: &str, zeros: bool, out: &mut String) {
        let missing = self.width.saturating_sub(sign.chars().count() + text.chars().count());
        match (self.flags.left, self.flags.zero && zeros) {
            (true, _) => *out += &format!("{sign}{text}{}", " ".repeat(missing)),
            (_, true) => *out += &format!("{sign}{}{text}", "0".repeat(missing)),
            _ => *out += &format!("{}{sign}{text}", " ".repeat(missing)),
        }
    }
}

/// `1.5e+00`: C writes a sign and at least two digits.
fn exponential(value: f64, precision: usize) -> String {
    let text = format!("{value:.precision$e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    format!("{mantissa}e{}{:02}", if exponent < 0 { '-' } else { '+' }, exponent.abs())
}

/// `%g`: the shorter of both, without zeros at the end.
fn shortest(value: f64, precision: usize, keep_zeros: bool) -> String {
    let rounded = exponential(value, precision - 1);
    let exponent: i32 = rounded.split_once('e').and_then(|(_, e)| e.parse().ok()).unwrap_or(0);
    let trim = |text: String| match text.contains('.') && !keep_zeros {
        true => text.trim_end_matches('0').trim_end_matches('.').to_string(),
        false => text,
    };
    if exponent < -4 || exponent >= precision as i32 {
        let (mantissa, power) = rounded.split_once('e').unwrap_or((&rounded, "+00"));
        return format!("{}e{power}", trim(mantissa.to_string()));
    }
    trim(format!("{value:.*}", (precision as i32 - 1 - exponent).max(0) as usize))
}

/// `%a`: the mantissa's bits in hexadecimal.
fn hexadecimal(value: f64) -> String {
    let bits = value.to_bits();
    let (fraction, exponent) = (bits & ((1 << 52) - 1), (bits >> 52 & 0x7ff) as i32);
    let (lead, power) = match (exponent, fraction) {
        (0, 0) => (0, 0),
        (0, _) => (0, -1022),
        _ => (1, exponent - 1023),
    };
    let digits = format!("{fraction:013x}");
    let digits = digits.trim_end_matches('0');
    let point = if digits.is_empty() { "" } else { "." };
    format!("0x{lead}{point}{digits}p{power:+}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(format: &str, arguments: &[u64]) -> String {
        let mut arguments = arguments.iter();
        let mut out = String::new();
        for piece in Pieces::of(format, |_| *arguments.next().unwrap_or(&0)) {
            match piece.value {
                Value::Text(_) => piece.show_text("word", &mut out),
                _ => piece.show(&mut out),
            }
        }
        out
    }

    #[test]
    fn formats_are_those_of_c() {
        let f = |x: f64| x.to_bits();
        for (format, arguments, wanted) in [
            ("%d|%5d|%-5d|%05d|%+d|% d", &[7, 7, 7, 7, 7, 7][..], "7|    7|7    |00007|+7| 7"),
            ("%d %i", &[0xffff_ffff, 0x8000_0000], "-1 -2147483648"),
            ("%u %x %X %o %#x %#o", &[0xffff_ffff, 255, 255, 8, 255, 8], "4294967295 ff FF 10 0xff 010"),
            ("%lld %llu %lx", &[u64::MAX, u64::MAX, 1 << 40], "-1 18446744073709551615 10000000000"),
            ("%hhd %hu", &[0x1ff, 0x1_0001], "-1 1"),
            ("%.3d|%8.3d|%.0d|%08.3d", &[5, 5, 0, 5], "005|     005||     005"),
            (
                "%f %.2f %8.3f|%-8.1f|%08.2f",
                &[f(1.5), f(2.675), f(3.25), f(1.0), f(-1.5)],
                "1.500000 2.67    3.250|1.0     |-0001.50",
            ),
            ("%e %E %.0e", &[f(12345.678), f(0.00012), f(5.0)], "1.234568e+04 1.200000E-04 5e+00"),
            (
                "%g %g %g %g %g",
                &[f(0.0001), f(0.00001), f(123456.0), f(1234567.0), f(0.5)],
                "0.0001 1e-05 123456 1.23457e+06 0.5",
            ),
            ("%f %f %5.1f|%g", &[f(f64::INFINITY), f(f64::NAN), f(-f64::INFINITY), f(-0.0)], "inf nan  -inf|-0"),
            ("%a %a", &[f(1.5), f(0.0)], "0x1.8p+0 0x0p+0"),
            ("%c%c %s|%6s|%-6s|%.2s", &[104, 105, 0, 0, 0, 0], "hi word|  word|word  |wo"),
            ("%*d|%-*d|%.*f", &[4, 7, 4, 7, 1, f(2.25)], "   7|7   |2.2"),
            ("100%% %p", &[16], "100% 0x10"),
            ("%", &[], "%"),
            ("%y %5", &[], "%y %5"),
        ] {
            assert_eq!(printed(format, arguments), wanted, "{format}");
        }
    }
}
