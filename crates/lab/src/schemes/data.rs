//! Numbers that are hard for parts: from even ones to such as spread over many powers of two.

use std::ops::Mul;

use gemm::Error;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha12Rng;

/// What A and B are drawn from.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Data {
    /// Reals from −1 up to 1.
    Uniform,
    /// The standard normal distribution.
    Normal,
    /// `(rand − 0.5) · exp(φ · randn)`, as the literature on such schemes has it.
    Spread(f64),
    /// Reals from 0 up to 1: nothing cancels, and whatever is always cut off adds up.
    Positive,
    /// Rows of A and columns of B that grow by 2⁶⁰ from the first to the last.
    GradedLines,
    /// Columns of A that grow by 2⁶⁰ from the first to the last, and rows of B that shrink as much.
    GradedAlongK,
    /// The second half of the products along K is the first half with the other sign, but for a millionth.
    Cancelling,
    /// Uniform numbers times 2⁻¹³⁰ in A, which are subnormal in f32, and times 2¹⁰⁰ in B.
    Subnormal,
}

impl Data {
    /// All, with the names that a table has.
    pub const ALL: [(&'static str, Data); 11] = [
        ("uniform", Data::Uniform),
        ("normal", Data::Normal),
        ("spread 0.5", Data::Spread(0.5)),
        ("spread 1", Data::Spread(1.0)),
        ("spread 2", Data::Spread(2.0)),
        ("spread 4", Data::Spread(4.0)),
        ("positive", Data::Positive),
        ("graded lines", Data::GradedLines),
        ("graded along K", Data::GradedAlongK),
        ("cancelling", Data::Cancelling),
        ("subnormal", Data::Subnormal),
    ];

    /// The one of this name; a hyphen stands for a blank: `spread-1`.
    ///
    /// # Errors
    /// [`Error::Usage`], with those that there are.
    pub fn named(name: &str) -> Result<Data, Error> {
        let known = Data::ALL.into_iter().find(|(known, _)| known.replace(' ', "-") == name.replace(' ', "-"));
        known.map(|(_, data)| data).ok_or_else(|| {
            let names = Data::ALL.map(|(name, _)| name.replace(' ', "-"));
            Error::usage(format!("`{name}` is no kind of data"), format!("there are {}", names.join(", ")))
        })
    }

    /// Rows of A and columns of B, `size` of each, each with `k` numbers, rounded to what `narrow` makes of them.
    pub fn lines<T: Copy + Mul<Output = T>>(
        self,
        size: usize,
        k: usize,
        seed: u64,
        narrow: impl Fn(f64) -> T,
    ) -> [Vec<Vec<T>>; 2] {
        let mut random = ChaCha12Rng::seed_from_u64(seed);
        [false, true].map(|of_b| {
            let mut number = |line, at| narrow(self.number(of_b, (line, size), (at, k), &mut random));
            let mut lines: Vec<Vec<T>> = (0..size).map(|line| (0..k).map(|at| number(line, at)).collect()).collect();
            if self == Data::Cancelling {
                for line in &mut lines {
                    let half = k / 2;
                    let sign = narrow(if of_b { 1.0 } else { -1.0 + 1e-6 });
                    (0..half).for_each(|at| line[half + at] = sign * line[at]);
                }
            }
            lines
        })
    }

    fn number(self, of_b: bool, line: (usize, usize), at: (usize, usize), random: &mut ChaCha12Rng) -> f64 {
        let uniform: f64 = random.random_range(-1.0..1.0);
        let share = |(at, of): (usize, usize)| 60.0 * (at as f64 / of as f64 - 0.5);
        match self {
            Data::Uniform | Data::Cancelling => uniform,
            Data::Normal => normal(random),
            Data::Spread(phi) => uniform / 2.0 * (phi * normal(random)).exp(),
            Data::Positive => uniform.abs(),
            Data::GradedLines => uniform * share(line).exp2(),
            Data::GradedAlongK => uniform * (if of_b { -share(at) } else { share(at) }).exp2(),
            Data::Subnormal => uniform * (if of_b { 100.0f64 } else { -130.0 }).exp2(),
        }
    }
}

/// By Box and Muller.
fn normal(random: &mut ChaCha12Rng) -> f64 {
    let (radius, angle): (f64, f64) = (random.random_range(f64::MIN_POSITIVE..1.0), random.random_range(0.0..1.0));
    (-2.0 * radius.ln()).sqrt() * (std::f64::consts::TAU * angle).cos()
}
