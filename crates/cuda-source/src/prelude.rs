//! What nvcc knows without an `#include`, and NVRTC does not: a header that goes before everything.

use std::collections::BTreeSet;

/// The name of the header, for `--pre-include`.
pub const NAME: &str = "cuda_source_prelude.h";

/// NVRTC 12.0 has no constant expression for an infinity: there it is a call.
const WITHOUT_BIT_CAST: &str = "#if !__has_builtin(__builtin_bit_cast)\n\
    #define INFINITY __int_as_float(0x7f800000)\n\
    #define NAN __int_as_float(0x7fffffff)\n\
    #endif\n";

/// Macros of C's headers. `INFINITY` and `NAN` are constant expressions.
const MACROS: [(&str, &str); 33] = [
    ("INFINITY", "(__builtin_bit_cast(float, 0x7f800000))"),
    ("NAN", "(__builtin_bit_cast(float, 0x7fffffff))"),
    ("HUGE_VALF", "INFINITY"),
    ("HUGE_VAL", "((double)INFINITY)"),
    ("FLT_MAX", "3.402823466e+38F"),
    ("FLT_MIN", "1.175494351e-38F"),
    ("FLT_EPSILON", "1.192092896e-07F"),
    ("DBL_MAX", "1.7976931348623157e+308"),
    ("DBL_MIN", "2.2250738585072014e-308"),
    ("DBL_EPSILON", "2.2204460492503131e-16"),
    ("CHAR_BIT", "8"),
    ("SCHAR_MAX", "127"),
    ("UCHAR_MAX", "255"),
    ("SHRT_MAX", "32767"),
    ("USHRT_MAX", "65535"),
    ("INT_MAX", "2147483647"),
    ("INT_MIN", "(-2147483647 - 1)"),
    ("UINT_MAX", "4294967295U"),
    ("LLONG_MAX", "9223372036854775807LL"),
    ("ULLONG_MAX", "18446744073709551615ULL"),
    ("INT32_MAX", "2147483647"),
    ("INT32_MIN", "(-2147483647 - 1)"),
    ("UINT32_MAX", "4294967295U"),
    ("INT64_MAX", "9223372036854775807LL"),
    ("UINT64_MAX", "18446744073709551615ULL"),
    ("SIZE_MAX", "18446744073709551615ULL"),
    ("M_E", "2.7182818284590452354"),
    ("M_LOG2E", "1.4426950408889634074"),
    ("M_LN2", "0.69314718055994530942"),
    ("M_PI", "3.14159265358979323846"),
    ("M_PI_2", "1.57079632679489661923"),
    ("M_SQRT2", "1.41421356237309504880"),
    ("M_SQRT1_2", "0.70710678118654752440"),
];

/// Types of C's headers, as libcu++ has them under NVRTC: a type may be declared twice, but not in two ways.
const TYPES: [(&str, &str); 16] = [
    ("unsigned int", "uint"),
    ("unsigned short", "ushort"),
    ("unsigned long", "ulong"),
    ("signed char", "int8_t"),
    ("unsigned char", "uint8_t"),
    ("short", "int16_t"),
    ("unsigned short", "uint16_t"),
    ("int", "int32_t"),
    ("unsigned int", "uint32_t"),
    ("long long", "int64_t"),
    ("unsigned long long", "uint64_t"),
    ("long long", "intptr_t"),
    ("unsigned long long", "uintptr_t"),
    ("long", "ptrdiff_t"),
    ("long", "ssize_t"),
    ("long long", "intmax_t"),
];

/// Names of `std`, by the header that has them under `cuda/std`.
const STD: [(&str, &[&str]); 6] = [
    (
        "type_traits",
        &[
            "is_same",
            "is_same_v",
            "enable_if",
            "enable_if_t",
            "conditional",
            "conditional_t",
            "integral_constant",
            "true_type",
            "false_type",
            "decay",
            "decay_t",
            "remove_reference",
            "remove_reference_t",
            "remove_const",
            "remove_const_t",
            "remove_cv",
            "remove_cv_t",
            "is_floating_point",
            "is_floating_point_v",
            "is_integral",
            "is_integral_v",
            "make_unsigned_t",
            "void_t",
            "bool_constant",
            "is_pointer_v",
            "is_base_of_v",
            "is_convertible_v",
            "invoke_result_t",
            "underlying_type_t",
            "is_void_v",
            "is_trivially_copyable_v",
        ],
    ),
    ("limits", &["numeric_limits"]),
    (
        "utility",
        &[
            "pair",
            "make_pair",
            "integer_sequence",
            "index_sequence",
            "make_index_sequence",
            "make_integer_sequence",
            "exchange",
            "declval",
        ],
    ),
    (
        "tuple",
        &[
            "tuple",
            "get",
            "make_tuple",
            "tuple_size",
            "tuple_size_v",
            "tuple_element",
            "tuple_element_t",
            "tie",
            "apply",
        ],
    ),
    ("array", &["array"]),
    ("functional", &["plus", "multiplies", "less", "greater", "minus"]),
];

/// Names of `std` that the compiler knows outside of it.
const GLOBAL: [&str; 39] = [
    "uint8_t",
    "int8_t",
    "uint16_t",
    "int16_t",
    "uint32_t",
    "int32_t",
    "uint64_t",
    "int64_t",
    "size_t",
    "uintptr_t",
    "intptr_t",
    "ptrdiff_t",
    "sqrt",
    "abs",
    "fabs",
    "exp",
    "exp2",
    "expm1",
    "log",
    "log2",
    "log10",
    "log1p",
    "pow",
    "sin",
    "cos",
    "tan",
    "tanh",
    "atan2",
    "floor",
    "ceil",
    "round",
    "trunc",
    "fma",
    "fmod",
    "fmax",
    "fmin",
    "sqrtf",
    "printf",
    "hypot",
];

/// Names of `std` that are written here.
const WRITTEN: [(&str, &str); 4] = [
    ("min", "template <class T> __device__ constexpr const T& min(const T& a, const T& b) { return b < a ? b : a; }"),
    ("max", "template <class T> __device__ constexpr const T& max(const T& a, const T& b) { return a < b ? b : a; }"),
    (
        "clamp",
        "template <class T> __device__ constexpr const T& clamp(const T& x, const T& a, const T& b) { return x < a ? a : b < x ? b : x; }",
    ),
    ("swap", "template <class T> __device__ void swap(T& a, T& b) { T c = a; a = b; b = c; }"),
];

/// Headers of C that CUDA's own include, and that say nothing to a device.
pub const EMPTY: [&str; 6] = ["stdlib.h", "stdint.h", "stddef.h", "stdio.h", "string.h", "assert.h"];

/// The header's text. `std_names` are the names of namespace `std` that device code uses: libcu++ has them. `brought` are headers
/// that come by others which are not there.
pub fn text(std_names: &BTreeSet<String>, brought: &[&str]) -> String {
    let mut text = String::from("#pragma once\n");
    text += WITHOUT_BIT_CAST;
    for (name, value) in MACROS {
        text += &format!("#ifndef {name}\n#define {name} {value}\n#endif\n");
    }
    TYPES.iter().for_each(|(kind, name)| text += &format!("typedef {kind} {name};\n"));
    text += "using cudaStream_t = struct CUstream_st*;\n";
    let needed: Vec<&str> = STD
        .iter()
        .filter(|(_, names)| names.iter().any(|name| std_names.contains(*name)))
        .map(|(header, _)| *header)
        .collect();
    let used = |name: &str| std_names.contains(name);
    GLOBAL.iter().filter(|name| used(name)).for_each(|name| text += &format!("namespace std {{ using ::{name}; }}\n"));
    WRITTEN
        .iter()
        .filter(|(name, _)| used(name))
        .for_each(|(_, code)| text += &format!("namespace std {{ {code} }}\n"));
    brought.iter().for_each(|header| text += &format!("#include <{header}>\n"));
    needed.iter().for_each(|header| text += &format!("#include <cuda/std/{header}>\n"));
    if !needed.is_empty() {
        text += "namespace std { using namespace cuda::std; }\n";
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libcuxx_is_included_only_where_it_is_needed() {
        assert!(!text(&BTreeSet::new(), &[]).contains("#include"));
        let with = text(&BTreeSet::from(["numeric_limits".to_string(), "move".to_string()]), &[]);
        assert!(with.contains("#include <cuda/std/limits>\nnamespace std"), "{with}");
    }
}
