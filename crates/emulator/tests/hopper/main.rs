//! Products by wgmma, tensor maps, mbarriers and clusters, compiled by NVRTC for sm_90a: each gives the bits of an H200.

mod bounds;
mod counters;
mod mutants;
mod product;
#[path = "../corpus/texts.rs"]
mod texts;

use std::fs;

use product::{all, folder, hash};

/// What an H200 gave: `python3 card.py > h200.txt` in this folder, on a machine that has one.
fn of_the_card() -> Vec<(String, u64)> {
    let text = fs::read_to_string(folder().join("h200.txt")).expect("the record can be read");
    let read = |line: &str| {
        let (name, hash) = line.rsplit_once(' ')?;
        Some((name.to_string(), u64::from_str_radix(hash, 16).ok()?))
    };
    text.lines().filter(|line| !line.starts_with('#')).filter_map(read).collect()
}

#[test]
fn products_have_the_bits_of_an_h200() {
    let record = of_the_card();
    let mut compared = 0;
    for product in all() {
        let name = product.name();
        let (bytes, report) = product.run(product.ptx(), None).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(report.warnings.is_empty(), "{name}: {}", report.warnings[0]);
        let (_, card) = record.iter().find(|(of, _)| *of == name).unwrap_or_else(|| panic!("no record of {name}"));
        assert_eq!(hash(&bytes), *card, "{name}");
        compared += 1;
    }
    assert_eq!(compared, record.len(), "the record has other products, too");
}

#[test]
fn results_and_counts_are_the_same_with_any_number_of_threads() {
    for product in all().filter(|product| product.of.0 == "bf16" && product.shape[0] == 200) {
        let run = |threads| product.run(product.ptx(), Some(threads)).unwrap_or_else(|error| panic!("{error}"));
        let (bytes, report) = run(1);
        for threads in [2, 7] {
            let (other, counts) = run(threads);
            assert!(other == bytes && counts == report, "{} with {threads} threads", product.name());
        }
    }
}

/// Mutants that are not caught, with the proof that no order that PTX permits differs.
const SURVIVORS: [(&str, &str, &str); 1] = [(
    "warpgroup",
    "135: bar.sync dropped",
    "The thread that asks for the next boxes has waited for its warpgroup's product, which its four warps issue together: \
         each has seen this phase of the barrier before, and none reads the boxes after it.",
)];

/// Mutants that run to the end, are right, and are warned of: the books do not agree whether they are wrong.
const WARNED: [(&str, &str); 5] = [
    ("warpgroup", "112: fence.mbarrier_init.release.cluster dropped"),
    ("ring", "181: fence.mbarrier_init.release.cluster dropped"),
    ("persistent", "181: fence.mbarrier_init.release.cluster dropped"),
    ("persistent", "296: cp.async.bulk.wait_group dropped"),
    ("persistent", "296: cp.async.bulk.wait_group one more group left"),
];

#[test]
fn wrong_versions_are_caught() {
    let (mut caught, mut warned, mut survive, mut unknown) = (0, 0, Vec::new(), Vec::new());
    for product in all().filter(|product| product.of.0 == "bf16" && product.shape[0] == 256) {
        let ptx = product.ptx();
        let (right, _) = product.run(ptx, None).unwrap_or_else(|error| panic!("{}: {error}", product.name()));
        for mutant in mutants::mutants(ptx) {
            let verdict = match product.run(&mutant.ptx, None) {
                Err(text) => text.lines().next().unwrap_or_default().to_string(),
                Ok((bytes, _)) if bytes != right => "wrong".to_string(),
                Ok((_, report)) => {
                    report.warnings.first().map_or_else(String::new, |warning| format!("warned: {}", warning.message))
                }
            };
            eprintln!("{} {} -> {verdict}", product.form.name, mutant.name);
            let known = SURVIVORS.iter().any(|(form, name, _)| (*form, *name) == (product.form.name, &mutant.name));
            let doubtful = WARNED.contains(&(product.form.name, &mutant.name));
            match (verdict.as_str(), known, doubtful) {
                ("", true, false) => survive.push(mutant.name),
                (text, false, true) if text.starts_with("warned") => warned += 1,
                (text, false, false) if !text.is_empty() && !text.starts_with("warned") => caught += 1,
                _ => unknown.push(format!("{}: {}: `{verdict}`", product.form.name, mutant.name)),
            }
        }
    }
    assert!(unknown.is_empty(), "not as recorded:\n{}", unknown.join("\n"));
    assert_eq!(warned, WARNED.len());
    assert!(caught > 90, "{caught} are caught");
    let all = caught + warned + survive.len();
    assert!(20 * survive.len() <= caught, "{} of {all} survive, {warned} are warned of", survive.len());
}
