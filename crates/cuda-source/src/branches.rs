//! Conditionals of the preprocessor: of branches that do not stand on their own, one alone is read.
//!
//! ```text
//! #ifdef WIDE
//! __global__ void f(float4* a) {      // opens what the other branch opens, too
//! #else
//! __global__ void f(float* a) {
//! #endif
//! ```

use crate::lexer::words_of;
use crate::token::{Kind, Token};

/// The tokens of code, without the later branches of conditionals whose branches open or close braces for what comes after them.
pub fn code(text: &str, tokens: &[Token]) -> Vec<Token> {
    let mut dropped = vec![false; tokens.len()];
    let mut open: Vec<Vec<usize>> = Vec::new();
    for (index, token) in tokens.iter().enumerate().filter(|(_, token)| token.kind == Kind::Directive) {
        match words_of(token.of(text)).0.as_str() {
            "if" | "ifdef" | "ifndef" => open.push(vec![index]),
            "else" | "elif" | "elifdef" | "elifndef" => open.iter_mut().last().into_iter().for_each(|b| b.push(index)),
            "endif" => {
                let Some(mut starts) = open.pop() else { continue };
                starts.push(index);
                settle(text, tokens, &starts, &mut dropped);
            }
            _ => (),
        }
    }
    let kept = tokens.iter().zip(&dropped).filter(|(token, dropped)| token.is_code() && !**dropped);
    kept.map(|(token, _)| *token).collect()
}

/// Marks all but the first branch that has code, where one of them is not balanced.
fn settle(text: &str, tokens: &[Token], starts: &[usize], dropped: &mut [bool]) {
    let branches: Vec<(usize, usize)> = starts.windows(2).map(|pair| (pair[0], pair[1])).collect();
    if branches.len() < 2 || branches.iter().all(|&(from, to)| is_balanced(text, &tokens[from..to])) {
        return;
    }
    let has_code = |&&(from, to): &&(usize, usize)| tokens[from..to].iter().any(|token| token.is_code());
    let first = branches.iter().find(has_code).copied();
    for (from, to) in branches.into_iter().filter(|branch| Some(*branch) != first) {
        dropped[from..to].fill(true);
    }
}

fn is_balanced(text: &str, tokens: &[Token]) -> bool {
    let mut depths = [0i32; 2];
    for token in tokens.iter().filter(|token| token.kind == Kind::Sign) {
        match token.of(text) {
            "{" => depths[0] += 1,
            "}" => depths[0] -= 1,
            "(" => depths[1] += 1,
            ")" => depths[1] -= 1,
            _ => (),
        }
        if depths.iter().any(|depth| *depth < 0) {
            return false;
        }
    }
    depths == [0, 0]
}
