//! The chain of steps that secures a store, and the systems for which a battery is sized.

use protection::persistence::EarlySteps;
pub use protection::persistence::Step;
use std::fmt;

/// SecPB's letter for a step: counter, OTP, BMT root, ciphertext, MAC.
fn letter(step: Step) -> char {
    match step {
        Step::Counter | Step::Ciphertext => 'c',
        Step::Pad => 'o',
        Step::Root => 'b',
        Step::Tag => 'm',
    }
}

/// A scheme of SecPB. The first steps of the chain are *early*: they are executed when a store enters the buffer. The
/// remaining steps are *late*, and the battery supplies their energy.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct SecPbScheme {
    early: EarlySteps,
}

impl SecPbScheme {
    /// All six schemes, from the one without early steps to the one without late steps.
    pub fn all() -> impl Iterator<Item = SecPbScheme> {
        (0..=Step::CHAIN.len()).map(|early| SecPbScheme { early: EarlySteps::beginning(early) })
    }

    /// The scheme with these early steps.
    pub fn of(early: EarlySteps) -> SecPbScheme {
        SecPbScheme { early }
    }

    /// The steps that are executed when a store enters the buffer.
    pub fn early(self) -> &'static [Step] {
        self.early.steps()
    }

    /// The steps that remain for a drain.
    pub fn late(self) -> &'static [Step] {
        self.early.late()
    }
}

impl fmt::Display for SecPbScheme {
    /// Formats SecPB's name of the scheme: the letters of its late steps (section IV).
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.late().is_empty() {
            return f.write_str("nogap");
        }
        self.late().iter().try_for_each(|step| write!(f, "{}", letter(*step)))
    }
}

/// Number of hashes that a line of secure eADR is charged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Accounting {
    /// Two hashes, the only number that gives the published volume.
    AsPublished,
    /// The hashes of an entry of the buffer: one for each level of the tree, and one for the tag.
    Consistent,
}

/// A system for which a battery is sized.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum System {
    /// A secure persist buffer, by Table V: late steps with the fields that they need, and the store in flight.
    Buffer(SecPbScheme),
    /// The scheme without late steps, by Table VI: all fields of all entries, and one more entry.
    WholeEntries,
    /// All caches, with encryption and tree.
    SecureEadr(Accounting),
    /// A persist buffer without security.
    Bbb,
    /// All caches, without security.
    Eadr,
}

impl System {
    /// All systems, in the order of Table V.
    pub fn all() -> Vec<System> {
        let buffers = SecPbScheme::all().map(System::Buffer).chain([System::WholeEntries]);
        let caches = [Accounting::AsPublished, Accounting::Consistent].map(System::SecureEadr);
        buffers.chain(caches).chain([System::Bbb, System::Eadr]).collect()
    }

    /// The steps that are executed before a loss of power; empty without security, or if the drain executes all steps.
    pub fn early(self) -> &'static [Step] {
        match self {
            System::Buffer(scheme) => scheme.early(),
            System::WholeEntries => &Step::CHAIN,
            System::SecureEadr(_) | System::Bbb | System::Eadr => &[],
        }
    }

    /// The scheme of the drain, if the drain can be executed.
    pub fn scheme(self) -> Option<SecPbScheme> {
        match self {
            System::Buffer(scheme) => Some(scheme),
            System::WholeEntries | System::SecureEadr(_) | System::Bbb | System::Eadr => None,
        }
    }

    /// Returns true for a persist buffer: its energy depends on its number of entries.
    pub fn has_entries(self) -> bool {
        !matches!(self, System::SecureEadr(_) | System::Eadr)
    }

    /// The rule for the operations of the system, in words.
    pub fn formula(self) -> &'static str {
        match self {
            System::Buffer(_) => "entries x (late steps + the fields that they need) + one whole tuple in flight",
            System::WholeEntries => "(entries + 1) x all fields of an entry",
            System::SecureEadr(Accounting::AsPublished) => "all lines of caches x (move + tuple with 2 hashes)",
            System::SecureEadr(Accounting::Consistent) => "all lines of caches x (move + whole tuple)",
            System::Bbb => "entries x data",
            System::Eadr => "all lines of caches x data",
        }
    }
}

impl fmt::Display for System {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            System::Buffer(scheme) => scheme.fmt(f),
            System::WholeEntries => f.write_str("nogap-whole"),
            System::SecureEadr(Accounting::AsPublished) => f.write_str("secure-eadr"),
            System::SecureEadr(Accounting::Consistent) => f.write_str("secure-eadr-consistent"),
            System::Bbb => f.write_str("bbb"),
            System::Eadr => f.write_str("eadr"),
        }
    }
}
