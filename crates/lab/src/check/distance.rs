//! How far a load from shared memory stands from the first use of what it brings.

use std::collections::HashMap;

use emulator::Class;
use emulator::stream::{Executed, Stream};

/// What a condition on that reads.
pub const DISTANCE: &str = "multiply-adds from a load of shared memory to its first use";

/// The multiply-adds that the first warp executes from a load to the first use, the median of its loads; nothing where
/// there are none.
pub fn distance(stream: &Stream) -> Option<u64> {
    let mut distances = distances(stream, stream.blocks.first()?.warps.first()?);
    distances.sort_unstable();
    distances.get(distances.len() / 2).copied()
}

fn distances(stream: &Stream, warp: &[Executed]) -> Vec<u64> {
    // By register: the load that it waits for.
    let mut waiting = HashMap::new();
    // By load: the multiply-adds before it, and those to its first use.
    let mut loads: Vec<(u64, Option<u64>)> = Vec::new();
    let mut done = 0;
    for code in warp.iter().filter_map(|executed| stream.code.get(executed.code as usize)) {
        let awaited = code.reads.iter().filter_map(|register| waiting.get(register).copied()).next();
        // A copy of a register is no use yet: what it writes waits as well.
        let is_copy = code.opcode.starts_with("mov.");
        for register in code.reads.iter().filter(|_| !is_copy) {
            let Some((before, first)) = waiting.get(register).and_then(|&load: &usize| loads.get_mut(load)) else {
                continue;
            };
            first.get_or_insert(done - *before);
        }
        let brings = match code.class {
            Some(Class::SharedLoad) => {
                loads.push((done, None));
                Some(loads.len() - 1)
            }
            _ => awaited.filter(|_| is_copy),
        };
        for &register in &code.writes {
            match brings {
                Some(load) => waiting.insert(register, load),
                None => waiting.remove(&register),
            };
        }
        done += u64::from(matches!(code.class, Some(Class::FmaF32 | Class::FmaF64)));
    }
    loads.into_iter().filter_map(|(_, first)| first).collect()
}

#[cfg(test)]
mod tests {
    use emulator::{Argument, Device, Dim3, Launch, Module};

    use super::*;

    /// One load, a copy of what it brings, and as many multiply-adds before its first use, and one that is that use.
    fn kernel(between: usize) -> String {
        let between = "fma.rn.f32 %f4, %f4, %f4, %f4;\n".repeat(between);
        format!(
            ".version 7.0\n.target sm_60\n.address_size 64\n.visible .entry k()\n{{\n.reg .f32 %f<9>;\n\
             .shared .align 4 .f32 s[1];\nmov.f32 %f1, 0f00000000;\nst.shared.f32 [s], %f1;\nmov.f32 %f4, %f1;\n\
             ld.shared.f32 %f2, [s];\nmov.f32 %f3, %f2;\n{between}fma.rn.f32 %f5, %f3, %f4, %f4;\n\
             st.shared.f32 [s], %f5;\nret;\n}}\n"
        )
    }

    #[test]
    fn multiply_adds_up_to_the_first_use_are_counted_through_copies() {
        for between in [0, 1, 70] {
            let module = Module::parse(&kernel(between)).unwrap();
            let kernel = module.kernel("k").unwrap();
            let arguments: [Argument; 0] = [];
            let stream = Device::new().record(&kernel, Launch::new(1, 32), &arguments, |_: Dim3| true).unwrap();
            assert_eq!(distance(&stream), Some(between as u64));
        }
        assert_eq!(distance(&Stream::default()), None);
    }
}
