//! A kernel with all that is said of it, ready to be tried.

use clap::parser::ValueSource;
use std::ffi::OsString;

use clap::{ArgMatches, CommandFactory, Parser};
use device::Device;
use gemm::report::Report;
use gemm::{Error, Shape, Source};

use super::{Carried, Try, adapt, operands, other, report, shape};
use crate::candidate::{Candidate, File, TRY, for_architecture, options};

/// A kernel that is ready to be tried, with its flags.
#[derive(Debug)]
pub struct Ready {
    pub(super) attempt: Try,
    matches: ArgMatches,
    pub(super) candidate: Candidate,
}

fn is_given(matches: &ArgMatches, flag: &str) -> bool {
    matches.value_source(flag) == Some(ValueSource::CommandLine)
}

/// The flags of a file and of the command line, read.
#[derive(Debug)]
pub struct Flags {
    pub(super) attempt: Try,
    matches: ArgMatches,
}

impl Flags {
    /// Reads those that the file carries, then `words`.
    pub fn read(file: &File, words: &[OsString]) -> Result<Flags, clap::Error> {
        let carried = ["lab try".to_string()].into_iter().chain(file.flags(TRY)).map(OsString::from);
        let all: Vec<OsString> = carried.chain(words.iter().cloned()).collect();
        let attempt = Carried::try_parse_from(&all)?.flags;
        Ok(Flags { attempt, matches: Carried::command().try_get_matches_from(&all)? })
    }

    /// The compiler's options.
    pub fn options(&self, file: &File) -> Vec<String> {
        let mut options = options(&file.text, self.attempt.arch.as_deref(), &self.attempt.define);
        options.extend(self.attempt.include.iter().map(|folder| format!("--include-path={}", folder.display())));
        options
    }

    /// Compiles the kernel, and takes from the file what no flag says.
    pub fn ready(self, file: &File) -> Result<Ready, Error> {
        let mut options = self.options(file);
        let Flags { mut attempt, matches } = self;
        let architecture = attempt.how.options()?.gpu.sm();
        let candidate = for_architecture(attempt.arch.is_some() || file.is_ptx(), &mut options, |options| {
            let candidate = file.kernel(attempt.entry.as_deref(), options, architecture)?;
            candidate.is_for_its_architecture()?;
            Ok(candidate)
        })?;
        adapt::adapt(&mut attempt, &|flag| is_given(&matches, flag), &candidate)?;
        Ok(Ready { attempt, matches, candidate })
    }
}

impl Ready {
    /// Whether a flag is given, by the file or on the command line.
    pub fn is_given(&self, flag: &str) -> bool {
        is_given(&self.matches, flag)
    }

    /// The sizes on which it is tried.
    pub fn shape(&self) -> Shape {
        shape(&self.attempt.sizes)
    }

    /// Whether JSON is asked for.
    pub fn json(&self) -> bool {
        self.attempt.json
    }

    /// The kernel's text.
    pub fn source(&self) -> Source<'_> {
        Source { path: &self.candidate.path, text: &self.candidate.text }
    }

    /// The kernel as people call it.
    pub fn name(&self) -> String {
        other::named(&self.candidate)
    }

    /// What the emulator counts, and whether the product is right.
    pub fn counted(&self) -> Result<Report, Error> {
        self.reported(&Device::Emulator)
    }

    /// The same of a device.
    pub fn reported(&self, device: &Device) -> Result<Report, Error> {
        let Ready { attempt, candidate, .. } = self;
        other::static_shared(candidate)?;
        let operands = operands(attempt, candidate, &self.shape())?;
        let reported = report(attempt, candidate, device, self.shape(), &operands);
        let (mut report, _) = reported.map_err(|error| other::in_words(attempt.layout.renamed(error), candidate))?;
        report.kernel.entry = other::named(candidate);
        Ok(report)
    }
}
