//! How memory is divided for those who use it.

use units::{Bytes, LineLength};

/// How memory is divided.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Divided {
    /// Into pages.
    pub page: Bytes,
    /// Into lines.
    pub line: LineLength,
}

impl From<Bytes> for Divided {
    /// Into such pages, of lines of 64 bytes.
    fn from(page: Bytes) -> Divided {
        Divided { page, line: LineLength::WHOLE }
    }
}
