//! Order of the words of a line in memory. The order may become known later than the line arrives.
//!
//! ```text
//! line:    words ─ decrypt ─ tag, if it binds no bitmap ───┬─ in order ─ release
//! bitmap:  its own fetch ─ two encryptions ─┬──────────────┘
//!                                           └ tag that binds it, and candidates' tags that do
//! ```
//! Decryption processes the words in their order in memory and needs no bitmap (section 3.2.2 of the paper). The steps
//! that need the bitmap wait for it here.

use crate::speculation::Bitmap;
use crate::verbs::Fault;
use sim::Once;

/// Result of fetching the bitmap of a line: the bitmap, or the fault that the fetch ended with.
pub(crate) type Brought = Once<Result<Bitmap, Fault>>;

/// Order of the words of a line in memory, as its bitmap gives it.
#[derive(Clone, Copy)]
pub(crate) struct BitmapOrder<'a> {
    /// Result of fetching the bitmap; `None` if lines are not re-ordered.
    brought: Option<&'a Brought>,
    /// The bitmap of a line that booting has just put into memory, which counts whatever memory returns.
    booted: Option<Bitmap>,
}

impl<'a> BitmapOrder<'a> {
    /// Order of a line in a design that does not re-order lines.
    pub const AS_IT_IS: BitmapOrder<'static> = BitmapOrder { brought: None, booted: None };

    /// Returns the order that a bitmap gives when it arrives.
    pub fn by(brought: &'a Brought) -> BitmapOrder<'a> {
        BitmapOrder { brought: Some(brought), booted: None }
    }

    /// Returns the order of a line that booting has just put into memory with this bitmap, whatever memory returns for
    /// its bitmap. Accesses wait for the bitmap nevertheless, since a chip cannot distinguish this line from a written
    /// line.
    pub fn booted(self, bitmap: Bitmap) -> BitmapOrder<'a> {
        BitmapOrder { booted: Some(bitmap), ..self }
    }

    /// Returns true if lines have bitmaps.
    pub fn is_by_bitmap(self) -> bool {
        self.brought.is_some()
    }

    /// Returns the bitmap, or [`Bitmap::NONE`] before it has arrived.
    pub fn so_far(self) -> Bitmap {
        let brought = self.brought.and_then(Once::get);
        brought.map_or(Bitmap::NONE, |brought| self.of(*brought).unwrap_or_default())
    }

    /// Waits for the bitmap, or for the reason why the line is refused.
    pub async fn known(self) -> Result<Bitmap, Fault> {
        match self.brought {
            Some(brought) => self.of(*brought.wait().await),
            None => Ok(Bitmap::NONE),
        }
    }

    fn of(self, brought: Result<Bitmap, Fault>) -> Result<Bitmap, Fault> {
        brought.map(|bitmap| self.booted.unwrap_or(bitmap))
    }
}
