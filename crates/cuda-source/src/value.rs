//! Numbers, and what C++'s operators make of them.

/// A value of an expression.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value {
    /// A whole number, or a truth.
    Whole(i128),
    /// A floating-point number.
    Real(f64),
    /// A `dim3`.
    Dim([i128; 3]),
}

impl Value {
    /// As a whole number, cut off as a conversion does.
    pub fn whole(self) -> Result<i128, String> {
        match self {
            Value::Whole(value) => Ok(value),
            Value::Real(value) if value.is_finite() && value.abs() < 1e30 => Ok(value as i128),
            Value::Real(value) => Err(format!("{value} is no whole number")),
            Value::Dim([x, 1, 1]) => Ok(x),
            Value::Dim(_) => Err("a dim3 is no number".to_string()),
        }
    }

    /// As a floating-point number.
    pub fn real(self) -> Result<f64, String> {
        match self {
            Value::Real(value) => Ok(value),
            other => other.whole().map(|value| value as f64),
        }
    }

    /// As the extents of a grid or a block.
    pub fn dim(self) -> Result<[i128; 3], String> {
        match self {
            Value::Dim(extents) => Ok(extents),
            other => Ok([other.whole()?, 1, 1]),
        }
    }
}

/// The operators, from the one that binds least; those of a row bind alike.
pub const OPERATORS: [&[&str]; 10] = [
    &["||"],
    &["&&"],
    &["|"],
    &["^"],
    &["&"],
    &["==", "!="],
    &["<=", ">=", "<", ">"],
    &["<<", ">>"],
    &["+", "-"],
    &["*", "/", "%"],
];

/// What an operator makes of two values.
pub fn apply(operator: &str, left: Value, right: Value) -> Result<Value, String> {
    let truth = |truth: bool| Ok(Value::Whole(i128::from(truth)));
    if let (Value::Real(_), _) | (_, Value::Real(_)) = (left, right) {
        let (left, right) = (left.real()?, right.real()?);
        return match operator {
            "+" => Ok(Value::Real(left + right)),
            "-" => Ok(Value::Real(left - right)),
            "*" => Ok(Value::Real(left * right)),
            "/" => Ok(Value::Real(left / right)),
            "<" => truth(left < right),
            ">" => truth(left > right),
            "<=" => truth(left <= right),
            ">=" => truth(left >= right),
            "==" => truth(left == right),
            "!=" => truth(left != right),
            _ => Err(format!("`{operator}` takes whole numbers")),
        };
    }
    let (left, right) = (left.whole()?, right.whole()?);
    let shift = || u32::try_from(right).ok().filter(|&bits| bits < 64);
    let value = match operator {
        "+" => left.checked_add(right),
        "-" => left.checked_sub(right),
        "*" => left.checked_mul(right),
        "/" | "%" if right == 0 => return Err("it divides by 0".to_string()),
        "/" => left.checked_div(right),
        "%" => left.checked_rem(right),
        "<<" => shift().and_then(|bits| left.checked_mul(1 << bits)),
        ">>" => shift().map(|bits| left >> bits),
        "&" => Some(left & right),
        "|" => Some(left | right),
        "^" => Some(left ^ right),
        "&&" => return truth(left != 0 && right != 0),
        "||" => return truth(left != 0 || right != 0),
        "==" => return truth(left == right),
        "!=" => return truth(left != right),
        "<" => return truth(left < right),
        ">" => return truth(left > right),
        "<=" => return truth(left <= right),
        ">=" => return truth(left >= right),
        _ => None,
    };
    // Far beyond any size, and far from an overflow of the next operator.
    value.filter(|value| value.abs() < 1 << 100).map(Value::Whole).ok_or_else(|| "it is too large".to_string())
}

/// A number as C++ writes it.
pub fn number(text: &str) -> Result<Value, String> {
    let plain = text.replace('\'', "");
    let lower = plain.to_ascii_lowercase();
    let (digits, radix) = match lower.strip_prefix("0x") {
        Some(digits) => (digits, 16),
        None => match lower.strip_prefix("0b") {
            Some(digits) => (digits, 2),
            None if lower.len() > 1 && lower.starts_with('0') && lower.bytes().all(|b| b.is_ascii_digit()) => {
                (&lower[1..], 8)
            }
            None => (lower.as_str(), 10),
        },
    };
    let whole = digits.trim_end_matches(['u', 'l', 'z']);
    if let Ok(value) = i128::from_str_radix(whole, radix)
        && value.abs() < 1 << 64
    {
        return Ok(Value::Whole(value));
    }
    let real = lower.trim_end_matches(['f', 'l']);
    real.parse().map(Value::Real).map_err(|_| format!("`{text}` is no number"))
}
