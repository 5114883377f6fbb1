//! Whether a file's host code launches a kernel again and again, with nothing between.

/// Whether a launch of a kernel stands in a loop, in which nothing else takes what it hands over as the argument at a place, and that is
/// the same in each turn.
pub fn is_in_a_loop(text: &str, kernel: &str, place: usize) -> bool {
    let name = kernel.split('<').next().unwrap_or(kernel);
    text.match_indices(name).any(|(at, _)| {
        let statement = text[at..].split(';').next().unwrap_or_default();
        let whole = text[..at].chars().next_back().is_some_and(|before| !is_of_a_word(before));
        let Some((before, arguments)) = statement.split_once(">>>").filter(|_| whole) else { return false };
        let is_launch = before[name.len()..].trim_start().starts_with('<') && before.contains("<<<");
        let handed = words(parts(arguments.trim().trim_start_matches('(')).get(place).unwrap_or(&""));
        is_launch && loops(text, at).any(|(head, body)| is_alone(body, &handed) && !names_counter(head, &handed))
    })
}

/// The parts of a list, as far as they are no lists themselves.
fn parts(list: &str) -> Vec<&str> {
    let mut depth = 0;
    let is_comma = |sign: char| {
        depth += i32::from(matches!(sign, '(' | '[' | '{')) - i32::from(matches!(sign, ')' | ']' | '}'));
        depth == 0 && sign == ','
    };
    list.split(is_comma).collect()
}

fn is_of_a_word(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

/// The loops that a place stands in: the line with the head of each, and its body.
fn loops(text: &str, at: usize) -> impl Iterator<Item = (&str, &str)> {
    let line = |to: usize| text[..to].trim_end().lines().next_back().unwrap_or_default().trim_start();
    let of_one = {
        let start = text[..at].rfind('\n').map_or(0, |end| end + 1);
        let own = text[start..at].trim_start();
        let head = if own.is_empty() { line(start) } else { own };
        (head, &text[at..at + text[at..].find(';').unwrap_or(0)])
    };
    let mut depth = 0;
    let open = text[..at].char_indices().rev().filter(move |(_, sign)| match sign {
        '}' => {
            depth += 1;
            false
        }
        '{' if depth > 0 => {
            depth -= 1;
            false
        }
        sign => *sign == '{',
    });
    let blocks = open.map(move |(open, _)| (line(open), &text[open..closed(text, open)]));
    let is_loop = |head: &str| {
        ["for", "while", "do"]
            .iter()
            .any(|word| head.strip_prefix(word).is_some_and(|rest| !rest.starts_with(is_of_a_word)))
    };
    [of_one].into_iter().chain(blocks).filter(move |(head, _)| is_loop(head) && !head.ends_with([';', '}']))
}

/// Where the block ends that begins at a place.
fn closed(text: &str, open: usize) -> usize {
    let mut depth = 0;
    let end = text[open..].char_indices().find(|(_, sign)| {
        depth += i32::from(*sign == '{') - i32::from(*sign == '}');
        depth == 0
    });
    end.map_or(text.len(), |(end, _)| open + end)
}

/// Whether one statement of a body alone names these words.
fn is_alone(body: &str, handed: &[&str]) -> bool {
    let names = |statement: &&str| words(statement).iter().any(|word| handed.contains(word));
    body.split([';', '{', '}']).filter(names).count() <= 1
}

/// Whether words are among what a loop's head counts.
fn names_counter(head: &str, handed: &[&str]) -> bool {
    let counter = head.split('=').next().and_then(|start| words(start).last().copied());
    counter.is_some_and(|counter| handed.contains(&counter))
}

fn words(text: &str) -> Vec<&str> {
    text.split(|letter| !is_of_a_word(letter)).filter(|word| !word.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loop_around_a_launch_is_found() {
        let of = |body: &str| {
            is_in_a_loop(&format!("__global__ void k(int *c) {{ for (;;) {{}} }}\nint main() {{\n{body}\n}}\n"), "k", 0)
        };
        assert!(of("for (int i = 0; i < 3; ++i) {\n f(A);\n k<<<1, 2>>>(c);\n}"));
        assert!(of("for (int i = 0; i < 3; ++i) k<<<dim3(1, 2), 2>>>(c);"));
        assert!(of("while (go)\n  k<64><<<1, 2>>>(c);"));
        assert!(!of("k<<<1, 2>>>(c);"));
        assert!(!of("for (int i = 0; i < 3; ++i) f();\nk<<<1, 2>>>(c);"));
        assert!(!of("for (int i = 0; i < 3; ++i) { f(); }\nk<<<1, 2>>>(c);"));
        assert!(!of("for (int i = 0; i < 3; ++i) {\n cudaMemset(c, 0, 4);\n k<<<1, 2>>>(c);\n}"));
        assert!(of("for (int i = 0; i < 3; ++i) {\n cudaMemset(a, 0, 4);\n k<<<dim3(1, 2), 2>>>(c, a);\n}"));
        assert!(!of("for (int i = 0; i < 3; ++i) {\n zero<<<1, 2>>>(c);\n k<<<1, 2>>>(c);\n}"));
        assert!(!of("for (int i = 0; i < 3; ++i) k<<<1, 2>>>(c + i);"));
    }
}
