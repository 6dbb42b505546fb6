//! What happened when, and what it waited for: the raw material of a timeline.

use serde::Serialize;
use strum::{EnumMessage, IntoStaticStr, VariantArray};
use units::Time;

/// Why something took longer than it would have on an idle machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, VariantArray)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// Others were ahead in a queue.
    Queue,
    /// The bank was at work for another row or in recovery.
    Bank,
    /// Memory was refreshing.
    Refresh,
    /// Writes were being drained.
    WriteDrain,
    /// All units of this kind were busy.
    Unit,
    /// Another access held the lock.
    Lock,
    /// Lines that were used already had no verdict yet.
    Verdict,
}

/// What a piece of work is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, VariantArray, EnumMessage, IntoStaticStr)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum Verb {
    /// Read from memory.
    Fetch,
    /// Wrote to memory.
    Store,
    /// Wrote to memory as a part of a tuple.
    Persist,
    /// Waited until what was persisted had arrived.
    Fence,
    /// Completed a tuple.
    Complete,
    /// Looked into a cache.
    #[serde(rename = "look up")]
    #[strum(serialize = "look up")]
    LookUp,
    /// Decoded a line of counters.
    Decode,
    /// Computed what needs the nonce alone: a pad, offsets, the mask of a tag.
    Pad,
    /// Encrypted blocks of a line.
    Encrypt,
    /// Decrypted blocks of a line.
    Decrypt,
    /// Encrypted what a piece of a line may be, and made the tags of that.
    Speculate,
    /// Waited for the candidate that a piece is compared with, which came out of its unit later than the piece was there.
    Match,
    /// Computed the tag of a line of data, or of a piece of it.
    Mac,
    /// Computed the hash of a line of metadata.
    Hash,
    /// Went a leg of the way on the chip.
    Travel,
    /// Let the time pass in which the last-level cache might have answered.
    Outwait,
    /// Ran the operating system's handler of a missing record.
    Handle,
    /// Waited for a lock.
    Lock,
    /// Waited for verdicts.
    Await,
    /// Let a line out.
    Release,
    /// Had the verdict of a line that was let out ahead of it.
    Settle,
    /// Reported tampering.
    Fault,
}

/// What a verb is about: verbs of one subject look alike in a timeline.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, IntoStaticStr)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum Subject {
    /// Memory.
    Memory,
    /// Caches.
    Cache,
    /// Encryption.
    Encryption,
    /// Authentication of data.
    Authentication,
    /// The tree.
    Tree,
    /// The way on the chip.
    Way,
    /// Waiting for others.
    Wait,
    /// What leaves for the core.
    Exit,
    /// Tampering.
    Alarm,
}

impl Verb {
    /// What it is about.
    pub fn subject(self) -> Subject {
        match self {
            Verb::Fetch | Verb::Store | Verb::Persist | Verb::Fence | Verb::Complete => Subject::Memory,
            Verb::LookUp => Subject::Cache,
            Verb::Decode | Verb::Pad | Verb::Encrypt | Verb::Decrypt | Verb::Speculate | Verb::Match => {
                Subject::Encryption
            }
            Verb::Mac => Subject::Authentication,
            Verb::Hash => Subject::Tree,
            Verb::Travel | Verb::Outwait => Subject::Way,
            Verb::Handle | Verb::Lock | Verb::Await => Subject::Wait,
            Verb::Release | Verb::Settle => Subject::Exit,
            Verb::Fault => Subject::Alarm,
        }
    }

    /// What it means, in a sentence.
    pub fn summary(self) -> &'static str {
        self.get_documentation().unwrap_or_default()
    }
}

/// One piece of work: what, from when to when.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Span {
    /// What was done.
    pub verb: Verb,
    /// What it worked on.
    pub what: String,
    /// When it was asked for.
    #[serde(serialize_with = "as_fs")]
    pub start: Time,
    /// When it was done.
    #[serde(serialize_with = "as_fs")]
    pub end: Time,
    /// What it waited for, if it did.
    pub waited_for: Option<Cause>,
    /// A word on how it went: a row hit, a cache miss.
    pub outcome: Option<&'static str>,
}

impl Span {
    /// What it is called: verb and object.
    pub fn title(&self) -> String {
        format!("{} {}", <&str>::from(self.verb), self.what)
    }
}

fn as_fs<S: serde::Serializer>(time: &Time, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(time.as_fs())
}
