//! Every wrong version of the kernel is caught, or explained; the same file in each level.

use std::path::Path;

use common::testing::mutations;
use level7_split_k::LEVEL;

#[test]
fn every_mutant_is_caught_or_explained() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mutations.json");
    mutations::record_holds(&LEVEL, include_str!("mutations.json"), &file).unwrap();
}
