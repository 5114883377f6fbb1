//! The names that people gave, of what C++ makes of them.

/// The name that a person gave a variable or a function, of what C++ makes of it: `_ZZ10gemm_tiledE2As` is `As`, and `_Z3fibj` is
/// `fib`. Any other name is left as it is.
pub fn plain_name(mangled: &str) -> String {
    let plain = || {
        let tail = match mangled.strip_prefix("_ZZ") {
            Some(rest) => &rest[rest.rfind('E')? + 1..],
            None => mangled.strip_prefix("_Z")?,
        };
        let digits = tail.chars().take_while(char::is_ascii_digit).count();
        let length: usize = tail[..digits].parse().ok()?;
        tail[digits..].get(..length).map(str::to_string)
    };
    plain().unwrap_or_else(|| mangled.to_string())
}

/// The last part of a function's name, in namespaces and classes, too: `_ZN6nvcuda4wmma8mma_syncEv` is `mma_sync`.
pub(super) fn function_name(mangled: &str) -> String {
    if mangled.is_empty() {
        return "an inlined function".to_string();
    }
    if mangled.starts_with("_ZZ") && mangled.contains("NKUl") {
        return "a lambda".to_string();
    }
    let plain = mangled.strip_prefix("_ZL").map_or_else(|| mangled.to_string(), |rest| format!("_Z{rest}"));
    let nested = plain.strip_prefix("_ZN").and_then(last_part);
    nested.map_or_else(|| plain_name(&plain), str::to_string)
}

/// The last name of a nested one, behind its `N`. Arguments of templates are read over, with the names in them.
fn last_part(text: &str) -> Option<&str> {
    let (mut at, mut last, mut open) = (0, None, vec!['N']);
    while let Some(&inside) = open.last() {
        let rest = text.get(at..)?;
        let first = rest.chars().next()?;
        let number = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let until = |sign: char| rest.find(sign).map(|length| length + 1);
        at += match first {
            '0'..='9' if inside == 'L' => number,
            '0'..='9' => {
                let length: usize = rest[..number].parse().ok()?;
                let name = rest.get(number..number.checked_add(length)?)?;
                if open.len() == 1 {
                    last = Some(name);
                }
                number + length
            }
            'E' => {
                open.pop();
                1
            }
            // Something said before: `S_`, `S2_`, `St`; a parameter of a template; an array's extent.
            'S' if rest[1..].starts_with(|c: char| c.is_ascii_lowercase()) => 2,
            'S' | 'T' | 'A' => until('_')?,
            'D' if matches!(rest.get(1..2), Some("T" | "t")) => {
                open.push('D');
                2
            }
            'D' | 'C' => 2,
            // The value of a type with a name, `LN2ns4KindE3E`, or of one of the language, `Li16E`.
            'L' => {
                open.push('L');
                1 + rest[1..].starts_with(|c: char| c.is_ascii_lowercase()) as usize
            }
            'N' | 'I' | 'X' | 'J' | 'F' => {
                open.push(first);
                1
            }
            _ => first.len_utf8(),
        };
    }
    last
}

#[cfg(test)]
mod tests {
    use super::{function_name, plain_name};

    #[test]
    fn of_a_function_the_last_part_of_its_name_is_told() {
        for (mangled, plain) in [
            ("_Z3fibj", "fib"),
            ("_ZL4loadPf", "load"),
            ("_ZN3abc4Edge4loadEPKf", "load"),
            ("_ZNK3abc4EdgeIfLi16ELb1EE4loadIiEEvT_", "load"),
            ("_ZN4cuda8pipelineILNS_6thread12thread_scopeE2EE16consumer_releaseEv", "consumer_release"),
            ("_ZN2ns4sizeIA16_fEEvRT_", "size"),
            ("_ZN2ns4eachIZ4kernPfEUlvE_EEvT_", "each"),
            ("_ZZ4kernPfENKUliE_clEi", "a lambda"),
            ("", "an inlined function"),
            ("_ZN3abc", "_ZN3abc"),
            ("_ZN99999999999999999999aE", "_ZN99999999999999999999aE"),
            ("plain", "plain"),
        ] {
            assert_eq!(function_name(mangled), plain, "{mangled}");
        }
    }

    #[test]
    fn a_name_is_the_one_that_a_person_gave() {
        for (mangled, plain) in [
            ("_ZZ10gemm_tiledE2As", "As"),
            ("_ZZN3abc4EdgeEvE4tile", "tile"),
            ("_Z3fibj", "fib"),
            ("_Z11long_namedEfPf", "long_namedE"),
            ("tile", "tile"),
            ("_Z", "_Z"),
            ("_Z9short", "_Z9short"),
            ("_ZZ4none", "_ZZ4none"),
        ] {
            assert_eq!(plain_name(mangled), plain, "{mangled}");
        }
    }
}
