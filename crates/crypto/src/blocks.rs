//! A line as the blocks of a cipher: four of AES, eight of Triple-DES.

use aes::cipher::{Array, Block, BlockSizeUser};
use units::{LINE_BYTES, Line};

/// Returns the blocks of a line.
pub(crate) fn blocks_of<C: BlockSizeUser>(line: &mut Line) -> &mut [Block<C>] {
    let (blocks, rest) = Array::slice_as_chunks_mut(line);
    debug_assert!(rest.is_empty(), "a line is whole blocks");
    blocks
}

/// Returns the number of blocks in a line.
pub(crate) fn blocks_per_line<C: BlockSizeUser>() -> u32 {
    (LINE_BYTES / C::block_size()) as u32
}

/// Computes `into ^= with`, as far as `with` reaches.
pub(crate) fn xor(into: &mut [u8], with: &[u8]) {
    for (byte, with) in into.iter_mut().zip(with) {
        *byte ^= with;
    }
}
