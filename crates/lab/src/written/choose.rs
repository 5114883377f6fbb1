//! The kernel that is meant, and of a template the instance.

use cuda_source::{Instance, Kernel, Program, entry_words};
use gemm::Error;

/// A kernel of a file, and of a template an instance.
#[derive(Debug, Clone)]
pub struct Choice {
    /// The kernel.
    pub kernel: Kernel,
    /// Its template's arguments.
    pub instance: Instance,
    /// As C++ writes it: `gemm<64, float>`.
    pub expression: String,
    /// Other instances of the same template in the file.
    pub others: Vec<String>,
}

impl Choice {
    /// Whether the compiler can be asked for it by its expression: a name of one kernel.
    pub fn is_named(&self, program: &Program) -> bool {
        let same = program.kernels().iter().filter(|kernel| kernel.name == self.kernel.name);
        !self.kernel.extern_c && same.count() == 1
    }
}

/// The kernel of this name, or the only one; `None` where the file's text shows none that may be meant.
pub fn choose(program: &Program, entry: Option<&str>) -> Result<Option<Choice>, Error> {
    let (name, arguments) = entry.map(entry_words).unwrap_or_default();
    let kernels = program.kernels();
    let is_meant = |kernel: &&Kernel| entry.is_none() || kernel.name == name || kernel.plain_name() == name;
    let meant: Vec<&Kernel> = kernels.iter().filter(is_meant).collect();
    match meant.as_slice() {
        [] if kernels.is_empty() || name.starts_with("_Z") => Ok(None),
        [] => Err(Error::usage(
            format!("there is no kernel `{name}`"),
            format!("the file has {}", list(program, kernels.iter())),
        )),
        [kernel] => instance(program, kernel, arguments).map(Some),
        several => Err(Error::usage(
            format!("the file has {} kernels that may be meant", several.len()),
            format!("choose by --entry: {}", list(program, several.iter().copied())),
        )),
    }
}

/// Kernels as `--entry` takes them.
fn list<'a>(program: &Program, kernels: impl Iterator<Item = &'a Kernel>) -> String {
    let said = |kernel: &Kernel| match program.instances(kernel).first() {
        Some(instance) if !kernel.template.is_empty() => format!("'{}'", instance.expression(kernel)),
        _ if !kernel.template.is_empty() => format!("'{}'", example(kernel)),
        _ => kernel.name.clone(),
    };
    kernels.map(said).collect::<Vec<_>>().join(", ")
}

/// An instance as it might be: `tiled<16, float>`.
fn example(kernel: &Kernel) -> String {
    let given = |parameter: &cuda_source::TemplateParameter| match &parameter.default {
        Some(default) => default.clone(),
        None if parameter.is_type() => "float".to_string(),
        None if parameter.kind.contains("bool") => "true".to_string(),
        None => "16".to_string(),
    };
    let arguments: Vec<String> = kernel.template.iter().map(given).collect();
    format!("{}<{}>", kernel.name, arguments.join(", "))
}

fn instance(program: &Program, kernel: &Kernel, arguments: Option<Vec<String>>) -> Result<Choice, Error> {
    let signature = kernel.signature();
    if let Some(arguments) = &arguments
        && kernel.template.is_empty()
    {
        let given = arguments.join(", ");
        return Err(Error::usage(
            format!("`{}` is no template, and <{given}> is given", kernel.name),
            format!("--entry {}", kernel.name),
        ));
    }
    let mut found = match &arguments {
        Some(arguments) => program.instance_of(kernel, arguments).into_iter().collect(),
        None => program.instances(kernel),
    };
    if kernel.template.is_empty() {
        found = vec![Instance { arguments: Vec::new(), assumed: Vec::new() }];
    }
    if found.is_empty() {
        let why = match &arguments {
            Some(arguments) => {
                format!("`{}<{}>` leaves arguments of `{signature}` open", kernel.name, arguments.join(", "))
            }
            None => format!(
                "`{}` is a template, `{signature}`, and the file launches no instance that can be read",
                kernel.name
            ),
        };
        return Err(Error::usage(why, format!("name one, as in --entry '{}'", example(kernel))));
    }
    let instance = found.remove(0);
    let others = found.iter().map(|other| other.expression(kernel)).collect();
    let expression = instance.expression(kernel);
    Ok(Choice { kernel: kernel.clone(), instance, expression, others })
}
