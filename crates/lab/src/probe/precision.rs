//! What is wrong where every product is summed once: what is added, signs, fractions, and how many bits are kept.

use gemm::matrix::Matrix;
use gemm::{Element, Error};

use super::{Probe, alone, filled, holds};

/// Types by the bits that a number's significand has.
const BITS: [(u32, &str); 3] = [(8, "bf16"), (11, "f16"), (24, "f32")];

impl Probe<'_> {
    /// What may be wrong where each product is summed once.
    pub fn beyond_the_product(&self) -> Result<String, Error> {
        let zeros = |like: &Matrix| filled(like, |_, _| 0.0);
        let of_zeros = |c| self.launched(zeros(&self.plain.a)?, zeros(&self.plain.b)?, c);
        let beta = self.plain.form.beta;
        let name = self.added;
        let what = if beta == 1.0 { name.to_string() } else { format!("beta * {name}") };
        if beta != 0.0 {
            let times = of_zeros(1.0)?.at(0, 0) / beta;
            if (times - 1.0).abs() > 1e-2 {
                return Ok(match times {
                    0.0 => format!("A * B is right, and {what} is not added to it"),
                    _ if self.plain.form.alpha != 1.0 && (times - self.plain.form.alpha).abs() < 1e-3 => {
                        format!("A * B is right, and beta * {name} is multiplied by alpha, too")
                    }
                    _ if beta != 1.0 && (times * beta - 1.0).abs() < 1e-3 => {
                        format!("A * B is right, and {name} is added to it without beta")
                    }
                    _ if times > 1.5 && (times - times.round()).abs() < 1e-3 => format!(
                        "A * B is right, and {what} is added {times:.0} times: where several blocks sum a part of K each (split-K), or a loop stores \
                         several times, one alone adds it, as that of `blockIdx.z == 0`"
                    ),
                    _ if beta != 1.0 && (times / beta - 1.0).abs() < 1e-3 => {
                        format!("A * B is right, and {name} is multiplied by beta twice before it is added")
                    }
                    _ => format!("A * B is right, and {what} is added {times:.3} times"),
                });
            }
        }
        if let Some(text) = self.signs()? {
            return Ok(text);
        }
        let right = match self.whole {
            true => "every product is summed once",
            false => "every product is summed once, and small whole numbers come out right",
        };
        let coarse = self.sums.iter().find(|summed| summed.input == "tf32");
        if let Some(summed) = coarse.filter(|_| self.plain.dtype.input == Element::F32) {
            return Ok(format!(
                "{right}: factors are cut to tf32 ({}); `--dtype tf32` checks for that",
                summed.instruction
            ));
        }
        let what = match (self.wraps()?, self.loses_fractions()?, self.bits()?) {
            (Some(text), ..) => text,
            (_, true, _) => "0.5 * 1 comes as a whole number: is the sum, or a factor, kept in an `int`?".to_string(),
            (.., Some(text)) => text,
            _ if self.whole => {
                "small whole numbers come out wrong all the same: what is done to the sum besides (a bias, an activation, a scale), by each block that has a part of \
                 it, or does something depend on what the elements are, as where zeros are skipped?"
                    .to_string()
            }
            _ => "is the sum, or a part of it, kept in a type of fewer bits?".to_string(),
        };
        Ok(format!("{right}: {what}"))
    }

    /// What comes of a negative factor alone.
    fn signs(&self) -> Result<Option<String>, Error> {
        let minus = |at| move |row, column| -alone(at)(row, column);
        let cases = [
            ("A[0][0]", self.a(minus((0, 0)))?, self.b(|_, _| 1.0)?),
            ("B[0][0]", self.a(|_, _| 1.0)?, self.b(minus((0, 0)))?),
        ];
        for (name, a, b) in cases {
            let got = self.launched(a, b, 0.0)?.at(0, 0) / self.plain.form.alpha;
            if (got + 1.0).abs() < 1e-3 {
                continue;
            }
            let why = match got {
                255.0 => "is a signed byte taken as an unsigned one?",
                _ if self.plain.dtype.input == Element::S8 => {
                    "bytes that are put together in a word are cut to 8 bits each, `(x & 0xff) << 8`, or the sign of one fills those above it"
                }
                _ => "is a sign lost on the way?",
            };
            return Ok(Some(format!(
                "positive factors come out right; with {name} = -1 alone, C[0][0] is {got}: {why}"
            )));
        }
        Ok(None)
    }

    /// Whether large whole sums are off by a power of two.
    fn wraps(&self) -> Result<Option<String>, Error> {
        if self.plain.dtype.input != Element::S8 {
            return Ok(None);
        }
        let wanted = 127.0 * 127.0 * f64::from(self.plain.shape.k);
        let c = self.launched(self.a(|_, _| 127.0)?, self.b(|_, _| 127.0)?, 0.0)?;
        let off = (wanted - c.at(0, 0)) as i64;
        let bits = [16, 8].into_iter().find(|bits| off != 0 && off % (1 << bits) == 0);
        Ok(bits.map(|bits| {
            format!("large sums are off by multiples of 2^{bits}: they are kept in {bits} bits, and need 32")
        }))
    }

    fn loses_fractions(&self) -> Result<bool, Error> {
        if matches!(self.plain.dtype.input, Element::S8) {
            return Ok(false);
        }
        for [a, b] in [[1.0, 0.5], [0.5, 1.0]] {
            let one = alone((0, 0));
            let c = self.launched(self.a(|row, step| a * one(row, step))?, self.b(|_, _| b)?, 0.0)?;
            if (c.at(0, 0) / self.plain.form.alpha - 0.5).abs() > 0.1 {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// In how many bits sums are kept, or factors: a power of two and a 1 beside it tell.
    fn bits(&self) -> Result<Option<String>, Error> {
        let (k, output) = (self.plain.shape.k as usize, self.plain.dtype.output);
        for (bits, name) in BITS {
            let large = f64::from(1u32 << bits);
            let fits = |like: &Matrix| filled(like, |_, _| large).is_ok_and(|full| full.at(0, 0) == large);
            if k < 2 || output.name() == name || !fits(&self.plain.a) || !holds(&self.plain.c, 1 << bits) {
                continue;
            }
            // No more than would make the next power of two, which more bits may hold.
            let ones = (k - 1).min(1 << bits);
            let first = |row: usize, step: usize| match (row, step) {
                (0, 0) => large,
                _ => f64::from(u8::from(step <= ones)),
            };
            let c = self.launched(self.a(first)?, self.b(|_, _| 1.0)?, 0.0)?;
            let lost = large + ones as f64 - c.at(0, 0) / self.plain.form.alpha;
            if lost >= 1.0 {
                return Ok(Some(format!(
                    "{large} + 1 + … + 1 loses {lost}: sums are kept in {bits} bits, as {name} has, and a wider type is needed"
                )));
            }
            // One more bit than the type has, of a factor that has it.
            let fine = 1.0 + 1.0 / large;
            let keeps = |like: &Matrix| filled(like, |_, _| fine).is_ok_and(|full| full.at(0, 0) == fine);
            if keeps(&self.plain.a) && keeps(&self.plain.c) {
                let c = self.launched(self.a(|_, _| fine)?, self.b(alone((0, 0)))?, 0.0)?;
                if c.at(0, 0) / self.plain.form.alpha == 1.0 {
                    // Where 1 is taken away, a sum that is cut in the end shows what a factor had.
                    let both = |_, step| if step == 0 { fine } else { -f64::from(u8::from(step == 1)) };
                    let c = self.launched(self.a(both)?, self.b(|_, _| 1.0)?, 0.0)?;
                    let what = match k > 1 && c.at(0, 0) != 0.0 {
                        true => "the sum, before it is stored,",
                        false => "a factor, or each product,",
                    };
                    return Ok(Some(format!(
                        "(1 + 2^-{bits}) * 1 comes as 1: {what} is cut to {bits} bits, as {name} has"
                    )));
                }
            }
        }
        Ok(None)
    }
}
