//! Numbers by chance, in the patterns of each type.

/// What the elements of a product are like, turn by turn.
pub const KINDS: [&str; 10] =
    ["any", "near", "apart", "far apart", "small", "huge", "special", "cancelling", "zeros", "tiny sums"];

/// A small generator, the same on every machine.
pub struct Dice(u64);

/// A floating-point type: bits of its exponent and fraction, and bits behind them that do not count.
#[derive(Clone, Copy)]
struct Layout {
    exponent: u32,
    fraction: u32,
    tail: u32,
}

fn layout(kind: &str) -> Option<Layout> {
    let (exponent, fraction, tail) = match kind {
        "f16" => (5, 10, 0),
        "bf16" => (8, 7, 0),
        "tf32" => (8, 10, 13),
        "f32" => (8, 23, 0),
        "e4m3" => (4, 3, 0),
        "e5m2" => (5, 2, 0),
        "f64" => (11, 52, 0),
        _ => return None,
    };
    Some(Layout { exponent, fraction, tail })
}

/// Whose element it is.
#[derive(Clone, Copy, PartialEq)]
pub enum Side {
    Factor,
    Addend,
}

impl Dice {
    pub fn new(seed: u64) -> Dice {
        let mut dice = Dice(seed);
        dice.roll();
        dice
    }

    fn roll(&mut self) -> u32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 32) as u32
    }

    pub fn below(&mut self, limit: u64) -> u64 {
        (u64::from(self.roll()) << 16 ^ u64::from(self.roll())) % limit
    }

    fn wide(&mut self) -> u64 {
        u64::from(self.roll()) << 32 | u64::from(self.roll())
    }

    /// An element of a type, for a product of the kind `turn`.
    pub fn element(&mut self, kind: &str, turn: usize, side: Side) -> u64 {
        let Some(layout) = layout(kind) else { return self.integer(kind, turn) };
        let Layout { exponent, fraction, tail } = layout;
        let ones = (1u64 << exponent) - 1;
        let middle = ones / 2;
        let around = |dice: &mut Dice, center: u64, spread: u64| {
            (center + dice.below(spread)).saturating_sub(spread / 2).clamp(0, ones - 1)
        };
        let mut rest = match self.below(8) {
            0 => 0,
            1 => u64::MAX,
            2 => 1,
            _ => self.wide(),
        };
        let biased = match KINDS[turn % KINDS.len()] {
            "near" => around(self, middle, 3),
            "apart" => around(self, middle, 12),
            // As far apart as the sum has bits.
            "far apart" if side == Side::Addend => around(self, middle, 60),
            "far apart" => around(self, middle, 30),
            "small" => match (side, self.below(3)) {
                (Side::Addend, 0) => around(self, middle.saturating_sub(middle.min(24)), 30),
                (_, 0) => 0,
                (_, 1) => self.below(4),
                _ => self.below(ones / 4 + 1),
            },
            "huge" => ones - 1 - self.below(if exponent > 5 { ones / 2 } else { 4 }),
            "special" => match self.below(if side == Side::Addend { 24 } else { 160 }) {
                0 => {
                    rest = if self.below(2) == 0 { 0 } else { rest };
                    ones
                }
                1 => {
                    rest = 0;
                    0
                }
                _ => around(self, middle, 8),
            },
            "cancelling" => {
                rest &= if self.below(4) == 0 { u64::MAX } else { 3 << (fraction - 2) };
                around(self, middle, 2)
            }
            "zeros" => match self.below(4) {
                0 => around(self, middle, 20),
                _ => {
                    rest = 0;
                    0
                }
            },
            // Products around the least exponent of an f32 sum, where the type reaches that far.
            "tiny sums" if exponent >= 8 && side == Side::Factor => around(self, (ones - 126 - 12) / 2, 24),
            "tiny sums" if side == Side::Factor => self.below(ones / 3 + 1),
            "tiny sums" => match self.below(3) {
                0 => {
                    rest = 0;
                    0
                }
                1 => 0,
                _ => self.below(30.min(ones)),
            },
            _ => self.below(ones),
        };
        let pattern = (self.below(2) << exponent | biased) << fraction | rest & ((1 << fraction) - 1);
        // All ones of e4m3 are its only NaN, which one in 128 patterns is.
        let pattern = match (kind, pattern & 0x7f, KINDS[turn % KINDS.len()]) {
            ("e4m3", 0x7f, "special") => pattern,
            ("e4m3", 0x7f, _) => pattern ^ 1,
            _ => pattern,
        };
        pattern << tail | self.wide() & ((1 << tail) - 1)
    }

    fn integer(&mut self, kind: &str, turn: usize) -> u64 {
        let bits = kind[1..].parse().unwrap_or(32);
        let ones = u64::MAX >> (64 - bits);
        let value = match (turn % 5, self.below(4)) {
            (0, _) => self.wide(),
            // The ends, where sums saturate.
            (1, 0) => u64::MAX,
            (1, 1) => 1 << (bits - 1),
            (2, 0..3) => ones >> 1,
            (3, 0..3) => 1 << (bits - 1),
            (4, 0..3) => self.below(4),
            _ => self.wide(),
        };
        value & ones
    }
}
