//! Each rule of the sum with values worked out by hand, and chance against the slow model.

use super::factor::Factor;
use super::generation::{Arithmetic, Generation, Unit};
use super::model;
use super::tile::{COLUMNS, Columns, Rows, Sums, Tile, product};
use crate::program::Format;

use Format::{Bf16, E4m3, E5m2, F16, Tf32};

/// The sum of products in the first element of D, with all others zero.
fn sum_of(arithmetic: &Arithmetic, formats: [Format; 2], pairs: &[(u32, u32)], c: u32) -> u32 {
    let (mut a, mut b, mut sums) = (Rows::new(), Columns::new(), Sums::default());
    for term in 0..arithmetic.terms.max(pairs.len()) {
        let (x, y) = pairs.get(term).copied().unwrap_or_default();
        let [x, y] = [Factor::of(formats[0], x), Factor::of(formats[1], y)];
        for row in 0..16 {
            a.set(row, term, x.significand, x.exponent);
        }
        for column in 0..COLUMNS {
            b.set(term, column, y.significand, y.exponent);
        }
    }
    sums.iter_mut().for_each(|row| row.fill(c));
    let k = arithmetic.terms.max(pairs.len());
    product(arithmetic, &Tile { a: &a, b: &b, m: 16, k }, &mut sums);
    assert!(sums.iter().flatten().all(|sum| *sum == sums[0][0]), "all rows and columns are alike");
    sums[0][0]
}

fn hopper(format: Format, k: usize) -> Arithmetic {
    Generation::Hopper.arithmetic(Unit::Warp, [format; 2], k, false)
}

/// In f16, with f32 sums, as Hopper adds 16 products.
fn halves(pairs: &[(u32, u32)], c: f32) -> u32 {
    sum_of(&hopper(F16, 16), [F16; 2], pairs, c.to_bits())
}

const ONE: u32 = 0x3c00;
const MINUS_ONE: u32 = 0xbc00;
const INFINITY: u32 = 0x7c00;
const NAN: u32 = 0x7fff_ffff;

/// `2^power` in f16, which may be subnormal.
fn power(power: i32) -> u32 {
    if power >= -14 { ((power + 15) as u32) << 10 } else { 1 << (power + 24) }
}

fn float(bits: u32) -> f32 {
    f32::from_bits(bits)
}

#[test]
fn a_term_keeps_25_bits_below_the_largest() {
    // 1 - 2^-25 keeps its last bit, and is then cut to 24 significant bits: the largest number below 1 is 1 - 2^-24.
    assert_eq!(float(halves(&[(ONE, ONE), (power(-12), power(-13) | 0x8000)], 0.0)), 1.0 - 2f32.powi(-24));
    // 2^-26 is lost before the sum: there is nothing to borrow from.
    assert_eq!(float(halves(&[(ONE, ONE), (power(-13), power(-13) | 0x8000)], 0.0)), 1.0);
    // The same as an addend.
    assert_eq!(float(halves(&[(ONE, ONE)], -2f32.powi(-25))), 1.0 - 2f32.powi(-24));
    assert_eq!(float(halves(&[(ONE, ONE)], -2f32.powi(-26))), 1.0);
    // Bits that lie below are cut off a term that has others above.
    let three_halves = 0x3e00;
    assert_eq!(float(halves(&[(ONE, ONE), (power(-12), (power(-13) & 0x7c00) | 0x8200)], 0.0)), 1.0 - 2f32.powi(-24));
    assert_eq!(float(halves(&[(three_halves, three_halves)], 0.0)), 2.25);
}

#[test]
fn lost_bits_are_lost_towards_zero_and_one_by_one() {
    // Fifteen products of 2^-26 each are nothing beside 1, though together they are almost 2^-22.
    let mut pairs = vec![(ONE, ONE)];
    pairs.extend([(power(-13), power(-13)); 15]);
    assert_eq!(float(halves(&pairs, 0.0)), 1.0);
    pairs[0] = (ONE, MINUS_ONE);
    assert_eq!(float(halves(&pairs, 0.0)), -1.0);
    // Without the large one they count.
    assert_eq!(float(halves(&pairs[1..], 0.0)), 15.0 * 2f32.powi(-26));
}

#[test]
fn products_are_not_renormalised_before_the_largest_exponent_is_sought() {
    // 1.5 × 1.5 = 2.25 has the exponent 0: beside it 2^-25 still counts, as 2.25 - 2^-25 cut to 24 bits shows.
    let exact = 2.25f64 - 2f64.powi(-25);
    let below = f32::from_bits(2.25f32.to_bits() - 1);
    assert!(f64::from(below) < exact && exact < 2.25);
    assert_eq!(float(halves(&[(0x3e00, 0x3e00), (power(-12), power(-13) | 0x8000)], 0.0)), below);
}

#[test]
fn results_are_cut_and_so_biased_towards_zero() {
    // 1 + 2^-23 × 1.5 would round up; it is cut.
    let c = 2f32.powi(-24) + 2f32.powi(-23);
    assert_eq!(float(halves(&[(ONE, ONE)], c)), 1.0 + 2f32.powi(-23));
    assert_eq!(float(halves(&[(ONE, MINUS_ONE)], -c)), -1.0 - 2f32.powi(-23));
}

#[test]
fn the_addend_may_dominate_or_be_cut() {
    assert_eq!(float(halves(&[(ONE, ONE)], 2f32.powi(26))), 2f32.powi(26));
    assert_eq!(float(halves(&[(ONE, ONE)], 2f32.powi(23))), 2f32.powi(23) + 1.0);
    assert_eq!(float(halves(&[(power(15), power(15))], 1.0)), 2f32.powi(30));
    assert_eq!(float(halves(&[(power(15), power(15))], 128.0)), 2f32.powi(30) + 128.0);
    // 2^30 - 16 is cut to 24 bits: a step there is 64.
    assert_eq!(float(halves(&[(power(15), power(15) | 0x8000)], 32.0)), -(2f32.powi(30) - 64.0));
}

#[test]
fn zeros_never_are_the_largest_and_their_sum_is_positive() {
    assert_eq!(halves(&[(0, 0)], 0.0), 0);
    assert_eq!(halves(&[(0x8000, ONE)], -0.0), 0);
    assert_eq!(halves(&[(ONE, ONE), (ONE, MINUS_ONE)], -0.0), 0);
    // 0 × 65504 has no exponent: the smallest subnormal addend remains.
    assert_eq!(halves(&[(0, 0x7bff)], f32::from_bits(1)), 1);
    let half_sums = Generation::Hopper.arithmetic(Unit::Warp, [F16; 2], 16, true);
    assert_eq!(sum_of(&half_sums, [F16; 2], &[(0x8000, ONE)], 0x8000), 0);
}

/// So an H200 gave them. The first three are off by one where terms are lined up by a smaller exponent than the least one, the
/// others where by a larger one.
#[test]
#[rustfmt::skip]
fn terms_are_lined_up_by_no_exponent_below_that_of_the_card() {
    let cases = [
        (Bf16, "0 + 1957*9b2d + 1aac*1e7f + 9a81*1bee + a033*18c2 + 9900*2243 + 177f*1981 + 9d80*9e23 + 1921*1ea6", 0x0000_21a7),
        (Tf32, "80000000 + 99b2161d*a0800622 + 9733c26a*9775b14d + 988e398e*a10009f4 + 99801186*20fffc75", 0x8000_006d),
        (Tf32, "0 + 9cfe60cd*9a350683 + 1882af83*97ffe0e1 + 1d09a417*198dfc6d + 17bf870d*1e000422 + 9e1464e2*1c81ed78 + 197ad838*a12a71be + 1bfffaa1*1c0021d3 + 1c6ad5e2*9a7ff526", 0x8000_2705),
        (Bf16, "0 + 9c01*1b95 + 1f55*981b + 9bff*a170 + 1705*1ffb + 20d8*9b01 + 9b81*1dff + 19ff*977f + 9a80*17ed", 0x0003_4af8),
        (Tf32, "0 + 976e2f85*170022d0 + 1e7ff2a0*986a2d27 + 98537edd*9893c072 + 1a003566*1f9f4929", 0x0000_04de),
        (Tf32, "0 + 98ed2933*a0ffeb93 + 9de47090*98216aaf + 9e9575ed*1da59c1c + 18001af3*2100e89f + 9736d5b2*19a0a374 + 1840ac6e*9923c79d + 1c801a48*1cffe836 + 974f9f2d*20002e15", 0x8000_b3e3),
    ];
    let word = |digits: &str| u32::from_str_radix(digits, 16).unwrap();
    for (format, sum, wanted) in cases {
        let (c, products) = sum.split_once(" + ").unwrap();
        let factors = |product: &str| product.split_once('*').map(|(a, b)| (word(a), word(b))).unwrap();
        let pairs: Vec<(u32, u32)> = products.split(" + ").map(factors).collect();
        let found = sum_of(&hopper(format, pairs.len()), [format; 2], &pairs, word(c));
        assert_eq!(found, wanted, "{format:?} {sum}: {found:x} {wanted:x}");
    }
}

#[test]
fn subnormal_factors_have_the_least_exponent() {
    // 2^-24 in f16 counts with exponent -14 beside 2^-40: -14 - 25 = -39, so 2^-40 is lost.
    let small = power(-24);
    assert_eq!(float(halves(&[(small, ONE)], 2f32.powi(-39))), 2f32.powi(-24) + 2f32.powi(-39));
    assert_eq!(float(halves(&[(small, ONE)], 2f32.powi(-40))), 2f32.powi(-24));
    assert_eq!(float(halves(&[(small, small)], 0.0)), 2f32.powi(-48));
}

#[test]
fn subnormal_and_infinite_results() {
    let bf = |pairs: &[(u32, u32)], c: u32| sum_of(&hopper(Bf16, 16), [Bf16; 2], pairs, c);
    let two_to = |power: i32| ((power + 127) as u32) << 7;
    // 2^-74 × 2^-75 is the smallest subnormal; half of it is nothing.
    assert_eq!(bf(&[(two_to(-74), two_to(-75))], 0), 1);
    assert_eq!(bf(&[(two_to(-75), two_to(-75))], 0), 0);
    assert_eq!(bf(&[(two_to(-75), two_to(-75) | 0x8000)], 0), 0, "cut to +0");
    assert_eq!(bf(&[(two_to(-75), two_to(-75)); 2], 0), 1);
    assert_eq!(bf(&[(two_to(100), two_to(100))], 0), 0x7f80_0000);
    assert_eq!(bf(&[(two_to(100), two_to(100) | 0x8000)], 0), 0xff80_0000);
    // What would overflow on the way may still come back.
    assert_eq!(bf(&[(two_to(100), two_to(100)), (two_to(100), two_to(100) | 0x8000)], 0), 0);
    // The largest number, and one step of it: cut, not rounded up.
    assert_eq!(bf(&[(two_to(52), two_to(51))], f32::MAX.to_bits()), 0x7f7f_ffff, "2^103 is half a step");
    assert_eq!(bf(&[(two_to(52), two_to(52))], f32::MAX.to_bits()), 0x7f80_0000);
}

#[test]
fn infinities_and_nans() {
    let zero = 0;
    assert_eq!(halves(&[(INFINITY, ONE)], 0.0), 0x7f80_0000);
    assert_eq!(halves(&[(INFINITY, MINUS_ONE)], 0.0), 0xff80_0000);
    assert_eq!(halves(&[(INFINITY, INFINITY | 0x8000)], 1.0), 0xff80_0000);
    assert_eq!(halves(&[(INFINITY, ONE), (INFINITY, MINUS_ONE)], 0.0), NAN);
    assert_eq!(halves(&[(INFINITY, zero)], 0.0), NAN);
    assert_eq!(halves(&[(zero, INFINITY)], f32::INFINITY), NAN);
    assert_eq!(halves(&[(0x7c01, ONE)], 0.0), NAN);
    assert_eq!(halves(&[(0xfe00, zero)], 0.0), NAN);
    assert_eq!(halves(&[(ONE, ONE)], f32::NAN), NAN);
    assert_eq!(halves(&[(ONE, ONE)], f32::NEG_INFINITY), 0xff80_0000);
    assert_eq!(halves(&[(INFINITY, ONE)], f32::NEG_INFINITY), NAN);
    let half_sums = Generation::Hopper.arithmetic(Unit::Warp, [F16; 2], 16, true);
    assert_eq!(sum_of(&half_sums, [F16; 2], &[(INFINITY, zero)], 0), 0x7fff);
    assert_eq!(sum_of(&half_sums, [F16; 2], &[(INFINITY, MINUS_ONE)], 0), 0xfc00);
    // e4m3 has no infinity: what would be one elsewhere is 448's neighbour.
    let fp8 = Generation::Hopper.arithmetic(Unit::Group, [E4m3; 2], 32, false);
    assert_eq!(float(sum_of(&fp8, [E4m3; 2], &[(0x7e, 0x38)], 0)), 448.0);
    assert_eq!(sum_of(&fp8, [E4m3; 2], &[(0x7f, 0x38)], 0), NAN);
    assert_eq!(sum_of(&fp8, [E5m2, E4m3], &[(0x7c, 0x38)], 0), 0x7f80_0000);
}

#[test]
fn half_sums_are_rounded_to_nearest_even() {
    let half_sums = Generation::Hopper.arithmetic(Unit::Warp, [F16; 2], 16, true);
    let sum = |pairs: &[(u32, u32)], c: u32| sum_of(&half_sums, [F16; 2], pairs, c);
    // 2048 + 1 is a tie, and stays; 2048 + 3 goes up to 2052; 2048 + 1 + 2^-14 is above the tie.
    assert_eq!(sum(&[(ONE, ONE)], 0x6800), 0x6800);
    assert_eq!(sum(&[(ONE, 0x4200)], 0x6800), 0x6802);
    assert_eq!(sum(&[(ONE, ONE), (power(-14), ONE)], 0x6800), 0x6801);
    // 2048 + 1 + 2^-15 keeps no bit below 2^-14: a tie.
    assert_eq!(sum(&[(ONE, ONE), (power(-15), ONE)], 0x6800), 0x6800);
    // 65504 + 16 rounds to infinity, 65504 + 15.99 does not.
    assert_eq!(sum(&[(power(4), ONE)], 0x7bff), 0x7c00);
    assert_eq!(sum(&[(0x4bff, ONE)], 0x7bff), 0x7bff);
    // Down to the smallest subnormal; half of it is a tie that goes to zero.
    assert_eq!(sum(&[(power(-12), power(-12))], 0), 1);
    assert_eq!(sum(&[(power(-12), power(-13))], 0), 0);
    assert_eq!(sum(&[(power(-12), power(-13)), (power(-24), power(-10))], 0), 1);
}

#[test]
fn tf32_loses_its_low_bits_and_fp8_of_a_group_has_few() {
    let tf = hopper(Tf32, 8);
    let one = 1f32.to_bits();
    assert_eq!(float(sum_of(&tf, [Tf32; 2], &[(one | 0x1fff, one)], 0)), 1.0);
    assert_eq!(float(sum_of(&tf, [Tf32; 2], &[(one | 0x3fff, one)], 0)), 1.0 + 2f32.powi(-10));
    let fp8 = Generation::Hopper.arithmetic(Unit::Group, [E4m3; 2], 32, false);
    assert_eq!((fp8.terms, fp8.cut), (32, 13));
    // 256 + 2^-5 and 256 + 2^-6: 8 - 13 = -5 is the last that counts, and 13 bits are all that a result has.
    let sum = |c: f32| float(sum_of(&fp8, [E4m3; 2], &[(0x58, 0x58)], c.to_bits()));
    assert_eq!([sum(0.03125), sum(0.015625)], [256.03125, 256.0]);
}

#[test]
fn each_generation_adds_as_many_as_it_can() {
    use Generation::{Ada, Ampere, Blackwell, Hopper, Turing, Volta};
    let of = |generation: Generation, format, k| {
        let arithmetic = generation.arithmetic(Unit::Warp, [format; 2], k, false);
        (arithmetic.terms, arithmetic.cut)
    };
    assert_eq!(
        [Volta, Turing, Ampere, Ada, Hopper, Blackwell].map(|g| of(g, F16, 16)),
        [(4, 23), (8, 24), (8, 24), (8, 24), (16, 25), (16, 25)]
    );
    assert_eq!([Ampere, Ada, Hopper].map(|g| of(g, Tf32, 8)), [(4, 24), (4, 24), (8, 25)]);
    assert_eq!([Ada, Hopper, Blackwell].map(|g| of(g, E4m3, 32)), [(16, 13), (16, 25), (32, 25)]);
    assert_eq!(
        [70, 75, 86, 89, 90, 100, 120].map(Generation::of),
        [Volta, Turing, Ampere, Ada, Hopper, Blackwell, Blackwell]
    );
    // Two halves: the second begins with the first's result, of which the last bits are cut.
    let mut pairs = vec![(ONE, ONE)];
    pairs.extend([(0, 0); 7]);
    pairs.extend([(power(-13), power(-13)); 8]);
    let sum =
        |generation: Generation| sum_of(&generation.arithmetic(Unit::Warp, [F16; 2], 16, false), [F16; 2], &pairs, 0);
    assert_eq!([sum(Ampere), sum(Hopper)].map(float), [1.0; 2]);
    pairs.swap(0, 8);
    let sum =
        |generation: Generation| sum_of(&generation.arithmetic(Unit::Warp, [F16; 2], 16, false), [F16; 2], &pairs, 0);
    // Eight, now in the first half but for one, are 7 × 2^-26 as an addend of 1: below its last bit but not cut off by Hopper …
    assert_eq!([sum(Ampere), sum(Hopper)].map(float), [1.0; 2]);
}

#[test]
fn a_warp_of_hopper_multiplies_8_bit_factors_as_halves_and_adds_c_at_the_end() {
    let arithmetic = Generation::Hopper.arithmetic(Unit::Warp, [E4m3; 2], 32, false);
    assert!(arithmetic.in_halves);
    let sum = |c: f32| float(sum_of(&arithmetic, [F16; 2], &[(ONE, ONE)], c.to_bits()));
    // Rounded to nearest, as no fused sum is.
    assert_eq!(sum(2f32.powi(-23) * 1.5), 1.0 + 2f32.powi(-22));
    assert_eq!(sum(-1.0), 0.0);
    assert!(sum(f32::NAN).to_bits() == NAN);
    let half_sums = Generation::Hopper.arithmetic(Unit::Warp, [E4m3; 2], 32, true);
    let sum = |a: u32, c: u32| sum_of(&half_sums, [F16; 2], &[(a, ONE)], c);
    assert_eq!(sum(ONE, 0x6800), 0x6800);
    assert_eq!(sum(0x4200, 0x6800), 0x6802);
    assert_eq!([sum(INFINITY, 0xfc00), sum(INFINITY, ONE), sum(ONE, 0xfc00)], [0x7fff, 0x7c00, 0xfc00]);
    assert_eq!(sum(0, 0x8000), 0, "+0 and -0");
}

#[test]
fn every_number_of_8_bits_is_one_of_16() {
    for format in [E4m3, E5m2] {
        for bits in 0..=255 {
            let (narrow, wide) = (Factor::of(format, bits), Factor::of(F16, super::half_of(format, bits)));
            assert_eq!(
                (narrow.is_nan(), narrow.is_infinite()),
                (wide.is_nan(), wide.is_infinite()),
                "{format:?} {bits:x}"
            );
            let number = |factor: Factor, fraction: i32| match factor.is_zero() {
                true => 0.0,
                false => f64::from(factor.significand) * 2f64.powi(factor.exponent - fraction),
            };
            if !narrow.is_nan() && !narrow.is_infinite() {
                let fraction = if format == E4m3 { 3 } else { 2 };
                assert_eq!(number(narrow, fraction), number(wide, 10), "{format:?} {bits:x}");
            }
        }
    }
}

/// A small generator.
struct Dice(u64);

impl Dice {
    fn roll(&mut self) -> u32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 32) as u32
    }

    /// A pattern of a format: any, or with exponents that are near each other, so far below the middle; or one at an end.
    fn pattern(&mut self, format: Format, near: Option<(u32, u32)>) -> u32 {
        let (exponent, fraction, tail) = match format {
            F16 => (5, 10, 0),
            Bf16 => (8, 7, 0),
            Tf32 => (8, 10, 13),
            E4m3 => (4, 3, 0),
            E5m2 => (5, 2, 0),
            _ => (8, 23, 0),
        };
        let ones = (1 << exponent) - 1;
        let biased = match (near, self.roll() % 64) {
            (_, 0) => 0,
            (None, 1) => ones,
            (None, _) => self.roll() & ones,
            (Some((below, spread)), _) => {
                (ones / 2 + self.roll() % spread).saturating_sub(spread / 2 + below).min(ones - 1)
            }
        };
        let rest = match self.roll() % 8 {
            0 => 0,
            1 => u32::MAX,
            _ => self.roll(),
        };
        let pattern = ((self.roll() % 2) << exponent) | biased;
        (pattern << fraction | rest & ((1 << fraction) - 1)) << tail | self.roll() & ((1 << tail) - 1)
    }
}

#[test]
fn chance_and_the_slow_model_agree() {
    let cases = if cfg!(debug_assertions) { 300 } else { 3000 };
    let mut dice = Dice(5);
    let pairs = [[F16; 2], [Bf16; 2], [Tf32; 2], [E4m3; 2], [E5m2; 2], [E4m3, E5m2]];
    let mut ways = Vec::new();
    for architecture in [70, 75, 80, 89, 90, 100] {
        for formats in pairs {
            for (unit, half_sums) in
                [(Unit::Warp, false), (Unit::Warp, true), (Unit::Group, false), (Unit::Group, true)]
            {
                ways.push((Generation::of(architecture), formats, unit, half_sums));
            }
        }
    }
    for (generation, formats, unit, half_sums) in ways {
        let k = 32 / (usize::from(formats[0].bits()) / 8);
        let arithmetic = generation.arithmetic(unit, formats, k, half_sums);
        let formats = if arithmetic.in_halves { [F16; 2] } else { formats };
        let arithmetic = Arithmetic { in_halves: false, ..arithmetic };
        let sums_format = if half_sums { F16 } else { Format::F32 };
        for case in 0..cases / 25 {
            // The products of the last two are about as small as a subnormal f32, in formats that have such.
            let near = [None, Some((0, 1)), Some((0, 6)), Some((0, 40)), Some((69, 4)), Some((66, 16))][case % 6];
            let mut draw = |format| dice.pattern(format, near);
            let a: Vec<u32> = (0..k).map(|_| draw(formats[0])).collect();
            let b: Vec<u32> = (0..k).map(|_| draw(formats[1])).collect();
            let c = if case % 5 == 0 { 0 } else { draw(sums_format) };
            let pairs: Vec<(u32, u32)> = a.iter().copied().zip(b.iter().copied()).collect();
            let (ours, model) =
                (sum_of(&arithmetic, formats, &pairs, c), model::chain(&arithmetic, formats, &a, &b, c));
            assert_eq!(
                ours, model,
                "{generation:?} {formats:?} {arithmetic:?} {a:x?} {b:x?} {c:x}: {ours:x} {model:x}"
            );
        }
    }
}
