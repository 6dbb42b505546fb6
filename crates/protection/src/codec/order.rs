//! In which order the words of a line lie, which may be known later than the line is there.
//!
//! ```text
//! line:    words ─ decrypt ─ tag, if it binds no bitmap ───┬─ in order ─ release
//! bitmap:  its own fetch ─ two encryptions ─┬──────────────┘
//!                                           └ tag that binds it, and candidates' tags that do
//! ```
//! Decryption is about the line as it lies and needs no bitmap (section 3.2.2 of the paper). What does waits for it here.

use crate::speculation::Bitmap;
use crate::verbs::Fault;
use sim::Once;

/// What brings the bitmap of a line: the bitmap, or why there is none.
pub(crate) type Brought = Once<Result<Bitmap, Fault>>;

/// The bitmap that the words of a line lie by.
#[derive(Clone, Copy)]
pub(crate) struct Order<'a> {
    /// What brings it; nothing where lines are not re-ordered.
    brought: Option<&'a Brought>,
    /// Whether the line lies as it is all the same.
    booted: bool,
}

impl<'a> Order<'a> {
    /// Of a line where none is re-ordered.
    pub const AS_IT_IS: Order<'static> = Order { brought: None, booted: false };

    /// By the bitmap that comes so.
    pub fn by(brought: &'a Brought) -> Order<'a> {
        Order { brought: Some(brought), booted: false }
    }

    /// The same of a line that has just been put into memory: it lies as it is, whatever memory returns for its bitmap. The bitmap
    /// is waited for all the same, since a chip cannot tell such a line from one that was written.
    pub fn booted(self) -> Order<'a> {
        Order { booted: true, ..self }
    }

    /// Whether there are bitmaps at all.
    pub fn is_by_bitmap(self) -> bool {
        self.brought.is_some()
    }

    /// The bitmap, as far as it is known: none before it has come.
    pub fn so_far(self) -> Bitmap {
        let brought = self.brought.and_then(Once::get);
        brought.map_or(Bitmap::NONE, |brought| self.of(*brought).unwrap_or_default())
    }

    /// The bitmap, when it is there; or why the line is refused.
    pub async fn known(self) -> Result<Bitmap, Fault> {
        match self.brought {
            Some(brought) => self.of(*brought.wait().await),
            None => Ok(Bitmap::NONE),
        }
    }

    fn of(self, brought: Result<Bitmap, Fault>) -> Result<Bitmap, Fault> {
        brought.map(|bitmap| if self.booted { Bitmap::NONE } else { bitmap })
    }
}
