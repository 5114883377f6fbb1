//! What host code sets for a kernel before its launch.

use crate::kernel::Kernel;
use crate::launch::{Launch, function_around};
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

/// Calls that fill memory with one byte, and the byte's place among their arguments.
const FILLS: [(&str, usize); 4] =
    [("cudaMemset", 1), ("cudaMemsetAsync", 1), ("cuMemsetD8", 1), ("cuMemsetD8Async", 1)];

impl Program {
    /// Whether host code launches a kernel as a cooperative grid, or seems to: some word of it says so.
    pub fn launches_cooperatively(&self) -> bool {
        self.units.iter().any(|unit| (0..unit.code.len()).any(|at| is_cooperative(unit.word(at))))
    }

    /// Which arguments of a launch host code fills with zeros before, in the same function.
    pub fn zeroed(&self, launch: &Launch) -> Vec<bool> {
        let unit = &self.units[launch.unit];
        let Some(function) = function_around(&unit.items, launch.at) else { return Vec::new() };
        let name = |from: usize, to: usize| (from..to).rev().find(|at| unit.is_name(*at)).map(|at| unit.word(at));
        let filled = (function.body.start..launch.at).filter_map(|at| {
            let (_, place) = FILLS.iter().find(|(call, _)| unit.word(at) == *call && unit.is_sign(at + 1, "("))?;
            let arguments = unit.list(at + 2, unit.behind_group(at + 1, launch.at).saturating_sub(1));
            let is_zero = arguments.get(*place).is_some_and(|&(from, to)| to == from + 1 && unit.word(from) == "0");
            arguments.first().filter(|_| is_zero).and_then(|&(from, to)| name(from, to))
        });
        let filled: Vec<&str> = filled.collect();
        let is_filled = |range: &std::ops::Range<usize>| {
            let named = if range.len() == 1 { name(range.start, range.end) } else { None };
            named.is_some_and(|name| filled.contains(&name))
        };
        launch.arguments.iter().map(is_filled).collect()
    }
}

fn is_cooperative(word: &str) -> bool {
    (word.starts_with("cuda") || word.starts_with("cu") || word.starts_with("CU"))
        && word.to_ascii_lowercase().contains("cooperative")
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
    fn what_host_code_says_of_a_launch_is_read() {
        let program = |host: &str| {
            Program::read("k.cu", &format!("__global__ void k(int* x, int* y) {{}}\n{host}"), &[], &mut |_| None)
        };
        let zeroed = |host: &str| {
            let program = program(host);
            program.zeroed(&program.launches()[0])
        };
        assert_eq!(zeroed("void f(int* a, int* b) { cudaMemsetAsync(b, 0, 4, s); k<<<1, 1>>>(a, b); }"), [false, true]);
        assert_eq!(zeroed("void f(int* a) { cudaMemset((void*)a, 0, 4); k<<<1, 1>>>(a, a + 1); }"), [true, false]);
        assert_eq!(zeroed("void f(int* a, int* b) { cudaMemset(a, 1, 4); k<<<1, 1>>>(a, b); }"), [false, false]);
        assert_eq!(zeroed("void f(int* a, int* b) { k<<<1, 1>>>(a, b); cudaMemset(a, 0, 4); }"), [false, false]);
        assert!(program("void f() { cudaLaunchCooperativeKernel(k, 1, 1, args, 0, 0); }").launches_cooperatively());
        assert!(!program("#include <cooperative_groups.h>\nvoid f() { k<<<1, 1>>>(0, 0); }").launches_cooperatively());
        assert!(
            !program("namespace cg = cooperative_groups;\nvoid f() { k<<<1, 1>>>(0, 0); }").launches_cooperatively()
        );
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
