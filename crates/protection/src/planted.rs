//! Planted bugs: weaknesses that real implementations of memory protection have, one at a time.
//!
//! A campaign without findings proves something only if it would have found a weakness. With the feature
//! `planted-bugs`, a scheme can be built with exactly one weakness. The tests of the campaign require that it detects
//! each weakness. Without the feature the weaknesses do not exist in the program.

/// Defines an enumeration of weaknesses, with an ordered list of all of them; the weaknesses of nested enumerations are at
/// the end of the list.
macro_rules! bugs {
    ($(#[doc = $about:literal])+ $all:ident $(($($within:ident($inner:ident)),+))?: $($(#[doc = $doc:literal])+ $name:ident),* $(,)?) => {
        $(#[doc = $about])+
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum $all {
            $($(#[doc = $doc])+ $name,)*
            $($(
                /// A weakness of this nested enumeration.
                $within($inner),
            )+)?
        }

        impl $all {
            /// Returns every planted bug of this enumeration.
            pub fn all() -> impl Iterator<Item = $all> {
                let own = [$($all::$name),*].into_iter();
                $($(let own = own.chain($inner::all().map($all::$within));)+)?
                own
            }
        }
    };
}

mod bug;
mod caught;
mod chip_bug;
mod first_for_all;
mod last_block;
mod page_chunk_bug;
mod session_bug;
mod short_pad;

pub use bug::Bug;
pub use chip_bug::ChipBug;
use crypto::{LineCipher, LineMac};
use first_for_all::{FirstBlockForAll, FirstChunkForAll};
pub(crate) use last_block::without_last_block;
pub use page_chunk_bug::PageChunkBug;
pub use session_bug::SessionBug;
use short_pad::ShortPad;

/// The weakness built into one part, if any.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PlantedBug(Option<Bug>);

impl PlantedBug {
    /// No weakness: the part works as designed.
    pub const NONE: PlantedBug = PlantedBug(None);

    /// Returns this weakness, to be built into one part.
    #[cfg(feature = "planted-bugs")]
    pub const fn new(bug: Bug) -> PlantedBug {
        PlantedBug(Some(bug))
    }

    /// Returns whether this weakness is built in. Without the feature, the result is a constant false.
    pub fn has(self, bug: impl Into<Bug>) -> bool {
        cfg!(feature = "planted-bugs") && self.0 == Some(bug.into())
    }

    /// Returns a mode of encryption, with the planted weakness, if any.
    pub(crate) fn weakened(self, mode: Box<dyn LineCipher>) -> Box<dyn LineCipher> {
        if self.has(Bug::BlockIndexMissing) {
            return Box::new(FirstBlockForAll(mode));
        }
        if self.has(Bug::PadTopBitsMissing) { Box::new(ShortPad(mode)) } else { mode }
    }

    /// Returns an authentication code, with the planted weakness, if any.
    pub(crate) fn weakened_code(self, code: Box<dyn LineMac>) -> Box<dyn LineMac> {
        let weakened = self.has(Bug::ChunkIndexMissing) && code.chunks() > 1;
        if weakened { Box::new(FirstChunkForAll(code)) } else { code }
    }
}
