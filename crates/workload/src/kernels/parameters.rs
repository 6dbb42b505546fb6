//! What can be set about a kernel, and how a setting is checked.
//!
//! A parameter is a row of a table: name, what it accepts, default, meaning. Checking, help texts and errors all come
//! from that row, so a kernel reads values that are already right.

use std::collections::BTreeMap;
use std::fmt;
use thiserror::Error;
use units::Bytes;
use units::nearest;

/// What a parameter accepts; the bounds are included.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ParameterKind {
    /// A whole number of something.
    Count {
        /// What is counted.
        unit: &'static str,
        /// The smallest value.
        min: u64,
        /// The largest value.
        max: u64,
    },
    /// A size in bytes, as in `256 MB`.
    Size {
        /// The smallest value.
        min: Bytes,
        /// The largest value.
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
    fn parse(self, text: &str) -> Option<Value> {
        match self {
            ParameterKind::Count { min, max, .. } => {
                let count = text.trim().replace('_', "").parse().ok()?;
                (min..=max).contains(&count).then_some(Value::Count(count))
            }
            ParameterKind::Size { min, max } => {
                let size = text.parse::<Bytes>().ok()?;
                (min..=max).contains(&size).then_some(Value::Size(size))
            }
            ParameterKind::Choice(words) => {
                words.iter().find(|word| **word == text.trim()).map(|word| Value::Word(word))
            }
        }
    }
}

/// Something that can be set about a kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Parameter {
    /// Its name.
    pub name: &'static str,
    /// What it accepts, with its unit.
    pub kind: ParameterKind,
    /// Its value if nothing is said.
    pub default: &'static str,
    /// What it means, in one line.
    pub summary: &'static str,
}

/// Every kernel has this one.
pub const LOAD_VALUES: Parameter = Parameter {
    name: "load_values",
    kind: ParameterKind::Choice(&["no", "yes"]),
    default: "no",
    summary: "whether loads carry the value they got, for checking",
};

/// Every kernel has this one, too.
pub const SKIP: Parameter = Parameter {
    name: "skip",
    kind: ParameterKind::Count { unit: "instructions", min: 0, max: u64::MAX },
    default: "0",
    summary: "instructions executed before the stream begins, at little cost: nothing simulates them",
};

/// How often the work is done, in units of that name.
pub const fn repeated(name: &'static str, summary: &'static str) -> Parameter {
    Parameter { name, kind: ParameterKind::Count { unit: name, min: 1, max: u64::MAX }, default: "1_000", summary }
}

/// Why a kernel cannot be had as asked for.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum KernelError {
    /// No kernel has this name.
    #[error("there is no built-in kernel '{name}'{}; there are {}", hint(.nearest), .known.join(", "))]
    UnknownKernel {
        /// The name that was asked for.
        name: String,
        /// The most similar name, if any is similar.
        nearest: Option<&'static str>,
        /// All names.
        known: Vec<&'static str>,
    },
    /// The kernel has no such parameter.
    #[error("kernel {kernel} has no parameter '{name}'{}; it has {}", hint(.nearest), .known.join(", "))]
    UnknownParameter {
        /// The kernel.
        kernel: &'static str,
        /// The name that was given.
        name: String,
        /// The most similar name, if any is similar.
        nearest: Option<&'static str>,
        /// All its parameters.
        known: Vec<&'static str>,
    },
    /// The kernel has no recovery.
    #[error("kernel {kernel} keeps nothing over a loss of power: expected log, or btree with persistent=yes")]
    Forgetful {
        /// The kernel.
        kernel: &'static str,
    },
    /// The parameter does not accept this value.
    #[error("kernel {kernel}: {parameter} = '{value}' is not {expected}")]
    BadValue {
        /// The kernel.
        kernel: &'static str,
        /// The parameter.
        parameter: &'static str,
        /// The value that was given.
        value: String,
        /// What it accepts.
        expected: ParameterKind,
    },
}

fn hint(nearest: &Option<&str>) -> String {
    nearest.map_or(String::new(), |name| format!(" (did you mean {name}?)"))
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Value {
    Count(u64),
    Size(Bytes),
    Word(&'static str),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Count(count) => count.fmt(f),
            Value::Size(size) => size.fmt(f),
            Value::Word(word) => word.fmt(f),
        }
    }
}

/// A value for every parameter of a kernel.
#[derive(Clone, Debug)]
pub struct Settings(BTreeMap<&'static str, Value>);

impl Settings {
    /// The settings of `kernel`: `given` where given, else the defaults.
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

    /// The value of a count, or of a size in bytes.
    ///
    /// # Panics
    /// If the kernel has no such parameter.
    pub fn number(&self, name: &str) -> u64 {
        match self.0[name] {
            Value::Count(number) | Value::Size(Bytes(number)) => number,
            Value::Word(_) => panic!("{name} is a choice"),
        }
    }

    /// The chosen word.
    ///
    /// # Panics
    /// If the kernel has no such parameter.
    pub fn word(&self, name: &str) -> &'static str {
        match self.0[name] {
            Value::Word(word) => word,
            Value::Count(_) | Value::Size(_) => panic!("{name} is a number"),
        }
    }

    /// Whether loads are to carry their values.
    pub fn load_values(&self) -> bool {
        self.word(LOAD_VALUES.name) == "yes"
    }

    /// How many instructions pass before the stream begins.
    pub fn skip(&self) -> u64 {
        self.number(SKIP.name)
    }

    /// All settings that decide what is computed, as name and value.
    pub fn conditions(&self) -> Vec<(String, String)> {
        let deciding = self.0.iter().filter(|(name, _)| ![LOAD_VALUES.name, SKIP.name].contains(*name));
        deciding.map(|(name, value)| (name.to_string(), value.to_string())).collect()
    }
}
