//! What host code sets for a kernel before its launch.

use crate::kernel::Kernel;
use crate::program::Program;
use crate::unit::Unit;

/// Names of the attribute that lets a launch have more dynamic shared memory than it gets without.
const SHARED_MEMORY: [&str; 2] =
    ["cudaFuncAttributeMaxDynamicSharedMemorySize", "CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES"];

impl Program {
    /// Whether host code seems to raise the dynamic shared memory that a kernel may have: a call names the attribute with this
    /// kernel, or with something that is no kernel's name, as in a helper.
    pub fn raises_shared_memory(&self, kernel: &Kernel) -> bool {
        let calls = self.units.iter().flat_map(|unit| calls(unit).map(move |at| named_before(unit, at)));
        let is_other = |word: &str| word != kernel.name && self.kernels().iter().any(|other| other.name == word);
        calls.into_iter().any(|words| words.contains(&kernel.name.as_str()) || !words.iter().any(|word| is_other(word)))
    }
}

/// Where the attribute is named.
fn calls(unit: &Unit) -> impl Iterator<Item = usize> {
    (0..unit.code.len()).filter(|&at| SHARED_MEMORY.contains(&unit.word(at)))
}

/// The words from the opening of a call to its argument here.
fn named_before(unit: &Unit, at: usize) -> Vec<&str> {
    let mut depth = 0;
    let mut words = Vec::new();
    for before in (0..at).rev() {
        match unit.word(before) {
            ")" => depth += 1,
            "(" if depth == 0 => break,
            "(" => depth -= 1,
            ";" | "{" | "}" => break,
            word => words.push(word),
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raises(host: &str) -> bool {
        let kernels = "__global__ void first(float* x) {}\n__global__ void second(float* x) {}\n";
        let program = Program::read("k.cu", &format!("{kernels}{host}"), &[], &mut |_| None);
        let first = program.kernels().iter().find(|kernel| kernel.name == "first").cloned();
        first.is_some_and(|kernel| program.raises_shared_memory(&kernel))
    }

    #[test]
    fn a_call_counts_for_the_kernel_that_it_names() {
        let call = |kernel: &str| {
            format!(
                "int main() {{ cudaFuncSetAttribute({kernel}, cudaFuncAttributeMaxDynamicSharedMemorySize, 65536); }}"
            )
        };
        assert!(raises(&call("first")));
        assert!(raises(&call("(const void*)first")));
        assert!(raises(&call("kernel")), "a helper's parameter");
        assert!(!raises(&call("second")));
        assert!(!raises("// cudaFuncAttributeMaxDynamicSharedMemorySize\nint main() { first<<<1, 1, 65536>>>(0); }"));
    }
}
