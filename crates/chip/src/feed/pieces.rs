//! Cuts accesses of a recording at the boundaries of memory lines.

use units::{LineLength, VirtAddr};
use workload::stream::Access;

/// Returns the pieces of an access that is cut at the boundaries of lines of this length. Each piece has its address,
/// its number of bytes, and the number of bits of the value in earlier pieces.
pub(super) fn pieces(access: &Access, length: LineLength) -> impl Iterator<Item = (VirtAddr, usize, u32)> + use<> {
    let (start, bytes) = (access.addr.0, usize::from(access.bytes));
    let mut before = Some(0);
    std::iter::from_fn(move || {
        let done = before?;
        let addr = start + done as u64;
        let piece = (bytes - done).min(length.bytes() - length.offset(addr));
        before = Some(done + piece).filter(|done| *done < bytes);
        Some((VirtAddr(addr), piece, 8 * done as u32))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use workload::stream::AccessKind;

    #[test]
    fn accesses_are_split_exactly_at_cache_line_boundaries() {
        let cut = |addr, bytes, length| {
            let access = Access { addr: VirtAddr(addr), bytes, kind: AccessKind::Load, value: None };
            pieces(&access, length).map(|(addr, bytes, shift)| (addr.0, bytes, shift)).collect::<Vec<_>>()
        };
        assert_eq!(cut(60, 8, LineLength::WHOLE), [(60, 4, 0), (64, 4, 32)]);
        assert_eq!(cut(28, 8, LineLength::WHOLE), [(28, 8, 0)]);
        assert_eq!(cut(28, 8, LineLength::HALF), [(28, 4, 0), (32, 4, 32)]);
        assert_eq!(cut(24, 64, LineLength::HALF), [(24, 8, 0), (32, 32, 64), (64, 24, 320)]);
        assert_eq!(cut(64, 0, LineLength::HALF), [(64, 0, 0)], "an access of nothing is still one");
    }
}
