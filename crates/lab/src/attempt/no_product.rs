//! Kernels that are no product of two matrices, as far as their parameters tell it.

use cuda_source::roles::{Role, size_named};
use cuda_source::types::Scalar;
use cuda_source::{Kernel, Parameter};

use crate::written::choose::Choice;

/// What a kernel multiplies instead of two matrices, as far as the names of its parameters tell it, and what to do.
pub fn no_product(kernel: &Kernel) -> Option<(String, String)> {
    let is_size = |parameter: &&Parameter| !parameter.pointer && parameter.scalar == Some(Scalar::Whole);
    let lower = |parameter: &Parameter| parameter.name.to_ascii_lowercase().replace('_', "");
    let sizes: Vec<&Parameter> = kernel.parameters.iter().filter(is_size).collect();
    let is_wide = |parameter: &Parameter| {
        ["long", "int64", "size_t", "ptrdiff"].iter().any(|word| parameter.type_name.contains(word))
    };
    let of_batch = |parameter: &&&Parameter| {
        let name = lower(parameter);
        name.contains("batch") || name.contains("stride") && is_wide(parameter)
    };
    let sanitize = "`lab sanitize` runs any kernel, with what is expected of a buffer by --expect";
    let of_addresses = |parameter: &&Parameter| {
        parameter.pointer && parameter.type_name.matches('*').count() + parameter.type_name.matches("[]").count() > 1
    };
    if let Some(list) = kernel.parameters.iter().find(of_addresses) {
        let why = format!("by `{} {}` it takes matrices by a list of their addresses", list.type_name, list.name);
        let hint = "--entry names a kernel that takes A, B and C themselves; one that takes one product of the list can be tried";
        return Some((why, hint.to_string()));
    }
    if let Some(size) = sizes.iter().find(of_batch) {
        return Some((
            format!("by `{} {}` it multiplies several matrices", size.type_name, size.name),
            format!(
                "{sanitize}; --args names the arguments of one of the products, with the number 1 or 0 for what counts them"
            ),
        ));
    }
    vector(kernel).map(|what| {
        let args: Vec<String> = kernel.parameters.iter().map(by_vector).collect();
        let args = match args.iter().any(|word| word == "?") {
            true => "A,B,C,M,K, in the kernel's order,".to_string(),
            false => format!("{},", args.join(",")),
        };
        let hint = format!("{sanitize}; --n 1 --args {args} takes the vector for a B of one column");
        (format!("by {what} it multiplies a matrix by a vector"), hint.replace(", takes", " takes"))
    })
}

/// The first parameter that is neither a pointer nor a number, of those without a role.
pub fn structure(choice: &Choice, known: &[Option<Role>]) -> Option<String> {
    let kernel = &choice.kernel;
    let open = kernel.parameters.iter().zip(known).filter(|(own, role)| role.is_none() && !own.pointer);
    let given = |own: &Parameter| {
        let place = kernel.template.iter().position(|of_template| of_template.name == own.element)?;
        choice.instance.arguments.get(place).cloned()
    };
    let is_number = |name: &str| {
        ["float", "double", "half", "int", "unsigned", "bool", "bfloat16", "size_t", "long"]
            .iter()
            .any(|word| name.contains(word))
    };
    let mut types = open
        .filter(|(own, _)| own.scalar.is_none())
        .map(|(own, _)| (own, given(own).unwrap_or_else(|| own.element.clone())));
    let (own, name) = types.find(|(_, name)| !name.is_empty() && !is_number(name))?;
    Some(format!("{name} {}", own.name))
}

/// What shows that a kernel multiplies a matrix by a vector: the names of both vectors and no third size, steps from one element of a vector to
/// the next, or its own name.
fn vector(kernel: &Kernel) -> Option<String> {
    let lower = |parameter: &Parameter| parameter.name.to_ascii_lowercase().replace('_', "");
    let pointers: Vec<&Parameter> = kernel.parameters.iter().filter(|parameter| parameter.pointer).collect();
    let is_whole = |parameter: &&Parameter| !parameter.pointer && parameter.scalar == Some(Scalar::Whole);
    let sizes = || kernel.parameters.iter().filter(is_whole);
    if let Some(step) = sizes().find(|size| matches!(lower(size).as_str(), "incx" | "incy" | "stridex" | "stridey")) {
        return Some(format!("`{}`", step.name));
    }
    let is_distance = |size: &&Parameter| {
        matches!(size_named(&size.name), Some(Role::Lda | Role::Ldb | Role::Ldc)) || is_distance(&lower(size))
    };
    let counted = sizes().filter(|size| !is_distance(size)).count();
    if pointers.len() != 3 || counted > 2 {
        return None;
    }
    let is_vector = |parameter: &&&Parameter| {
        matches!(
            lower(parameter).as_str(),
            "x" | "y" | "v" | "vec" | "vector" | "dx" | "dy" | "xvec" | "yvec" | "vecx" | "vecy" | "xd" | "yd"
        )
    };
    let vectors: Vec<String> = pointers.iter().filter(is_vector).map(|parameter| lower(parameter)).collect();
    let name = kernel.plain_name().to_ascii_lowercase();
    let is_named =
        ["gemv", "matvec", "mat_vec", "matrixvector", "matrix_vector"].iter().any(|word| name.contains(word));
    match (vectors.len(), is_named) {
        (2, _) if counted == 2 && !name.contains("mm") && !name.contains("matmul") => {
            Some(format!("`{}`", vectors.join("` and `")))
        }
        (_, true) => Some(format!("its name, `{}`,", kernel.plain_name())),
        _ => None,
    }
}

fn is_distance(name: &str) -> bool {
    matches!(name, "ld" | "pitch" | "stride" | "lda")
}

/// What a parameter is, where the vector is a B of one column.
fn by_vector(parameter: &Parameter) -> String {
    let name = parameter.name.to_ascii_lowercase().replace('_', "");
    let word = match name.trim_start_matches("d").trim_end_matches("d") {
        _ if name == "alpha" => "alpha=1.5",
        _ if name == "beta" => "beta=0.5",
        "a" | "mat" | "matrix" if parameter.pointer => "A",
        "x" | "v" | "vec" | "vector" | "xvec" if parameter.pointer => "B",
        "y" | "out" | "yvec" | "result" if parameter.pointer => "C",
        "m" | "rows" if !parameter.pointer => "M",
        "k" | "n" | "cols" if !parameter.pointer => "K",
        own if is_distance(own) => "K",
        _ => "?",
    };
    word.to_string()
}
