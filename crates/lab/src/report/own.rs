//! A kernel from the reader's file, in the report: its verdicts, its times where there is a GPU, and what it asks of memory.

use std::ffi::OsString;
use std::path::Path;

use device::Device;
use gemm::report::Report;
use gemm::{Error, Shape};

use super::access::Access;
use super::{CHECKED, square};
use crate::attempt::{Flags, Ready};
use crate::candidate::File;
use crate::flags::How;
use crate::row::{Kind, Row};
use crate::table::markdown;
use crate::table::maybe;

/// Off the tiles of most kernels, in every direction; and the same for a kernel with one size.
const RAGGED: [Shape; 2] = [Shape { m: 101, n: 67, k: 43 }, Shape { m: 67, n: 67, k: 67 }];

/// What is known of the kernel.
pub struct Own {
    /// The file's path and the kernel's name.
    path: String,
    name: String,
    /// Each problem with what the emulator says of it.
    verdicts: Vec<(Shape, Result<String, String>)>,
    /// With a GPU, the times by size.
    pub rows: Vec<Row>,
    /// Counted at [`CHECKED`].
    pub access: Option<Access>,
}

/// Tries the kernel of a file as `lab try` does, at the sizes of the report.
///
/// # Errors
/// Where the file has no kernel of a matrix product, or it is not clear how it is called.
pub fn examined(file: &Path, sizes: &[u32], how: &How) -> Result<Own, Error> {
    let text = File::of_products(file)?;
    let ready = |shape: Shape| -> Result<Ready, Error> {
        let words = [
            file.as_os_str().to_owned(),
            format!("--m={}", shape.m).into(),
            format!("--n={}", shape.n).into(),
            format!("--k={}", shape.k).into(),
            format!("--seed={}", how.seed).into(),
            format!("--gpu={}", how.gpu).into(),
        ];
        let flags = Flags::read(&text, &words.map(OsString::from)).map_err(|error| {
            let said = error.to_string();
            Error::usage(
                said.lines().next().unwrap_or_default().trim_start_matches("error: "),
                "`lab try` takes the same flags",
            )
        })?;
        flags.ready(&text)
    };
    let first = ready(square(CHECKED))?;
    let mut own = Own {
        path: file.display().to_string(),
        name: first.name(),
        verdicts: Vec::new(),
        rows: Vec::new(),
        access: None,
    };
    let checked = first.counted();
    own.access = checked.as_ref().ok().and_then(|report| Access::of(report, &own.name, ""));
    own.verdicts.push((square(CHECKED), verdict(checked)?));
    // A kernel with one size refuses the first of these.
    let odd = RAGGED.into_iter().find_map(|shape| Some((shape, ready(shape).ok()?)));
    if let Some((shape, ready)) = odd {
        own.verdicts.push((shape, verdict(ready.counted())?));
    }
    if let device @ Device::Cuda(_) = how.quiet()? {
        for &size in sizes {
            let report = ready(square(size))?.reported(&device)?;
            let mut row =
                Row::new(own.name.clone(), String::new(), report.configuration.dtype, square(size), Kind::Measured);
            row.fill(&report);
            own.rows.push(row);
        }
    }
    Ok(own)
}

/// What is said of a run: that it is right, or what is wrong. That it cannot run at all is an error.
fn verdict(run: Result<Report, Error>) -> Result<Result<String, String>, Error> {
    match run {
        Ok(report) if report.check.right => Ok(Ok("right, and no fault".to_string())),
        Ok(report) => {
            let why = report.check.suggestion.clone().unwrap_or_default();
            Ok(Err(format!("wrong in {} of {} elements\n{why}", report.check.wrong, report.check.elements)
                .trim_end()
                .to_string()))
        }
        Err(Error::Fault(fault)) => Ok(Err(fault)),
        Err(error) => Err(error),
    }
}

impl Own {
    /// Whether something is wrong with it.
    pub fn is_wrong(&self) -> bool {
        self.verdicts.iter().any(|(_, said)| said.is_err())
    }

    /// The section of the report.
    pub fn section(&self) -> String {
        let said = |said: &Result<String, String>| match said {
            Ok(said) => said.clone(),
            Err(why) => format!("**{}**", why.lines().next().unwrap_or_default()),
        };
        let mut lines = vec![["M×N×K", "verdict of the emulator"].map(String::from).to_vec()];
        lines.extend(self.verdicts.iter().map(|(shape, verdict)| vec![shape.to_string(), said(verdict)]));
        let mut text = format!(
            "## The kernel of {}\n\n`{}`, tried on two problems:\n\n{}",
            self.path,
            self.name,
            markdown(&lines, 2)
        );
        for why in self.verdicts.iter().filter_map(|(_, said)| said.as_ref().err()).take(1) {
            text += &format!("\n```text\n{}\n```\n", why.trim_end());
        }
        if self.rows.is_empty() {
            return text
                + "\nNo time is predicted for a kernel of one's own: on a machine with a GPU, this report measures it.\n";
        }
        let mut lines = vec![["n", "ms (measured)", "GFLOP/s (measured)"].map(String::from).to_vec()];
        lines.extend(self.rows.iter().map(|row| vec![row.m.to_string(), maybe(row.ms), maybe(row.gflops)]));
        text + &format!("\n{}", markdown(&lines, 1))
    }
}
