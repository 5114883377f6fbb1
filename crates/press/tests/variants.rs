//! The PTX of the pages' variants is that of their kernels: of a level's kernel.cu and a change of it.

mod press;

use std::fs;

use archive::Texts;
use common::ship::{Record, build_file};
use device::nvrtc;
use gemm::change::changed;
use gemm::kernel::{Header, options};
use gemm::{Dtype, Text, asked};
use press::{command, root, scratch};
use rayon::prelude::*;
use serde_json::Value;

#[test]
fn the_variants_ptx_is_fresh() {
    let compiler = nvrtc::find().ok();
    if compiler.is_none() {
        level_tests::skipped("no NVRTC: the variants' PTX is compared with its source only");
    }
    let book = root().join("book");
    let list: Vec<Value> = serde_json::from_str(&fs::read_to_string(book.join("variants/list.json")).unwrap()).unwrap();
    let texts = Texts::read(&book.join("variants/kernels.ptx.zst")).unwrap();
    assert_eq!(texts.len(), list.len(), "texts of PTX, and rows of the list");
    list.par_iter().for_each(|variant| {
        let id = variant["id"].as_str().unwrap();
        assert!(["name", "zh-CN"].iter().all(|name| !variant[name].as_str().unwrap_or_default().is_empty()), "{id}");
        let level = levels::LEVELS[variant["lesson"].as_u64().unwrap() as usize];
        let change = fs::read_to_string(book.join(variant["change"].as_str().unwrap())).unwrap();
        let source = changed(level.source, &change).unwrap_or_else(|error| panic!("{id}: {error}"));
        let dtype: Dtype = variant["dtype"].as_str().unwrap().parse().unwrap();
        let tiles = variant["tiles"].as_object().cloned().unwrap_or_default();
        let tiles: Vec<(&str, u32)> =
            tiles.iter().map(|(name, size)| (name.as_str(), size.as_u64().unwrap() as u32)).collect();
        let build = asked::build(level, dtype, None, &tiles, &level.plain(dtype))
            .unwrap()
            .with_text(Text::new(level.path, source));
        assert!(build.is_shipped(), "{id}: a page offers shipped configurations alone");
        let shipped = texts.get(&format!("{id}.ptx")).unwrap_or_else(|| panic!("{id} is not in the archive"));
        let verified = Header::verify(shipped, build.source().text, &options(&build));
        let (header, _) = verified.unwrap_or_else(|error| panic!("{id}: {error:?}: run `cargo x ptx`"));
        let Some(compiler) = compiler else { return };
        let made = build_file(&build, compiler, shipped, Record::Own).unwrap();
        if made.contains(&format!("// compiler: {}\n", header.compiler)) {
            assert_eq!(made, shipped, "{id}: run `cargo x ptx`");
        } else {
            level_tests::skipped("NVRTC is of another version than the one that made the variants' PTX");
        }
    });
}

#[test]
fn the_command_asks_for_the_repository_and_for_a_list_that_it_can_read() {
    let folder = scratch("variants");
    let run = || command("variants").current_dir(&folder).output().unwrap();
    assert!(String::from_utf8_lossy(&run().stderr).contains("hint: run this at the root of the repository"));
    fs::create_dir_all(folder.join("book/variants")).unwrap();
    fs::write(folder.join("book/variants/list.json"), "[{\"id\": 3}]").unwrap();
    assert!(String::from_utf8_lossy(&run().stderr).starts_with("error: book/variants/list.json: "));
}
