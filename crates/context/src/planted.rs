//! Planted bugs: the weaknesses that a context unit could have, one at a time.
//!
//! With the feature `planted-bugs` a unit can be built with exactly one of these, and a separate test must find each.
//! Without the feature the compiler removes them.

macro_rules! bugs {
    ($($(#[doc = $doc:literal])+ $name:ident),* $(,)?) => {
        /// One deliberate weakness of a context unit.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum Bug {
            $($(#[doc = $doc])+ $name,)*
        }

        impl Bug {
            /// All planted bugs, in the order of their definition.
            pub const ALL: &[Bug] = &[$(Bug::$name),*];
        }
    };
}

bugs! {
    // In interrupts, resumes and signals.
    /// An interrupt leaves `r12` as it is.
    RegisterNotBlanked,
    /// The visible set holds for every later interrupt.
    VisibleKept,
    /// A resume restores the visible registers from the buffer.
    VisibleNotTaken,
    /// A resume takes `rip` from the operating system, visible or not.
    RipFromSystem,
    /// A signal does not keep the interrupted instruction pointer.
    SignalLosesRip,
    /// A signal during a signal is accepted.
    SignalNests,

    // In roots.
    /// The root does not leave with the context.
    RootNotExported,
    /// A forced permutation's root does not reach a context in a buffer.
    ForcedRootLost,

    // In contexts that leave and return.
    /// A context leaves although its process has locked lines.
    LockedLinesIgnored,
    /// A context that left stays in its buffer as well.
    BufferKept,
    /// An import does not look its number up.
    NumberUnchecked,
    /// An import leaves its number in the table.
    AcceptedTwice,
    /// An import removes the lowest number of the table instead of the context's number.
    OtherNumberTaken,
    /// A full table drops its lowest number for a new one.
    TableForgets,
    /// The number of a context that returned is used for another context.
    NumberReused,
    /// The key that seals contexts is that of the boot before.
    KeySurvivesReset,
    /// An import fills the buffer that the running context needs.
    ReservedBufferFilled,
    /// The number of a new process is the count of processes on the chip.
    ProcessNumberReused,
}

/// The weakness that is built in, if any.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PlantedContextBug(Option<Bug>);

impl PlantedContextBug {
    /// The unit as designed, without a bug.
    pub const NONE: PlantedContextBug = PlantedContextBug(None);

    /// The unit with this weakness.
    #[cfg(feature = "planted-bugs")]
    pub const fn new(bug: Bug) -> PlantedContextBug {
        PlantedContextBug(Some(bug))
    }

    /// Returns true if this weakness is built in. Without the feature, the compiler knows that it is not.
    pub fn has(self, bug: Bug) -> bool {
        cfg!(feature = "planted-bugs") && self.0 == Some(bug)
    }
}
