//! `mma.m8n8k4` of f16, with which every warp does four products.

use crate::draw::{Dice, Side};
use crate::forms::list;
use crate::{Case, WARPS};

pub struct QuadForm {
    name: String,
    ptx: String,
    /// Types of D and of C.
    sums: [&'static str; 2],
}

pub fn quad_forms() -> Vec<QuadForm> {
    let mut forms = Vec::new();
    for sums in [["f16", "f16"], ["f32", "f16"], ["f32", "f32"]] {
        for layouts in ["row.row", "row.col", "col.row", "col.col"] {
            forms.push(QuadForm::new(layouts, sums));
        }
    }
    forms
}

/// Registers of C or D.
fn registers(sums: &str) -> usize {
    if sums == "f16" { 4 } else { 8 }
}

impl QuadForm {
    fn new(layouts: &str, sums: [&'static str; 2]) -> QuadForm {
        let [d, c] = sums;
        let name = format!("m8n8k4.{layouts}.{d}.f16.f16.{c}");
        let [d_count, c_count] = sums.map(registers);
        let mut body = String::new();
        for (letter, from, count) in [("a", 0, 2), ("b", 2, 2), ("c", 4, c_count)] {
            for n in 0..count {
                body += &format!("ld.global.b32 %{letter}{n}, [%in+{}];\n", 4 * (from + n));
            }
        }
        let lists = [("d", d_count), ("a", 2), ("b", 2), ("c", c_count)].map(|(letter, count)| list(letter, count));
        body += &format!("mma.sync.aligned.{name} {};\n", lists.join(", "));
        for n in 0..d_count {
            body += &format!("st.global.b32 [%out+{}], %d{n};\n", 4 * n);
        }
        let declared = |kind: &str| if kind == "f32" { "f32" } else { "b32" };
        let ptx = format!(
            ".version 8.0\n.target sm_80\n.address_size 64\n\
             .visible .entry form(.param .u64 from, .param .u64 to)\n{{\n.reg .b64 %in, %out;\n.reg .b32 %t, %x, %y, %a<2>, %b<2>;\n\
             .reg .{} %c<8>;\n.reg .{} %d<8>;\n\
             ld.param.u64 %in, [from];\nld.param.u64 %out, [to];\ncvta.to.global.u64 %in, %in;\ncvta.to.global.u64 %out, %out;\n\
             mov.u32 %t, %tid.x;\nmov.u32 %x, %ctaid.x;\nmov.u32 %y, %ntid.x;\nmad.lo.u32 %t, %x, %y, %t;\n\
             mad.wide.u32 %in, %t, {}, %in;\nmad.wide.u32 %out, %t, {}, %out;\n{body}ret;\n}}\n",
            declared(c),
            declared(d),
            4 * (4 + c_count),
            4 * d_count
        );
        QuadForm { name, ptx, sums }
    }
}

impl Case for QuadForm {
    fn name(&self) -> &str {
        &self.name
    }

    fn ptx(&self) -> &str {
        &self.ptx
    }

    fn runs_on(&self, architecture: u32) -> bool {
        architecture >= 80
    }

    fn products(&self, wanted: usize) -> usize {
        wanted
    }

    fn in_a_block(&self) -> usize {
        WARPS
    }

    fn k(&self) -> usize {
        4
    }

    /// Of four products.
    fn sums(&self) -> usize {
        256
    }

    fn sum_bytes(&self) -> usize {
        if self.sums[0] == "f16" { 2 } else { 4 }
    }

    fn inputs(&self, dice: &mut Dice, products: usize) -> Vec<u8> {
        let mut bytes = Vec::new();
        for product in 0..products {
            for _ in 0..32 {
                for _ in 0..8 {
                    bytes.extend(&dice.element("f16", product, Side::Factor).to_le_bytes()[..2]);
                }
                let width = if self.sums[1] == "f16" { 2 } else { 4 };
                for _ in 0..8 {
                    bytes.extend(&dice.element(self.sums[1], product, Side::Addend).to_le_bytes()[..width]);
                }
            }
        }
        bytes
    }

    /// The registers of the lane that has the sum: which lanes have its factors depends on the layouts.
    fn terms(&self, input: &[u8], product: usize, n: usize) -> String {
        let bytes = 16 + 4 * registers(self.sums[1]);
        let lane = n / 8;
        let words = |lane: usize| -> String {
            let at = (product * 32 + lane) * bytes;
            let words = input[at..at + bytes].chunks_exact(4);
            let words = words.map(|word| word.iter().rev().map(|byte| format!("{byte:02x}")).collect::<String>());
            words.collect::<Vec<_>>().join(" ")
        };
        let quad = lane % 16 / 4;
        let others: Vec<String> = (0..8).map(|member| words(4 * quad + member % 4 + 16 * (member / 4))).collect();
        format!("sum {} of lane {lane}, of a quad with {}", n % 8, others.join("; "))
    }
}
