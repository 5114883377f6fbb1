//! Copies that are made before a launch, of matrices that no tensor map can say where they lie.
//!
//! A tensor map wants rows a whole number of 16 bytes apart. Where rows are not, such a matrix is copied first, each row to the
//! beginning of a line; C is written to such a place, and copied from there behind the launch. What is beyond a row's end in the copy is
//! never read, because a map says how many columns there are.
//!
//! Most kernels with tensor copies know no other way to a matrix. Some do, an element at a time, which is slow
//! ([`Parameter::Mapped`](crate::Parameter::Mapped)): for these A and B are copied where the product is large, and C never.

use std::fmt;

use serde::Serialize;

use crate::mapped::{Mapped, Role};
use crate::shape::Shape;
use crate::task::Operand;
use crate::text::count;

/// Bytes of a line: rows of a copy begin where one begins.
const LINE: u64 = 128;
/// Products with fewer multiply-adds are done as the matrices lie: there, a second launch costs more than it saves.
pub const LEAST: u64 = 16_000_000;

/// A matrix that is copied: A or B before a launch, C behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Copied {
    /// Which one.
    pub role: Role,
    /// Bytes of an element.
    pub element: u32,
    /// Its rows, as it is stored.
    pub rows: u32,
    /// Its columns, as it is stored.
    pub columns: u32,
    /// Elements from the beginning of a row to that of the next.
    pub leading: u64,
    /// The same in the copy.
    pub pitch: u64,
}

/// Whether a matrix of a product of these sizes may be copied, if need be, for a kernel that has another way to it.
pub fn pays(role: Role, shape: &Shape) -> bool {
    // C would have to be copied back.
    role != Role::C && shape.multiply_adds() >= LEAST
}

/// What is copied for a launch with these operands, where A, B and C begin at these addresses: what no map can say, if
/// maps say all then that the kernel needs. It copies by maps what it needs of both A and B, or of none.
pub fn copied(operands: &[Operand], addresses: [u64; 3]) -> Vec<Copied> {
    let lacking = operands.iter().filter_map(|operand| match operand {
        Operand::Map(map) if map.description(map.role.of(addresses)).is_none() => Some(map),
        _ => None,
    });
    let (of_c, inputs): (Vec<&Mapped>, Vec<&Mapped>) = lacking.partition(|map| map.role == Role::C);
    let mut copies = match inputs.iter().all(|map| map.copied) {
        true => inputs.into_iter().map(Copied::of).collect(),
        false => Vec::new(),
    };
    copies.extend(of_c.into_iter().filter(|map| map.copied).map(Copied::of));
    copies
}

/// What is copied for a launch, and the operands that it has then.
pub fn with_copies(operands: &[Operand], addresses: [u64; 3]) -> (Vec<Copied>, Vec<Operand>) {
    let copies = copied(operands, addresses);
    let operands = on_copies(operands, &copies);
    (copies, operands)
}

/// The operands of a launch whose tensor maps are of the copies.
pub fn on_copies(operands: &[Operand], copies: &[Copied]) -> Vec<Operand> {
    let on_copy = |operand: &Operand| match *operand {
        Operand::Map(map) => match copies.iter().find(|copy| copy.role == map.role) {
            Some(copy) => Operand::Map(Mapped { leading: copy.pitch, columns: copy.mapped_columns(), ..map }),
            None => *operand,
        },
        _ => *operand,
    };
    operands.iter().map(on_copy).collect()
}

impl Copied {
    fn of(map: &Mapped) -> Copied {
        let &Mapped { role, rows, columns, leading, .. } = map;
        let element = map.element.bytes() as u64;
        let pitch = (u64::from(columns) * element).next_multiple_of(LINE) / element;
        Copied { role, element: element as u32, rows, columns, leading, pitch }
    }

    /// The columns that a map of the copy says: of C as many as are whole pieces of 16 bytes, for which a row of it has room.
    fn mapped_columns(&self) -> u32 {
        match self.role {
            Role::C => self.columns.next_multiple_of(16 / self.element),
            _ => self.columns,
        }
    }

    /// Bytes of the copy, the room behind its rows among them.
    pub fn bytes(&self) -> u64 {
        u64::from(self.rows) * self.pitch * u64::from(self.element)
    }
}

impl fmt::Display for Copied {
    /// `A first, from rows 1,023 elements apart to rows 1,024 apart`, and `C last`, the other way round
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Copied { role, leading, pitch, .. } = self;
        let (when, from, to) = match role {
            Role::C => ("last", pitch, leading),
            _ => ("first", leading, pitch),
        };
        write!(f, "{role:?} {when}, from rows {} elements apart to rows {} apart", count(*from), count(*to))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::element::Element;
    use crate::mapped::{TensorBox, TensorSwizzle};

    fn map(role: Role, columns: u32, copied: bool) -> Operand {
        let tensor_box = TensorBox { rows: 64, columns: 64, swizzle: TensorSwizzle::B128 };
        let leading = u64::from(columns);
        Operand::Map(Mapped { role, element: Element::Bf16, rows: 70, columns, leading, copied, tensor_box })
    }

    #[test]
    fn what_no_map_can_say_is_copied_to_whole_lines() {
        let roles = |operands: &[Operand], addresses| -> Vec<(Role, u64)> {
            copied(operands, addresses).iter().map(|copy| (copy.role, copy.pitch)).collect()
        };
        let both = [map(Role::A, 99, true), map(Role::B, 104, true), map(Role::C, 99, false), Operand::A];
        assert_eq!(roles(&both, [0; 3]), [(Role::A, 128)]);
        assert_eq!(roles(&both, [0, 2, 0]), [(Role::A, 128), (Role::B, 128)], "B begins in the middle of 16 bytes");
        assert_eq!(roles(&[map(Role::A, 129, true), both[1]], [0; 3]), [(Role::A, 192)]);
        assert_eq!(roles(&[map(Role::A, 104, true), both[1]], [0; 3]), []);
        assert_eq!(roles(&[Operand::A, Operand::B], [2; 3]), [], "there is no map");
        // One is not worth it: the other would be copied in vain.
        assert_eq!(roles(&[both[0], map(Role::B, 99, false)], [0; 3]), []);
        assert_eq!(copied(&both, [0; 3])[0].bytes(), 70 * 256);
    }

    #[test]
    fn c_is_copied_behind_the_launch_for_a_kernel_that_has_no_other_way() {
        let operands = [map(Role::A, 104, true), map(Role::C, 99, true)];
        let copies = copied(&operands, [0; 3]);
        assert_eq!(copies.iter().map(|copy| (copy.role, copy.pitch)).collect::<Vec<_>>(), [(Role::C, 128)]);
        assert_eq!(copies[0].to_string(), "C last, from rows 128 elements apart to rows 99 apart");
        let [a, Operand::Map(c)] = on_copies(&operands, &copies)[..] else { panic!() };
        assert_eq!(
            (a, c.leading, c.columns),
            (operands[0], 128, 104),
            "the last piece of 16 bytes is written as a whole"
        );
        assert!(c.description(256).is_some());
    }

    #[test]
    fn maps_are_of_the_copies() {
        let operands = [map(Role::A, 99, true), map(Role::B, 104, true), Operand::A];
        let [Operand::Map(a), b, address] = on_copies(&operands, &copied(&operands, [0; 3]))[..] else { panic!() };
        assert_eq!((a.leading, a.columns, b, address), (128, 99, operands[1], Operand::A));
        assert!(a.description(256).is_some());
    }

    #[test]
    fn where_there_is_another_way_matrices_of_small_products_are_not_copied_and_c_never() {
        let [small, large] = [127, 255].map(|n| Shape { m: n, n, k: n });
        assert_eq!(Role::ALL.map(|role| pays(role, &large)), [true, true, false]);
        assert_eq!(Role::ALL.map(|role| pays(role, &small)), [false; 3]);
        assert!(pays(Role::A, &Shape { m: u32::MAX, n: u32::MAX, k: u32::MAX }));
    }
}
