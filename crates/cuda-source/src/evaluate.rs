//! Expressions of host code: `(N + 31) / 32`, `CEIL_DIV(N, BN)`, `dim3(cdiv(n, 16), 4)`, `sizeof(float) * 2`.

use crate::token::{Kind, Piece};
use crate::value::{OPERATORS, Value, apply, number};

/// What a name stands for.
#[derive(Debug, Clone, PartialEq)]
pub enum Meaning {
    /// A value.
    Value(Value),
    /// Other code, which is an expression.
    Code(Vec<Piece>),
}

/// What a function or a macro with parentheses stands for.
#[derive(Debug, Clone, PartialEq)]
pub struct Callee {
    /// Its parameters.
    pub parameters: Vec<String>,
    /// The expression that it is.
    pub body: Vec<Piece>,
}

/// Where names are looked up.
pub trait Names {
    /// What a name stands for.
    fn name(&self, name: &str) -> Option<Meaning>;
    /// What a function stands for.
    fn callee(&self, name: &str) -> Option<Callee>;
}

/// Expressions inside of expressions, by names, calls and parentheses.
const DEEPEST: usize = 48;

/// Steps of one evaluation: macros may stand for ever more of each other.
const MOST_STEPS: usize = 20_000;

/// The value of an expression, or why there is none.
pub fn evaluate(code: &[Piece], names: &dyn Names) -> Result<Value, String> {
    let steps = std::cell::Cell::new(0);
    Reader { code, at: 0, names, depth: 0, steps: &steps }.whole()
}

struct Reader<'a> {
    code: &'a [Piece],
    at: usize,
    names: &'a dyn Names,
    depth: usize,
    steps: &'a std::cell::Cell<usize>,
}

type Outcome = Result<Value, String>;

impl Reader<'_> {
    fn whole(mut self) -> Outcome {
        let value = self.conditional()?;
        match self.code.get(self.at) {
            None => Ok(value),
            Some(piece) => Err(format!("`{}` is not expected there", piece.text)),
        }
    }

    fn inner(&self, code: &[Piece], names: &dyn Names) -> Outcome {
        if self.depth >= DEEPEST {
            return Err("it is nested too deeply".to_string());
        }
        Reader { code, at: 0, names, depth: self.depth + 1, steps: self.steps }.whole()
    }

    fn is(&self, text: &str) -> bool {
        self.code.get(self.at).is_some_and(|piece| piece.is(text))
    }

    fn accept(&mut self, text: &str) -> bool {
        let is = self.is(text);
        self.at += usize::from(is);
        is
    }

    fn conditional(&mut self) -> Outcome {
        let condition = self.operators(0)?;
        if !self.accept("?") {
            return Ok(condition);
        }
        let (from, colon, end) = (self.at, self.colon()?, self.code.len());
        // What is not taken need not have a value.
        let taken = if condition.whole()? != 0 { from..colon } else { colon + 1..end };
        self.at = end;
        self.inner(&self.code[taken], self.names)
    }

    /// Where the `:` of the `?` before this place stands.
    fn colon(&self) -> Result<usize, String> {
        let (mut depth, mut open) = (0, 0);
        for (at, piece) in self.code.iter().enumerate().skip(self.at).filter(|(_, piece)| piece.kind == Kind::Sign) {
            match piece.text.as_str() {
                "(" | "[" | "{" => depth += 1,
                ")" | "]" | "}" => depth -= 1,
                "?" if depth == 0 => open += 1,
                ":" if depth == 0 && open == 0 => return Ok(at),
                ":" if depth == 0 => open -= 1,
                _ => (),
            }
        }
        Err("`:` is missing".to_string())
    }

    fn operators(&mut self, row: usize) -> Outcome {
        let Some(operators) = OPERATORS.get(row) else { return self.unary() };
        let mut value = self.operators(row + 1)?;
        while let Some(operator) = operators.iter().find(|operator| self.is_operator(operator)) {
            self.at += operator.len();
            let right = self.operators(row + 1)?;
            value = apply(operator, value, right)?;
        }
        Ok(value)
    }

    /// Whether this operator stands here, and no longer one.
    fn is_operator(&self, operator: &str) -> bool {
        let signs = operator.chars().count();
        let sign = |offset: usize| self.code.get(self.at + offset).filter(|piece| piece.kind == Kind::Sign);
        let same = operator.chars().enumerate().all(|(index, c)| {
            sign(index).is_some_and(|piece| piece.text == c.to_string() && (index == 0 || piece.glued))
        });
        let longer = sign(signs).filter(|piece| piece.glued).is_some_and(|piece| match operator {
            "|" | "&" => piece.text == operator,
            "<" | ">" => piece.text == operator || piece.text == "=",
            _ => false,
        });
        same && !longer
    }

    fn unary(&mut self) -> Outcome {
        self.steps.set(self.steps.get() + 1);
        if self.steps.get() > MOST_STEPS {
            return Err("it takes too many steps".to_string());
        }
        let signs =
            self.code[self.at..].iter().take_while(|piece| ["-", "+", "!", "~"].iter().any(|sign| piece.is(sign)));
        let signs: Vec<String> = signs.map(|piece| piece.text.clone()).collect();
        self.at += signs.len();
        let value = self.postfix()?;
        signs.iter().rev().try_fold(value, |value, sign| match (sign.as_str(), value) {
            ("-", value) => apply("-", Value::Whole(0), value),
            ("!", value) => Ok(Value::Whole(i128::from(value.real()? == 0.0))),
            ("~", value) => Ok(Value::Whole(!value.whole()?)),
            (_, value) => Ok(value),
        })
    }

    fn postfix(&mut self) -> Outcome {
        let mut value = self.atom()?;
        while self.accept(".") {
            let member = self.code.get(self.at).map(|piece| piece.text.as_str());
            let axis = ["x", "y", "z"].iter().position(|axis| Some(*axis) == member);
            match (value, axis) {
                (Value::Dim(extents), Some(axis)) => value = Value::Whole(extents[axis]),
                _ => return Err(format!("`.{}` is unknown", member.unwrap_or_default())),
            }
            self.at += 1;
        }
        Ok(value)
    }

    fn atom(&mut self) -> Outcome {
        let Some(piece) = self.code.get(self.at) else { return Err("a number is missing".to_string()) };
        match piece.kind {
            Kind::Number => {
                self.at += 1;
                number(&piece.text)
            }
            _ if piece.is("(") || piece.is("{") => self.group(),
            Kind::Word => self.name(),
            _ => Err(format!("`{}` is not expected there", piece.text)),
        }
    }

    /// `( … )`: an expression, or a conversion of what follows.
    fn group(&mut self) -> Outcome {
        let inside = self.brackets()?;
        if is_type(&inside) && !inside.is_empty() {
            let value = self.unary()?;
            return convert(&inside, value);
        }
        self.inner(&inside, self.names)
    }

    /// What stands between the bracket here and its partner, which are passed.
    fn brackets(&mut self) -> Result<Vec<Piece>, String> {
        let (start, mut depth) = (self.at + 1, 0);
        while let Some(piece) = self.code.get(self.at) {
            self.at += 1;
            if ["(", "[", "{"].iter().any(|open| piece.is(open)) {
                depth += 1;
            } else if [")", "]", "}"].iter().any(|close| piece.is(close)) {
                depth -= 1;
                if depth == 0 {
                    return Ok(self.code[start..self.at - 1].to_vec());
                }
            }
        }
        Err("a bracket is not closed".to_string())
    }

    fn name(&mut self) -> Outcome {
        let mut name = self.code[self.at].text.clone();
        self.at += 1;
        while self.is("::") && self.code.get(self.at + 1).is_some_and(Piece::is_word) {
            name = self.code[self.at + 1].text.clone();
            self.at += 2;
        }
        if matches!(name.as_str(), "static_cast" | "reinterpret_cast") && self.is("<") {
            let close = (self.at..self.code.len()).find(|&at| self.code[at].is(">")).ok_or("`>` is missing")?;
            let kind = self.code[self.at + 1..close].to_vec();
            self.at = close + 1;
            let value = self.group()?;
            return convert(&kind, value);
        }
        if self.is("(") || self.is("{") {
            return self.call(&name);
        }
        if let Some((member, value)) = self.member(&name) {
            self.at += member;
            return Ok(value);
        }
        if self.is("[") {
            return self.element(&name);
        }
        match (self.names.name(&name), name.as_str()) {
            (Some(Meaning::Value(value)), _) => Ok(value),
            (Some(Meaning::Code(code)), _) => self.inner(&code, self.names),
            (None, "true") => Ok(Value::Whole(1)),
            (None, "false" | "nullptr" | "NULL") => Ok(Value::Whole(0)),
            (None, _) => Err(format!("`{name}` is unknown")),
        }
    }

    /// An element of a list that is written out: the first, where it is not known which.
    fn element(&mut self, name: &str) -> Outcome {
        let index = self.brackets()?;
        let Some(Meaning::Code(mut list)) = self.names.name(name) else { return Err(format!("`{name}` is unknown")) };
        // A name of a list.
        while let [only] = list.as_slice() {
            let Some(Meaning::Code(other)) = self.names.name(&only.text).filter(|_| only.text != name) else { break };
            list = other;
        }
        let inside = match list.as_slice() {
            [open, inside @ .., _] if open.is("{") => inside,
            _ => return Err(format!("`{name}` is no list")),
        };
        let all = split(inside);
        let index = self.inner(&index, self.names).and_then(|index| index.whole()).unwrap_or(0);
        let element = usize::try_from(index).ok().and_then(|index| all.get(index)).or(all.first());
        self.inner(element.ok_or_else(|| format!("`{name}` is empty"))?, self.names)
    }

    /// A member that is known as a whole, as `problem.n` or `problem->n`, and its tokens.
    fn member(&self, name: &str) -> Option<(usize, Value)> {
        let rest = &self.code[self.at..];
        let arrow = matches!(rest, [dash, more, ..] if dash.is("-") && more.is(">"));
        let signs = if arrow { 2 } else { usize::from(rest.first().is_some_and(|dot| dot.is("."))) };
        let member = rest.get(signs).filter(|member| signs > 0 && member.is_word())?;
        match self.names.name(&format!("{name}.{}", member.text)) {
            Some(Meaning::Value(value)) => Some((signs + 1, value)),
            _ => None,
        }
    }

    fn call(&mut self, name: &str) -> Outcome {
        let inside = self.brackets()?;
        if name == "sizeof" {
            let named = match inside.as_slice() {
                [name] => self.names.name(&name.text),
                _ => None,
            };
            let of_name = || if let Some(Meaning::Code(code)) = &named { size_of(code) } else { None };
            return size_of(&inside)
                .or_else(of_name)
                .map(Value::Whole)
                .ok_or_else(|| "the size of a type is unknown".to_string());
        }
        let arguments = split(&inside);
        if let Some(callee) = self.names.callee(name) {
            let value = |argument: &Vec<Piece>| self.inner(argument, self.names);
            let values: Vec<Value> = arguments.iter().map(value).collect::<Result<_, _>>()?;
            if values.len() != callee.parameters.len() {
                return Err(format!("{name} takes {} arguments", callee.parameters.len()));
            }
            let bound = Bound { parameters: &callee.parameters, values: &values, outer: self.names };
            return self.inner(&callee.body, &bound);
        }
        let word = [Piece { kind: Kind::Word, text: name.to_string(), glued: false }];
        let values: Vec<Value> = arguments.iter().map(|code| self.inner(code, self.names)).collect::<Result<_, _>>()?;
        match (name, values.as_slice()) {
            ("dim3", extents) if extents.len() <= 3 => {
                let mut dim = [1; 3];
                for (to, from) in dim.iter_mut().zip(extents) {
                    *to = from.whole()?;
                }
                Ok(Value::Dim(dim))
            }
            ("min" | "fmin" | "fminf", &[a, b]) => Ok(if a.real()? <= b.real()? { a } else { b }),
            ("max" | "fmax" | "fmaxf", &[a, b]) => Ok(if a.real()? >= b.real()? { a } else { b }),
            ("ceil" | "ceilf", &[a]) => Ok(Value::Real(a.real()?.ceil())),
            ("floor" | "floorf", &[a]) => Ok(Value::Real(a.real()?.floor())),
            ("round" | "roundf", &[a]) => Ok(Value::Real(a.real()?.round())),
            ("sqrt" | "sqrtf", &[a]) => Ok(Value::Real(a.real()?.sqrt())),
            (_, &[a]) if is_type(&word) => convert(&word, a),
            _ => Err(format!("`{name}` is unknown")),
        }
    }
}

/// A function's parameters, before all other names.
struct Bound<'a> {
    parameters: &'a [String],
    values: &'a [Value],
    outer: &'a dyn Names,
}

impl Names for Bound<'_> {
    fn name(&self, name: &str) -> Option<Meaning> {
        let place = self.parameters.iter().position(|parameter| parameter == name);
        place.map(|place| Meaning::Value(self.values[place])).or_else(|| self.outer.name(name))
    }

    fn callee(&self, name: &str) -> Option<Callee> {
        self.outer.callee(name)
    }
}

/// The parts of a list, at the commas outside brackets.
pub fn split(code: &[Piece]) -> Vec<Vec<Piece>> {
    let (mut parts, mut depth) = (vec![Vec::new()], 0);
    for piece in code {
        match piece.text.as_str() {
            "(" | "[" | "{" if piece.kind == Kind::Sign => depth += 1,
            ")" | "]" | "}" if piece.kind == Kind::Sign => depth -= 1,
            "," if piece.kind == Kind::Sign && depth == 0 => {
                parts.push(Vec::new());
                continue;
            }
            _ => (),
        }
        parts.last_mut().into_iter().for_each(|part| part.push(piece.clone()));
    }
    if parts.len() == 1 && parts[0].is_empty() { Vec::new() } else { parts }
}

fn is_type(code: &[Piece]) -> bool {
    let words = [
        "int", "unsigned", "signed", "long", "short", "char", "float", "double", "size_t", "uint", "bool", "const",
        "std", "::",
    ];
    let fixed = |word: &str| {
        word.starts_with("uint") && word.ends_with("_t") || word.starts_with("int") && word.ends_with("_t")
    };
    code.iter().all(|piece| words.contains(&piece.text.as_str()) || fixed(&piece.text))
}

fn convert(kind: &[Piece], value: Value) -> Outcome {
    let real = kind.iter().any(|piece| matches!(piece.text.as_str(), "float" | "double"));
    if real { value.real().map(Value::Real) } else { value.whole().map(Value::Whole) }
}

/// Bytes of a type that is written by its name.
fn size_of(code: &[Piece]) -> Option<i128> {
    let words: Vec<&str> =
        code.iter().map(|piece| piece.text.as_str()).filter(|word| !matches!(*word, "const" | "std" | "::")).collect();
    if words.last() == Some(&"*") {
        return Some(8);
    }
    Some(match words.as_slice() {
        ["char"] | ["unsigned", "char"] | ["bool"] | ["int8_t"] | ["uint8_t"] => 1,
        ["half"] | ["__half"] | ["__nv_bfloat16"] | ["nv_bfloat16"] | ["short"] | ["int16_t"] | ["uint16_t"] => 2,
        ["float"]
        | ["int"]
        | ["unsigned"]
        | ["unsigned", "int"]
        | ["uint"]
        | ["int32_t"]
        | ["uint32_t"]
        | ["half2"]
        | ["__half2"] => 4,
        ["double"] | ["size_t"] | ["float2"] | ["int64_t"] | ["uint64_t"] | ["long", "long"] | ["int2"] => 8,
        ["float4"] | ["int4"] | ["uint4"] | ["double2"] => 16,
        _ => return None,
    })
}
