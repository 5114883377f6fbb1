//! What launches took at the shapes that are the nearest on record: by how much predicted times are corrected.
//!
//! What launches took beyond what their terms say changes little from a shape to its neighbours. A correction is a weighted mean of what is
//! known of these: the weights are those of a Gaussian process (kriging), by how alike two shapes are. They make little of
//! what is far away, and of two shapes that say the same no more than of one. Where nothing is near, nothing is corrected.

use std::cell::RefCell;

use gemm::{Dtype, Shape};
use serde::{Deserialize, Serialize};

/// Shapes by which a time is corrected, at most.
const NEAREST: usize = 32;
/// Shapes among which those are looked for; a configuration may have been measured at some of them alone. No more than bits of a mask.
const LOOKED_AT: usize = 64;
/// The factor between two sizes, as a power of 2, that counts as much as one matrix being ragged in one shape and not in the other.
const DOUBLINGS: f64 = 4.0;
/// Rows of a tile, and how much more it counts how many of these there are than how many rows: a row more than a tile has costs another.
const TILE: u32 = 64;
const MORE: f64 = 2.0;
/// How much less it counts that rows begin in the middle of a line, or of a sector.
const LESS: f64 = 3.0;
/// The share of chance in what is known of a shape, relative to what its neighbours have in common with it.
const CHANCE: f64 = 0.2;
/// A percent of a logarithm, in which corrections are kept; the largest; and the character that stands for none.
const STEP: f64 = 0.01;
const MOST: i8 = 45;
const NONE: char = 'P';
const UNKNOWN: char = ' ';

/// The shapes at which the configurations of a type were measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Text", into = "Text")]
pub struct Surveyed {
    /// Element type.
    pub dtype: Dtype,
    shapes: Vec<Shape>,
    places: Vec<Place>,
}

/// The same as it stands in a file: `300x17x4095 64x5x48`.
#[derive(Clone, Serialize, Deserialize)]
struct Text {
    dtype: Dtype,
    shapes: String,
}

/// Where a shape lies: shapes are alike whose places are near each other.
type Place = [f64; 10];

/// What a configuration took beyond its terms, at each of the shapes of its type: percents of the logarithm of the ratio.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Beyond(Vec<Option<i8>>);

/// The surroundings of a shape.
#[derive(Debug)]
pub struct Near {
    /// The shape.
    pub shape: Shape,
    /// Those of the survey whose B was stored as N × K, where the product's is.
    pub by_columns: Option<Box<Near>>,
    /// Shapes on record, the nearest first: their numbers.
    numbers: Vec<usize>,
    /// How alike each is to the shape, and to each of the others.
    alike: Vec<f64>,
    among: Vec<Vec<f64>>,
    /// The weights of those that a configuration was measured at, by a bit for each: most configurations have the same.
    weights: RefCell<Vec<(u64, Vec<f64>)>>,
}

impl Surveyed {
    /// Shapes of a type.
    pub fn new(dtype: Dtype, shapes: Vec<Shape>) -> Surveyed {
        let places = shapes.iter().map(|shape| place(dtype, shape)).collect();
        Surveyed { dtype, shapes, places }
    }

    /// What is near a shape.
    pub fn near(&self, shape: &Shape) -> Near {
        let here = place(self.dtype, shape);
        let mut found: Vec<(usize, f64)> = self.places.iter().map(|place| distance(place, &here)).enumerate().collect();
        let nearer = |a: &(usize, f64), b: &(usize, f64)| a.1.total_cmp(&b.1).then(a.0.cmp(&b.0));
        if found.len() > LOOKED_AT {
            found.select_nth_unstable_by(LOOKED_AT - 1, nearer);
            found.truncate(LOOKED_AT);
        }
        found.sort_unstable_by(nearer);
        let numbers: Vec<usize> = found.iter().map(|&(number, _)| number).collect();
        let from = |a: usize| numbers.iter().map(move |&b| alike(distance(&self.places[a], &self.places[b])));
        let among = numbers.iter().map(|&a| from(a).collect()).collect();
        let alike = found.iter().map(|&(_, distance)| alike(distance)).collect();
        Near { shape: *shape, by_columns: None, numbers, alike, among, weights: RefCell::default() }
    }
}

impl Near {
    /// A shape of whose surroundings nothing is known.
    pub fn nothing(shape: &Shape) -> Near {
        let (numbers, alike, among) = Default::default();
        Near { shape: *shape, by_columns: None, numbers, alike, among, weights: RefCell::default() }
    }

    /// The factor by which a configuration probably takes longer here than its terms say.
    pub fn factor(&self, beyond: &Beyond) -> f64 {
        let known = self.numbers.iter().map(|&number| beyond.0.get(number).copied().flatten());
        let known: Vec<(usize, i8)> = known.enumerate().filter_map(|(i, it)| Some((i, it?))).take(NEAREST).collect();
        let mask = known.iter().fold(0, |mask, (i, _)| mask | 1_u64 << i);
        let mut weights = self.weights.borrow_mut();
        let place = weights.iter().position(|(other, _)| *other == mask).unwrap_or_else(|| {
            let of: Vec<usize> = known.iter().map(|&(i, _)| i).collect();
            weights.push((mask, self.weights(&of)));
            weights.len() - 1
        });
        let sum: f64 = weights[place].1.iter().zip(&known).map(|(weight, &(_, it))| weight * f64::from(it)).sum();
        (STEP * sum).exp()
    }

    /// The weights w of some neighbours: (alike to each other + chance) · w = alike to the shape. The matrix is symmetric
    /// and positive definite, so no row needs to be exchanged.
    fn weights(&self, of: &[usize]) -> Vec<f64> {
        let mut w: Vec<f64> = of.iter().map(|&i| self.alike[i]).collect();
        let mut a: Vec<Vec<f64>> = of.iter().map(|&i| of.iter().map(|&j| self.among[i][j]).collect()).collect();
        a.iter_mut().enumerate().for_each(|(i, row)| row[i] += CHANCE);
        for i in 0..of.len() {
            let (above, below) = a.split_at_mut(i + 1);
            for (row, value) in below.iter_mut().zip(i + 1..) {
                let factor = row[i] / above[i][i];
                row.iter_mut().zip(&above[i]).skip(i).for_each(|(a, b)| *a -= factor * b);
                w[value] -= factor * w[i];
            }
        }
        for i in (0..of.len()).rev() {
            let known: f64 = (i + 1..of.len()).map(|j| a[i][j] * w[j]).sum();
            w[i] = (w[i] - known) / a[i][i];
        }
        w
    }
}

impl Beyond {
    /// Of each shape what was measured and what the terms say, where it was measured.
    pub fn of(times: impl Iterator<Item = Option<(f64, f64)>>) -> Beyond {
        let most = STEP * f64::from(MOST);
        let percent = |(measured, terms): (f64, f64)| ((measured / terms).ln().clamp(-most, most) / STEP).round() as i8;
        Beyond(times.map(|both| both.map(percent)).collect())
    }
}

/// A size's place is its logarithm, and so is that of the tiles' rows. Beside it stands how rows of A and of B lie: no whole vectors of 16 bytes, no
/// whole lines, no whole sectors.
fn place(dtype: Dtype, shape: &Shape) -> Place {
    let size = |size: u32| f64::from(size).log2() / DOUBLINGS;
    let amiss = |columns: u32, of: u64| {
        f64::from(u8::from(!(u64::from(columns) * dtype.input.bytes() as u64).is_multiple_of(of)))
    };
    let Shape { m, n, k } = *shape;
    let [[a, a_line, a_sector], [b, b_line, b_sector]] = [k, n].map(|row| [16, 128, 32].map(|of| amiss(row, of)));
    let tiles = MORE * size(m.div_ceil(TILE));
    [size(m), size(n), size(k), tiles, a, b, a_line / LESS, b_line / LESS, a_sector / LESS, b_sector / LESS]
}

fn distance(a: &Place, b: &Place) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt()
}

/// From 1, for the same place, to 0: Matérn's function, whose slope has no jumps.
fn alike(distance: f64) -> f64 {
    let far = 3.0_f64.sqrt() * distance;
    (1.0 + far) * (-far).exp()
}

impl From<Surveyed> for Text {
    fn from(surveyed: Surveyed) -> Text {
        let shapes = surveyed.shapes.iter().map(|Shape { m, n, k }| format!("{m}x{n}x{k}"));
        Text { dtype: surveyed.dtype, shapes: shapes.collect::<Vec<_>>().join(" ") }
    }
}

impl TryFrom<Text> for Surveyed {
    type Error = String;

    fn try_from(text: Text) -> Result<Surveyed, String> {
        let shape = |word: &str| {
            let sizes: Vec<u32> = word.split('x').filter_map(|size| size.parse().ok()).collect();
            match sizes[..] {
                [m, n, k] => Ok(Shape { m, n, k }),
                _ => Err(format!("`{word}` is no shape MxNxK")),
            }
        };
        Ok(Surveyed::new(text.dtype, text.shapes.split_whitespace().map(shape).collect::<Result<_, _>>()?))
    }
}

/// A character for each shape: [`NONE`] for as long as the terms say, the next one for one percent longer, and so on.
impl From<Beyond> for String {
    fn from(beyond: Beyond) -> String {
        let character = |percent: i8| (NONE as u8).saturating_add_signed(percent).into();
        beyond.0.into_iter().map(|percent| percent.map_or(UNKNOWN, character)).collect()
    }
}

impl TryFrom<String> for Beyond {
    type Error = String;

    fn try_from(text: String) -> Result<Beyond, String> {
        let percent = |character: char| match i32::from(character as u16) - i32::from(NONE as u16) {
            _ if character == UNKNOWN => Ok(None),
            percent if percent.unsigned_abs() <= MOST as u32 => Ok(Some(percent as i8)),
            _ => Err(format!("`{character}` stands for no percents")),
        };
        text.chars().map(percent).collect::<Result<_, _>>().map(Beyond)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(m: u32, n: u32, k: u32) -> Shape {
        Shape { m, n, k }
    }

    /// Shapes at which a kernel takes longer by a third where K is large, and not where it is small.
    fn known() -> (Surveyed, Beyond) {
        let shapes: Vec<Shape> = (0..60).map(|i| shape(64 << (i % 4), 64 << (i / 4 % 3), 16 << (i / 12))).collect();
        let times = shapes.iter().map(|shape| Some((if shape.k >= 64 { 1.3 } else { 1.0 }, 1.0)));
        let beyond = Beyond::of(times);
        (Surveyed::new(Dtype::F32, shapes), beyond)
    }

    #[test]
    fn neighbours_correct_and_what_is_far_does_not() {
        let (surveyed, beyond) = known();
        let at = |m, n, k| surveyed.near(&shape(m, n, k)).factor(&beyond);
        assert!((at(96, 96, 192) - 1.3).abs() < 0.03, "{}", at(96, 96, 192));
        assert!((at(96, 96, 16) - 1.0).abs() < 0.03, "{}", at(96, 96, 16));
        // 8192 is 64 times as much as the largest K on record, and odd rows are no neighbours of even ones.
        assert!((at(8191, 8191, 8191) - 1.0).abs() < 0.05, "{}", at(8191, 8191, 8191));
        assert_eq!(Near::nothing(&shape(96, 96, 192)).factor(&beyond), 1.0);
        assert_eq!(surveyed.near(&shape(96, 96, 192)).factor(&Beyond::default()), 1.0);
    }

    #[test]
    fn a_configuration_that_was_measured_at_some_shapes_is_corrected_by_these() {
        let (surveyed, beyond) = known();
        let half = Beyond(beyond.0.iter().enumerate().map(|(i, it)| it.filter(|_| i % 2 == 0)).collect());
        let near = surveyed.near(&shape(96, 96, 192));
        let [all, some] = [&beyond, &half].map(|beyond| near.factor(beyond));
        assert!((some - 1.3).abs() < 0.05 && some != all, "{some} {all}");
        assert_eq!(near.factor(&beyond), all, "in whatever order they are asked for");
    }

    #[test]
    fn what_is_written_is_read() {
        let (surveyed, _) = known();
        let beyond = Beyond(vec![Some(0), None, Some(-45), Some(45), Some(12)]);
        let text = serde_json::to_string(&(&surveyed, &beyond)).unwrap();
        assert!(text.ends_with(r#","P #}\\"]"#), "{text}");
        assert_eq!(serde_json::from_str::<(Surveyed, Beyond)>(&text).unwrap(), (surveyed, beyond));
        let refused = |text: &str| serde_json::from_str::<Beyond>(text).unwrap_err().to_string();
        assert!(refused(r#""P~""#).contains("`~` stands for no percents"));
        let refused = serde_json::from_str::<Surveyed>(r#"{"dtype":"f32","shapes":"1x2"}"#).unwrap_err().to_string();
        assert!(refused.contains("`1x2` is no shape MxNxK"), "{refused}");
    }
}
