//! Spans: records of work and waiting, from which timelines are made.

use serde::Serialize;
use strum::{EnumMessage, IntoStaticStr, VariantArray};
use units::Time;

/// Reason why a piece of work took longer than on an idle machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, VariantArray)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// Earlier requests in a queue had priority.
    Queue,
    /// The bank was busy with another row or in recovery.
    Bank,
    /// Memory was being refreshed.
    Refresh,
    /// Writes were drained from their queue.
    WriteDrain,
    /// All units of this kind were busy.
    Unit,
    /// Another access held the lock.
    Lock,
    /// Earlier speculative releases were still without a verdict.
    Verdict,
}

/// Kind of a piece of work.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, VariantArray, EnumMessage, IntoStaticStr)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum Verb {
    /// Read lines from memory.
    Fetch,
    /// Wrote lines to memory.
    Store,
    /// Wrote to memory as a part of a tuple.
    Persist,
    /// Waited until the persisted lines had arrived.
    Fence,
    /// Completed a memory tuple.
    Complete,
    /// Looked up a cache.
    #[serde(rename = "look up")]
    #[strum(serialize = "look up")]
    LookUp,
    /// Decoded a counter line.
    Decode,
    /// Computed values that need only the nonce: a pad, offsets, the mask of a tag.
    Pad,
    /// Encrypted blocks of a line.
    Encrypt,
    /// Decrypted blocks of a line.
    Decrypt,
    /// Encrypted the candidates for a piece of a line, and computed their tags.
    Speculate,
    /// Waited for the candidate to compare with a piece; its unit finished later than the piece arrived.
    Match,
    /// Computed the tag of a line of data, or of a piece of it.
    Mac,
    /// Computed the hash of a metadata line.
    Hash,
    /// Travelled a part of the path on the chip.
    Travel,
    /// Waited for the time in which the last-level cache might have answered.
    Outwait,
    /// Executed the operating system's handler of a missing record.
    Handle,
    /// Waited for a lock.
    Lock,
    /// Waited for outstanding verdicts.
    Await,
    /// Released a line to the core.
    Release,
    /// Received the verdict of a line that was released speculatively.
    Settle,
    /// Reported evidence of tampering.
    Fault,
}

/// Subject of a verb. Verbs with the same subject have the same style in a timeline.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, IntoStaticStr)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum Subject {
    /// Reads and writes of memory.
    Memory,
    /// Look-ups in all caches.
    Cache,
    /// Encryption of data and counters.
    Encryption,
    /// Authentication of data lines.
    Authentication,
    /// Hashes of the integrity tree.
    Tree,
    /// The path on the chip.
    Way,
    /// Waiting for other work.
    Wait,
    /// Release to the core.
    Exit,
    /// Reports of detected tampering.
    Alarm,
}

impl Verb {
    /// Returns the subject of the verb.
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

    /// Returns a sentence about the verb, which is its doc comment.
    pub fn summary(self) -> &'static str {
        self.get_documentation().unwrap_or_default()
    }
}

/// One piece of work with its start and end.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Span {
    /// Kind of the work.
    pub verb: Verb,
    /// Name of the object of the work.
    pub what: String,
    /// Time of the request.
    #[serde(serialize_with = "as_fs")]
    pub start: Time,
    /// Time of the completion.
    #[serde(serialize_with = "as_fs")]
    pub end: Time,
    /// Main cause of the waiting time, if the work was delayed.
    pub waited_for: Option<Cause>,
    /// The outcome in a word or two, such as a row hit or a cache miss.
    pub outcome: Option<&'static str>,
}

impl Span {
    /// Returns the title: verb and object.
    pub fn title(&self) -> String {
        format!("{} {}", <&str>::from(self.verb), self.what)
    }
}

fn as_fs<S: serde::Serializer>(time: &Time, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(time.as_fs())
}
