//! What a page steps through where lanes' addresses do not say it: boxes of tensors, operands of products, rows of matrices.

use std::collections::BTreeSet;

use serde_json::{Value, json};

/// The executions of a warp of the block (0, 0), on all lines.
fn steps(level: &str, (m, n, k): (u32, u32, u32), warp: u32) -> Vec<Value> {
    let request = json!({"level": level, "m": m, "n": n, "k": k, "dtype": "bf16", "step": {"warp": warp}});
    let answer: Value = serde_json::from_str(&page::multiply(&request.to_string())).unwrap();
    assert!(answer["error"].is_null(), "{}", answer["error"]);
    answer["executions"].as_array().unwrap().clone()
}

fn of<'a>(executions: &'a [Value], what: &str) -> Vec<&'a Value> {
    executions.iter().map(|one| &one["touched"]).filter(|touched| touched["what"] == what).collect()
}

fn chunks(touched: &[&Value]) -> Vec<u64> {
    let rows = touched.iter().flat_map(|touched| touched["rows"].as_array().unwrap());
    rows.flat_map(|row| row[0].as_array().unwrap()).map(|chunk| chunk.as_u64().unwrap()).collect()
}

#[test]
fn who_accesses_nothing_on_a_line_hears_which_warps_do() {
    let request = json!({"level": "13", "m": 128, "n": 256, "k": 64, "dtype": "bf16", "step": {"warp": 0}});
    let answer = |request: &Value| serde_json::from_str::<Value>(&page::multiply(&request.to_string())).unwrap();
    // The producer is the last warpgroup, and its first thread asks for the copies.
    let mut of_producer = request.clone();
    of_producer["step"]["warp"] = 8.into();
    let mut of_line = request;
    of_line["step"]["line"] = answer(&of_producer)["executions"][0]["line"].clone();
    let answer = answer(&of_line);
    assert_eq!((&answer["found"], &answer["warps"]), (&json!(0), &json!([8])));
}

/// Level 12 multiplies 128 × 256 of C by 64 of K in a block: a box of A, four of B, and eight warps.
#[test]
fn products_read_each_chunk_that_the_copies_have_written_and_no_other() {
    let all: Vec<Vec<Value>> = (0..8).map(|warp| steps("12", (128, 256, 64), warp)).collect();
    let boxes = of(&all[0], "box");
    let written: BTreeSet<u64> = chunks(&boxes).into_iter().collect();
    assert_eq!((boxes.len(), written.len()), (5, (128 + 256) * 128 / 16));
    assert_eq!(chunks(&boxes).len(), written.len(), "a chunk is written once");
    let mut read = BTreeSet::new();
    for (warp, executions) in all.iter().enumerate() {
        let [a, b] = ["A", "B"].map(|what| of(executions, what));
        assert_eq!((a.len(), b.len()), (4, 4), "warp {warp}: a product for each 16 of K");
        assert!(a.iter().all(|a| a["rows"].as_array().unwrap().len() == 16), "warp {warp}: its own rows of A");
        assert_eq!(chunks(&a).len(), 16 * 64 * 2 / 16);
        assert_eq!(chunks(&b).len(), 256 * 64 * 2 / 16);
        read.extend(chunks(&a).into_iter().chain(chunks(&b)));
        assert!(warp == 0 || of(executions, "box").is_empty(), "one thread asks for the copies");
    }
    assert_eq!(read, written);
}

#[test]
fn a_box_says_where_its_rows_come_from_and_which_lie_outside() {
    let executions = steps("12", (100, 256, 64), 0);
    let boxes = of(&executions, "box");
    let rows = boxes[0]["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 128);
    for (index, row) in rows.iter().enumerate() {
        let inside = if index < 100 { json!(["A", index * 128, row[1][2], 128]) } else { Value::Null };
        assert_eq!(row[1], inside, "row {index}");
        // A swizzle of 128 bytes: chunk c of row r lies in place c ^ r % 8.
        let start = rows[0][0][0].as_u64().unwrap() as usize;
        let expected: Vec<usize> = (0..8).map(|chunk| start + index * 128 + (chunk ^ (index % 8)) * 16).collect();
        assert_eq!(row[0], json!(expected), "row {index}");
    }
    // What leaves by a copy, too: level 20 stores C by boxes.
    let stores = (0..12).flat_map(|warp| steps("20", (256, 256, 64), warp));
    let of_c = stores.filter(|one| one["touched"]["rows"][0][1][0] == "C").count();
    assert_eq!(of_c, 2 * 256 / 64, "two warpgroups, 64 columns a copy");
}

#[test]
fn rows_of_matrices_cost_what_the_report_counts() {
    let executions = steps("11", (128, 256, 32), 0);
    let rows: Vec<&Value> =
        executions.iter().filter(|one| one["opcode"].as_str().unwrap().starts_with("ldmatrix")).collect();
    assert!(!rows.is_empty() && rows.iter().all(|one| one["cost"] == json!([4, 4]) && one["bytes"] == 16), "{rows:?}");
    assert!(rows.iter().all(|one| one["lanes"].as_array().unwrap().len() == 32));
}
