//! The tuner without a GPU: what it prunes and prints, and what it refuses.

mod press;

use std::fs;

use press::{command, press, refused, root, scratch};

const SHIPPED: &str = "tune --shipped --backend emulator";

#[test]
fn the_pruned_space_is_a_table() {
    let output = press(&format!("{SHIPPED} --levels 1,2 --level 3 --sizes 128 --shapes 1111x777x333"));
    assert_eq!(output.code, 0, "{output:?}");
    assert!(output.stderr.contains("nothing was measured, and nothing is written"), "{output:?}");
    insta::assert_snapshot!("tune", output.stdout);
}

#[test]
fn rows_are_data() {
    let words = format!("{SHIPPED} --level 2 --sizes 128,512 --dtype f64");
    let json = press(&format!("{words} --json"));
    let rows: Vec<serde_json::Value> = json.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(rows.len(), 6);
    for row in &rows {
        assert_eq!((&row["verdict"], &row["ms_is"], &row["dtype"]), (&"right".into(), &"bound".into(), &"f64".into()));
        assert!(
            ["bound_ms", "rank", "wavefronts_per_request", "registers", "occupancy"]
                .iter()
                .all(|key| row[key].is_number()),
            "{row}"
        );
    }
    assert!(json.stderr.contains("level2-register: 3 candidates; 3 left"), "{json:?}");
    let csv = press(&format!("{words} --csv"));
    assert_eq!(csv.stdout.lines().count(), 7, "{csv:?}");
}

#[test]
fn a_gpu_that_the_compiler_does_not_know_has_its_table_too() {
    let output = press(&format!("{SHIPPED} --level 1 --sizes 64 --gpu k80 --json"));
    let rows: Vec<serde_json::Value> = output.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(rows.len(), 3);
    assert!(rows.iter().all(|row| row["registers"].is_null() && row["occupancy"].is_number()), "{output:?}");
}

#[test]
fn the_record_is_what_the_measurements_say() {
    let folder = scratch("from");
    let output = press(&format!("tune --from book/measurements/nvidia-h200.json --out {}", folder.display()));
    assert_eq!(output.code, 0, "{output:?}");
    let made: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(folder.join("nvidia-h200.json")).unwrap()).unwrap();
    let source: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(root().join("book/measurements/nvidia-h200.json")).unwrap()).unwrap();
    assert_eq!(made["runs"][0]["date"], source["date"]);
    let rows = source["rows"].as_array().unwrap();
    for best in made["runs"][0]["best"].as_array().unwrap() {
        let name = format!("{} {}", best["level"].as_str().unwrap(), best["variant"].as_str().unwrap());
        let same = |row: &&serde_json::Value| {
            ["dtype", "m", "n", "k", "tiles", "ms"].iter().all(|key| row[key] == best[key])
                && row["kernel"] == name.trim_end()
        };
        assert_eq!(rows.iter().filter(same).count(), 1, "{best}");
    }
    assert!(output.stdout.lines().nth(1).is_some_and(|line| line.starts_with("chosen")), "{output:?}");
}

#[test]
fn without_a_compiler_only_what_is_shipped_is_tuned() {
    let output = command("tune --level 1 --backend emulator --sizes 64").env_clear().output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    if output.status.success() {
        return level_tests::skipped("NVRTC is on the loader's path: it cannot be hidden");
    }
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr.contains("pip install nvidia-cuda-nvrtc") && stderr.contains("`--shipped` needs none"), "{stderr}");
}

#[test]
fn bad_usage_is_one_clear_line() {
    for (words, answer) in [
        ("--level 99", "no level `99`"),
        ("--levels 1,x", "no level `x`"),
        ("--level 0 --variant fast", "no level has a variant `fast`"),
        ("--level 1 --variant fast", "these levels have none"),
        ("--keep 0", "0 is not in 1..="),
        ("--seconds 0", "0 is not in 1..="),
        ("--seconds x", "x"),
        ("--slack 51", "a number from 0 to 50"),
        ("--slack NaN", "a number from 0 to 50"),
        ("--shapes 8x8", "MxNxK"),
        ("--sizes 0", "0 is not in 1..="),
        ("--gpu voodoo", "voodoo"),
        ("--csv --json", "cannot be used with"),
        ("--nonsense", "--nonsense"),
        ("--from nonesuch.json", "cannot read nonesuch.json"),
        ("--from README.md", "README.md is no record of `press measure`"),
        ("--from book/measurements/nvidia-h200.json --levels 1", "cannot be used with"),
        ("--from book/measurements/nvidia-h200.json --out nonesuch/x.json", "cannot write nonesuch/x.json"),
        ("--from book/measurements/nvidia-h200.json --out README.md", "README.md is no record of `press tune`"),
    ] {
        refused(&format!("{SHIPPED} {words}").replace("--shipped --backend emulator --from", "--from"), answer);
    }
    if device::cuda::Gpu::find().is_err() {
        refused("tune --backend cuda", "no CUDA device");
        refused("measure", "no CUDA device");
    }
}
