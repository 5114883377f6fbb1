//! What the parameters of a matrix product stand for, by their names and types.

use crate::kernel::{Kernel, Parameter};
use crate::types::Scalar;

/// What a parameter stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// The address of A.
    A,
    /// The address of B.
    B,
    /// The address of C.
    C,
    /// Rows of A and C.
    M,
    /// Columns of B and C.
    N,
    /// Columns of A, rows of B.
    K,
    /// The only size of square matrices.
    Square,
    /// The distance of two rows (or columns) of A.
    Lda,
    /// The same of B.
    Ldb,
    /// The same of C.
    Ldc,
    /// The factor of the product.
    Alpha,
    /// The factor of what C holds before.
    Beta,
}

/// Why the roles of a kernel's parameters are not clear.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unclear {
    /// What is not clear: "what `bias` (const float*) stands for".
    pub what: String,
    /// The roles that are clear, by parameter.
    pub known: Vec<Option<Role>>,
}

const NAMES_A: [&str; 9] = ["a", "lhs", "left", "x", "first", "mata", "inputa", "ina", "in1"];
const NAMES_B: [&str; 10] = ["b", "rhs", "right", "w", "weight", "weights", "second", "matb", "inputb", "inb"];
const NAMES_C: [&str; 15] =
    ["c", "out", "output", "result", "res", "dst", "prod", "product", "ans", "z", "matc", "outputc", "outc", "y", "p"];

/// What a pointer's name says.
pub fn pointer_named(name: &str) -> Option<Role> {
    let plain = plain(name);
    let is = |names: &[&str]| names.contains(&plain.as_str());
    match plain.as_str() {
        "input1" | "src1" | "in0" | "input0" | "src0" | "mat1" | "matrix1" | "a1" => Some(Role::A),
        "input2" | "src2" | "in2" | "mat2" | "matrix2" => Some(Role::B),
        _ if is(&NAMES_A) => Some(Role::A),
        _ if is(&NAMES_B) => Some(Role::B),
        _ if is(&NAMES_C) => Some(Role::C),
        _ => None,
    }
}

/// What a whole number's name says.
pub fn size_named(name: &str) -> Option<Role> {
    let lower: String = name.to_ascii_lowercase().chars().filter(|c| *c != '_').collect();
    Some(match lower.as_str() {
        "m" | "h" | "rows" | "row" | "height" | "nrows" | "numrows" | "ha" | "rowsa" | "arows" | "numarows"
        | "numcrows" | "rowsc" | "crows" | "msize" | "sizem" | "dimm" | "hc" | "heighta" | "aheight" | "nrowsa"
        | "mm" => Role::M,
        "n" | "w" | "width" | "cols" | "columns" | "col" | "ncols" | "numcols" | "wb" | "colsb" | "bcols"
        | "numbcols" | "numbcolumns" | "numccolumns" | "numccols" | "colsc" | "ccols" | "nsize" | "sizen" | "dimn"
        | "wc" | "widthb" | "bwidth" | "ncolsb" | "columnsb" | "nn" => Role::N,
        "k" | "inner" | "common" | "depth" | "wa" | "hb" | "colsa" | "acols" | "numacols" | "numacolumns"
        | "numbrows" | "rowsb" | "brows" | "ksize" | "sizek" | "dimk" | "widtha" | "awidth" | "heightb" | "ncolsa"
        | "columnsa" | "innerdim" | "kk" => Role::K,
        "lda" | "stridea" | "pitcha" | "astride" => Role::Lda,
        "ldb" | "strideb" | "pitchb" | "bstride" => Role::Ldb,
        "ldc" | "stridec" | "pitchc" | "cstride" => Role::Ldc,
        _ => return None,
    })
}

/// A pointer's name without what says only where it lies: `d_A`, `mat_a`, `A_dev`, `dA`.
fn plain(name: &str) -> String {
    let mut chars = name.chars();
    let prefixed =
        matches!((chars.next(), chars.next()), (Some('d' | 'g' | 'p' | 'h'), Some(c)) if c.is_ascii_uppercase());
    let name = if prefixed { &name[1..] } else { name };
    let noise = [
        "d", "dev", "device", "gpu", "g", "gm", "global", "h", "host", "ptr", "mat", "matrix", "m", "data", "buf",
        "tensor", "p", "cuda", "vec", "s",
    ];
    let lower = name.to_ascii_lowercase();
    let words: Vec<&str> = lower.split('_').filter(|word| !word.is_empty()).collect();
    let says: Vec<&str> = words.iter().copied().filter(|word| !noise.contains(word)).collect();
    if says.is_empty() { words.concat() } else { says.concat() }
}

/// A size that is counted in vectors, by its name: `N4`, `n_vec`, `K_div_8`. How many numbers each has, where the name leaves it out, is what the
/// kernel's pointers say.
pub fn counted_in_vectors(kernel: &Kernel, parameter: &Parameter) -> Option<(Role, u32)> {
    let lower: String = parameter.name.to_ascii_lowercase().chars().filter(|c| *c != '_').collect();
    let stem = lower.trim_end_matches(|c: char| c.is_ascii_digit());
    let words = ["vectors", "vecs", "vec", "div", "over", "v"];
    let plain = words.iter().find_map(|word| stem.strip_suffix(word)).unwrap_or(stem);
    let role = size_named(plain).filter(|role| matches!(role, Role::M | Role::N | Role::K))?;
    let of_type = kernel.parameters.iter().filter(|own| own.pointer).filter_map(|own| lanes(&own.element)).max();
    let lanes = match lower[stem.len()..].parse().ok() {
        None => of_type.filter(|_| plain != stem),
        Some(named @ (4 | 8 | 16)) => Some(named),
        Some(2) => of_type.map(|_| 2),
        Some(_) => None,
    };
    (is_whole(parameter) && size_named(&parameter.name).is_none()).then_some(role).zip(lanes)
}

/// The numbers of a vector's type: `float4`, `__half2`.
pub fn lanes(element: &str) -> Option<u32> {
    let plain = element.rsplit("::").next().unwrap_or(element);
    let is_vector = ["float", "double", "half", "int", "short", "char", "uint", "ushort", "uchar", "long", "bfloat16"];
    let (name, lanes) = plain.split_at_checked(plain.len().checked_sub(1)?)?;
    let lanes = lanes.parse().ok().filter(|lanes| matches!(lanes, 2..=4))?;
    is_vector.iter().any(|word| name.ends_with(word)).then_some(lanes)
}

/// The roles of a kernel's parameters, in their order.
pub fn roles(kernel: &Kernel) -> Result<Vec<Role>, Unclear> {
    roles_beside(kernel, &[]).map(|roles| roles.into_iter().flatten().collect())
}

/// The same beside those places that are `told`, which have none.
pub fn roles_beside(kernel: &Kernel, told: &[usize]) -> Result<Vec<Option<Role>>, Unclear> {
    let mut roles: Vec<Option<Role>> = kernel.parameters.iter().map(by_name).collect();
    by_constness(kernel, &mut roles);
    if told.is_empty() {
        the_only_size(kernel, &mut roles);
    }
    told.iter().for_each(|&place| roles[place] = None);
    let unclear = |what: String, roles: &[Option<Role>]| Err(Unclear { what, known: roles.to_vec() });
    if let Some(place) = (0..roles.len()).find(|place| roles[*place].is_none() && !told.contains(place)) {
        return unclear(format!("what `{}` stands for", said(&kernel.parameters[place])), &roles);
    }
    for role in [Role::A, Role::B, Role::C] {
        let places: Vec<usize> = (0..roles.len()).filter(|&place| roles[place] == Some(role)).collect();
        match places.as_slice() {
            [_] => (),
            [] => return unclear(format!("which parameter is {role:?}"), &roles),
            [first, second, ..] => {
                let [first, second] = [first, second].map(|place| kernel.parameters[*place].name.clone());
                return unclear(format!("whether {role:?} is `{first}` or `{second}`"), &roles);
            }
        }
    }
    for role in [Role::M, Role::N, Role::K] {
        let mut places = (0..roles.len()).filter(|&place| roles[place] == Some(role));
        if let (Some(first), Some(second)) = (places.next(), places.next()) {
            let [first, second] = [first, second].map(|place| &kernel.parameters[place].name);
            // Two names of one size, such as the columns of A and the rows of B, are as good as one.
            if first.len() == 1 || second.len() == 1 {
                return unclear(format!("whether {role:?} is `{first}` or `{second}`"), &roles);
            }
        }
    }
    Ok(roles)
}

fn said(parameter: &Parameter) -> String {
    format!("{} {}", parameter.type_name, parameter.name).trim().to_string()
}

fn is_whole(parameter: &Parameter) -> bool {
    !parameter.pointer && parameter.scalar == Some(Scalar::Whole)
}

fn by_name(parameter: &Parameter) -> Option<Role> {
    let lower = parameter.name.to_ascii_lowercase();
    if parameter.pointer {
        return pointer_named(&parameter.name);
    }
    match lower.trim_matches('_') {
        "alpha" if !is_whole(parameter) => Some(Role::Alpha),
        "beta" if !is_whole(parameter) => Some(Role::Beta),
        _ if is_whole(parameter) => size_named(&parameter.name),
        _ => None,
    }
}

/// Of three pointers, the one that is not constant is C; the constant ones are A and B in their order, where names do not say otherwise.
fn by_constness(kernel: &Kernel, roles: &mut [Option<Role>]) {
    let pointers: Vec<usize> = (0..roles.len()).filter(|&place| kernel.parameters[place].pointer).collect();
    let [constant, open]: [Vec<usize>; 2] = {
        let (constant, open) = pointers.iter().partition(|&&place| kernel.parameters[place].constant);
        [constant, open]
    };
    if let ([first, second], [only]) = (constant.as_slice(), open.as_slice()) {
        roles[*only] = Some(Role::C);
        match (roles[*first], roles[*second]) {
            // `L * X`: an x may stand behind what has a name of its own.
            (None, Some(Role::A)) if plain(&kernel.parameters[*second].name) == "x" => {
                (roles[*first], roles[*second]) = (Some(Role::A), Some(Role::B));
            }
            (Some(Role::B), _) | (_, Some(Role::A)) => {
                (roles[*first], roles[*second]) = (Some(Role::B), Some(Role::A));
            }
            _ => (roles[*first], roles[*second]) = (Some(Role::A), Some(Role::B)),
        }
        return;
    }
    // `x`, `w`, `y` and the like: what is left over of three is what is missing.
    if pointers.len() == 3 {
        let missing: Vec<Role> = [Role::A, Role::B, Role::C]
            .into_iter()
            .filter(|role| !pointers.iter().any(|&place| roles[place] == Some(*role)))
            .collect();
        let unnamed: Vec<usize> = pointers.into_iter().filter(|&place| roles[place].is_none()).collect();
        if let ([role], [place]) = (missing.as_slice(), unnamed.as_slice()) {
            roles[*place] = Some(*role);
        }
    }
}

/// A single size, whatever its name, is that of square matrices.
fn the_only_size(kernel: &Kernel, roles: &mut [Option<Role>]) {
    let sizes: Vec<usize> = (0..roles.len()).filter(|&place| is_whole(&kernel.parameters[place])).collect();
    let names = [
        "n",
        "m",
        "k",
        "size",
        "width",
        "dim",
        "len",
        "length",
        "num",
        "w",
        "d",
        "l",
        "wa",
        "lda",
        "ld",
        "matsize",
        "matrixsize",
        "order",
    ];
    if let [only] = sizes.as_slice() {
        let name = kernel.parameters[*only].name.to_ascii_lowercase().replace('_', "");
        if names.contains(&name.as_str()) && name != "wa" {
            roles[*only] = Some(Role::Square);
        }
    }
}
