//! Parameters of kernels, and the checks of their values.
//!
//! A parameter is a row of a table: name, accepted values, default, meaning. Checks, help texts and errors use that
//! row, so a kernel reads only valid values.

use std::collections::BTreeMap;
use std::fmt;
use thiserror::Error;
use units::Bytes;
use units::nearest;

/// Accepted values of a parameter; the bounds are included.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ParameterKind {
    /// A whole number with a unit.
    Count {
        /// Unit of the number.
        unit: &'static str,
        /// Smallest number that is accepted.
        min: u64,
        /// Largest number that is accepted.
        max: u64,
    },
    /// A size in bytes, as in `256 MB`.
    Size {
        /// Smallest size that is accepted.
        min: Bytes,
        /// Largest size that is accepted.
        max: Bytes,
    },
    /// One of these words.
    Choice(&'static [&'static str]),
}

impl fmt::Display for ParameterKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ParameterKind::Count { unit, min, max } => write!(f, "a whole number of {unit} from {min} to {max}"),
            ParameterKind::Size { min, max } => write!(f, "a size from {min} to {max}, as in \"64 MB\""),
            ParameterKind::Choice(words) => write!(f, "one of {}", words.join(", ")),
        }
    }
}

impl ParameterKind {
    fn parse(self, text: &str) -> Option<ParameterValue> {
        match self {
            ParameterKind::Count { min, max, .. } => {
                let count = text.trim().replace('_', "").parse().ok()?;
                (min..=max).contains(&count).then_some(ParameterValue::Count(count))
            }
            ParameterKind::Size { min, max } => {
                let size = text.parse::<Bytes>().ok()?;
                (min..=max).contains(&size).then_some(ParameterValue::Size(size))
            }
            ParameterKind::Choice(words) => {
                words.iter().find(|word| **word == text.trim()).map(|word| ParameterValue::Word(word))
            }
        }
    }
}

/// A parameter of a kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Parameter {
    /// Name of the parameter.
    pub name: &'static str,
    /// Accepted values, with their unit.
    pub kind: ParameterKind,
    /// Default value, as text.
    pub default: &'static str,
    /// Meaning of the parameter, in one line.
    pub summary: &'static str,
}

/// Parameter of every kernel: loads carry their values.
pub const LOAD_VALUES: Parameter = Parameter {
    name: "load_values",
    kind: ParameterKind::Choice(&["no", "yes"]),
    default: "no",
    summary: "whether loads carry the value they got, for checking",
};

/// Parameter of every kernel: instructions to skip.
pub const SKIP: Parameter = Parameter {
    name: "skip",
    kind: ParameterKind::Count { unit: "instructions", min: 0, max: u64::MAX },
    default: "0",
    summary: "instructions executed before the stream begins, at little cost: they are not simulated",
};

/// Creates the parameter for the number of repetitions; its name is also its unit.
pub const fn repeated(name: &'static str, summary: &'static str) -> Parameter {
    Parameter { name, kind: ParameterKind::Count { unit: name, min: 1, max: u64::MAX }, default: "1_000", summary }
}

/// Reason why a kernel cannot be created with the given parameters.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum KernelError {
    /// No kernel has this name.
    #[error("there is no built-in kernel '{name}'{}; there are {}", hint(.nearest), .known.join(", "))]
    UnknownKernel {
        /// Name that the user gave.
        name: String,
        /// The most similar name, if any is similar.
        nearest: Option<&'static str>,
        /// Names of all kernels.
        known: Vec<&'static str>,
    },
    /// The kernel has no parameter of this name.
    #[error("kernel {kernel} has no parameter '{name}'{}; it has {}", hint(.nearest), .known.join(", "))]
    UnknownParameter {
        /// Name of the kernel.
        kernel: &'static str,
        /// The name that was given.
        name: String,
        /// The most similar name, if any is similar.
        nearest: Option<&'static str>,
        /// Names of all its parameters.
        known: Vec<&'static str>,
    },
    /// The kernel has no recovery.
    #[error("kernel {kernel} keeps no data over a loss of power: expected log, or btree with persistent=yes")]
    Forgetful {
        /// Name of the kernel.
        kernel: &'static str,
    },
    /// The parameter does not accept this value.
    #[error("kernel {kernel}: {parameter} = '{value}' is not {expected}")]
    BadValue {
        /// Name of the kernel.
        kernel: &'static str,
        /// Name of the parameter.
        parameter: &'static str,
        /// The value that was given.
        value: String,
        /// Values that the parameter accepts.
        expected: ParameterKind,
    },
}

fn hint(nearest: &Option<&str>) -> String {
    nearest.map_or(String::new(), |name| format!(" (did you mean {name}?)"))
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum ParameterValue {
    Count(u64),
    Size(Bytes),
    Word(&'static str),
}

impl fmt::Display for ParameterValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ParameterValue::Count(count) => count.fmt(f),
            ParameterValue::Size(size) => size.fmt(f),
            ParameterValue::Word(word) => word.fmt(f),
        }
    }
}

/// A value for every parameter of a kernel.
#[derive(Clone, Debug)]
pub struct Settings(BTreeMap<&'static str, ParameterValue>);

impl Settings {
    /// Returns the settings of `kernel`: the values in `given`, and defaults for the other parameters.
    ///
    /// # Errors
    /// [`KernelError`] for a name that is not among `parameters` and a value that its parameter does not accept.
    pub fn resolve(
        kernel: &'static str,
        parameters: &[Parameter],
        given: &BTreeMap<String, String>,
    ) -> Result<Settings, KernelError> {
        let known: Vec<_> = parameters.iter().map(|parameter| parameter.name).collect();
        if let Some(name) = given.keys().find(|name| !known.contains(&name.as_str())) {
            return Err(KernelError::UnknownParameter {
                kernel,
                name: name.clone(),
                nearest: nearest(name, known.iter().copied()),
                known,
            });
        }
        let resolve = |parameter: &Parameter| {
            let text = given.get(parameter.name).map_or(parameter.default, String::as_str);
            let refused = || KernelError::BadValue {
                kernel,
                parameter: parameter.name,
                value: text.to_owned(),
                expected: parameter.kind,
            };
            Ok((parameter.name, parameter.kind.parse(text).ok_or_else(refused)?))
        };
        parameters.iter().map(resolve).collect::<Result<_, _>>().map(Settings)
    }

    /// Returns the value of a count, or of a size in bytes.
    ///
    /// # Panics
    /// If the kernel has no parameter of this name, or if its value is a word.
    pub fn number(&self, name: &str) -> u64 {
        match self.0[name] {
            ParameterValue::Count(number) | ParameterValue::Size(Bytes(number)) => number,
            ParameterValue::Word(_) => panic!("{name} is a choice"),
        }
    }

    /// Returns the chosen word.
    ///
    /// # Panics
    /// If the kernel has no parameter of this name, or if its value is a number.
    pub fn word(&self, name: &str) -> &'static str {
        match self.0[name] {
            ParameterValue::Word(word) => word,
            ParameterValue::Count(_) | ParameterValue::Size(_) => panic!("{name} is a number"),
        }
    }

    /// True if loads must carry their values.
    pub fn load_values(&self) -> bool {
        self.word(LOAD_VALUES.name) == "yes"
    }

    /// Number of instructions to skip before the stream begins.
    pub fn skip(&self) -> u64 {
        self.number(SKIP.name)
    }

    /// All settings that affect the computation, as name and value.
    pub fn conditions(&self) -> Vec<(String, String)> {
        let deciding = self.0.iter().filter(|(name, _)| ![LOAD_VALUES.name, SKIP.name].contains(*name));
        deciding.map(|(name, value)| (name.to_string(), value.to_string())).collect()
    }
}
