//! What an H200 counts of these products, and what the emulator does.

use std::collections::HashMap;

use emulator::{Report, TensorType};

use crate::product::all;

/// The metrics that are held to the emulator, and its numbers.
fn held(of: &str, report: &Report) -> Vec<(&'static str, u64)> {
    let total = &report.total;
    let (kind, operations) = match of {
        "bf16" => (TensorType::Bf16, "sm__ops_path_tensor_op_hgmma_src_bf16_dst_fp32.sum"),
        "f16" => (TensorType::F16, "sm__ops_path_tensor_op_hgmma_src_fp16.sum"),
        "tf32" => (TensorType::Tf32, "sm__ops_path_tensor_op_hgmma_src_tf32_dst_fp32.sum"),
        _ => (TensorType::Fp8, "sm__ops_path_tensor_src_fp8.sum"),
    };
    let tensor = total.tensor(kind);
    vec![
        ("sm__inst_executed_pipe_tensor_op_gmma.sum", tensor.instructions),
        ("l1tex__lsuin_requests_op_gmma.sum", tensor.instructions),
        (operations, 2 * tensor.multiply_adds),
        ("l1tex__data_pipe_lsu_wavefronts_mem_shared_op_gmma.sum", tensor.operand_wavefronts),
        ("sm__sass_inst_executed_op_tma_ld.sum", total.bulk.loads),
        ("sm__sass_inst_executed_op_tma_st.sum", total.bulk.stores),
        ("l1tex__m_xbar2l1tex_read_bytes_mem_global_op_tma_ld.sum", total.bulk.bytes_read),
        ("l1tex__m_l1tex2xbar_write_bytes_mem_global_op_tma_st.sum", total.bulk.bytes_written),
        ("l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum", total.global_store.sectors),
    ]
}

#[test]
fn counters_are_those_of_an_h200() {
    let text = include_str!("h200-counters.csv");
    let mut lines = text.lines().filter(|line| !line.starts_with('#'));
    let names: Vec<&str> = lines.next().expect("a row of names").split(',').collect();
    let (mut wrong, mut compared) = (Vec::new(), 0);
    for line in lines {
        let (name, numbers) = line.split_once(',').expect("a name");
        let numbers: HashMap<&str, u64> = names[1..]
            .iter()
            .copied()
            .zip(numbers.split(',').map(|number| number.parse().expect("a number")))
            .collect();
        let product = all().find(|product| product.name() == name).expect("a product of this name");
        let (_, report) = product.run(product.ptx(), None).unwrap_or_else(|error| panic!("{name}: {error}"));
        for (metric, here) in held(product.of.0, &report) {
            // Rows of a multicast that begin within a sector: the H200 counts more sectors than they touch.
            let unaligned = product.form.cluster > 1 && product.shape[0] == 200;
            if unaligned && metric.contains("read_bytes") {
                continue;
            }
            compared += 1;
            if here != numbers[metric] {
                wrong.push(format!("{name}: {metric} is {}, and {here} here", numbers[metric]));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {compared}:\n{}", wrong.len(), wrong.join("\n"));
    assert!(compared > 130, "{compared}");
}
