//! The chain of steps that secures a store, and the systems that a battery is sized for.

use protection::persistence::Early;
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

/// A scheme of SecPB: so many steps of the chain are *early*, done as a store enters the buffer. The others are *late*, and
/// the battery pays for them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Scheme {
    early: Early,
}

impl Scheme {
    /// All six, from the one that does nothing early to the one that leaves nothing.
    pub fn all() -> impl Iterator<Item = Scheme> {
        (0..=Step::CHAIN.len()).map(|early| Scheme { early: Early::beginning(early) })
    }

    /// The one with these early steps.
    pub fn of(early: Early) -> Scheme {
        Scheme { early }
    }

    /// The steps that are done as a store enters the buffer.
    pub fn early(self) -> &'static [Step] {
        self.early.steps()
    }

    /// The steps that are left to a drain.
    pub fn late(self) -> &'static [Step] {
        self.early.late()
    }
}

impl fmt::Display for Scheme {
    /// SecPB's name for it: the letters of its late steps (section IV).
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.late().is_empty() {
            return f.write_str("nogap");
        }
        self.late().iter().try_for_each(|step| write!(f, "{}", letter(*step)))
    }
}

/// How many hashes a line of secure eADR is charged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Accounting {
    /// Two, from which alone the published volume follows.
    AsPublished,
    /// As many as an entry of the buffer: one for each level of the tree, and the tag's.
    Consistent,
}

/// What a battery is sized for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum System {
    /// A secure persist buffer, by Table V: late steps, what they need, and the store in flight.
    Buffer(Scheme),
    /// The scheme without late steps by Table VI: all fields of all entries, and one entry more.
    WholeEntries,
    /// All caches, with encryption and tree.
    SecureEadr(Accounting),
    /// A persist buffer without security.
    Bbb,
    /// All caches, without security.
    Eadr,
}

impl System {
    /// All of them, in Table V's order.
    pub fn all() -> Vec<System> {
        let buffers = Scheme::all().map(System::Buffer).chain([System::WholeEntries]);
        let caches = [Accounting::AsPublished, Accounting::Consistent].map(System::SecureEadr);
        buffers.chain(caches).chain([System::Bbb, System::Eadr]).collect()
    }

    /// The steps that are done before a loss of power; none where there is no security, or all is left to the drain.
    pub fn early(self) -> &'static [Step] {
        match self {
            System::Buffer(scheme) => scheme.early(),
            System::WholeEntries => &Step::CHAIN,
            System::SecureEadr(_) | System::Bbb | System::Eadr => &[],
        }
    }

    /// The scheme whose drain it is, if it is one that can be carried out.
    pub fn scheme(self) -> Option<Scheme> {
        match self {
            System::Buffer(scheme) => Some(scheme),
            System::WholeEntries | System::SecureEadr(_) | System::Bbb | System::Eadr => None,
        }
    }

    /// Whether it is a buffer, whose energy depends on its entries.
    pub fn has_entries(self) -> bool {
        !matches!(self, System::SecureEadr(_) | System::Eadr)
    }

    /// From what its operations follow, in words.
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
