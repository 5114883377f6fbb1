//! Products by wgmma, tensor maps, mbarriers and clusters, compiled by NVRTC for sm_90a: each gives the bits of an H200.

mod bounds;
mod counters;
mod mutants;
mod product;

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
        let (bytes, _) = product.run(&product.ptx(), None).unwrap_or_else(|error| panic!("{name}: {error}"));
        let (_, card) = record.iter().find(|(of, _)| *of == name).unwrap_or_else(|| panic!("no record of {name}"));
        assert_eq!(hash(&bytes), *card, "{name}");
        compared += 1;
    }
    assert_eq!(compared, record.len(), "the record has other products, too");
}

#[test]
fn results_and_counts_are_the_same_with_any_number_of_threads() {
    for product in all().filter(|product| product.of.0 == "bf16" && product.shape[0] == 200) {
        let run = |threads| product.run(&product.ptx(), Some(threads)).unwrap_or_else(|error| panic!("{error}"));
        let (bytes, report) = run(1);
        for threads in [2, 7] {
            let (other, counts) = run(threads);
            assert!(other == bytes && counts == report, "{} with {threads} threads", product.name());
        }
    }
}

/// Mutants that are not caught, with the proof that no order that PTX permits differs.
const SURVIVORS: [(&str, &str, &str); 3] = [
    (
        "warpgroup",
        "135: bar.sync dropped",
        "The thread that asks for the next boxes has waited for its warpgroup's product, which its four warps issue together: \
         each has seen this phase of the barrier before, and none reads the boxes after it.",
    ),
    ("persistent", "296: cp.async.bulk.wait_group dropped", LAST_STORE),
    ("persistent", "296: cp.async.bulk.wait_group one more group left", LAST_STORE),
];
const LAST_STORE: &str =
    "Nobody writes the place again, and C is read behind the grid's end, which waits for all copies.";

#[test]
fn wrong_versions_are_caught() {
    let (mut caught, mut survive, mut unknown) = (0, Vec::new(), Vec::new());
    for product in all().filter(|product| product.of.0 == "bf16" && product.shape[0] == 256) {
        let ptx = product.ptx();
        let (right, _) = product.run(&ptx, None).unwrap_or_else(|error| panic!("{}: {error}", product.name()));
        for mutant in mutants::mutants(&ptx) {
            let verdict = match product.run(&mutant.ptx, None) {
                Err(text) => text.lines().next().unwrap_or_default().to_string(),
                Ok((bytes, _)) if bytes != right => "wrong".to_string(),
                Ok(_) => String::new(),
            };
            eprintln!("{} {} -> {verdict}", product.form.name, mutant.name);
            let known = SURVIVORS.iter().any(|(form, name, _)| (*form, *name) == (product.form.name, &mutant.name));
            match (verdict.is_empty(), known) {
                (true, true) => survive.push(mutant.name),
                (false, false) => caught += 1,
                _ => unknown.push(format!("{}: {}: `{verdict}`", product.form.name, mutant.name)),
            }
        }
    }
    assert!(unknown.is_empty(), "not as recorded:\n{}", unknown.join("\n"));
    assert!(caught > 90, "{caught} are caught");
    assert!(20 * survive.len() <= caught, "{} of {} survive", survive.len(), caught + survive.len());
}
