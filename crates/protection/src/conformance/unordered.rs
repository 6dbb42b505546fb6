//! A read of a line if its bitmap cannot be fetched, so that the order of its words is unknown.

use crate::bitmaps;
use crate::design::{
    BitmapTrust, CacheDesign, CipherChoice, CounterChoice, MacChoice, MacDesign, Over, Parts, SpeculationDesign,
    TreeKind,
};
use crate::execution::{Functional, Untimed, run_now};
use crate::ownership::Ownership;
use crate::persistence::Persistence;
use crate::scheme::Release;
use crate::speculation::Target;
use crate::verbs::Fault;
use units::{Bytes, LINE_BYTES, Line, LineAddr, WORD_BYTES};

fn parts(release: Release, of: &[Target], bitmap: BitmapTrust) -> Parts {
    let mac = MacDesign { code: MacChoice::OcbChunks, over: Over::Plaintext, ..MacDesign::default() };
    Parts {
        cipher: CipherChoice::Aes128OcbChunks,
        counters: CounterChoice::Rv64,
        mac: mac.with_chunk_bits(32),
        tree: TreeKind::None.into(),
        // The bitmap cache has room for one line, that of the last access.
        caches: CacheDesign { bitmaps: Some(Bytes(64)), ways: 1, ..CacheDesign::default() },
        persistence: Persistence::default(),
        ownership: Ownership::None,
        release,
        permutation: None,
        speculation: SpeculationDesign {
            values: 4,
            of: of.to_vec(),
            reorder: true,
            bitmap,
            ..SpeculationDesign::default()
        },
    }
}

#[test]
fn a_re_ordered_line_whose_bitmap_fetch_fails_is_refused_and_releases_no_word() {
    let both = [Target::Ciphertext, Target::Tag];
    let policies = [(Release::Verified, &both[..]), (Release::Speculative, &both[..1])];
    for ((release, of), bitmap) in
        policies.into_iter().flat_map(|each| [BitmapTrust::Bound, BitmapTrust::Loose].map(|bitmap| (each, bitmap)))
    {
        let scheme = parts(release, of, bitmap).build(1_024, 1).unwrap();
        let memory = Functional::new(scheme.layout().total_lines());
        let (line, other) = (LineAddr(5), LineAddr(5 + bitmaps::LINES_PER_LINE));
        let content: Line = std::array::from_fn(|byte| (byte / WORD_BYTES * LINE_BYTES) as u8);
        let read = |line| {
            run_now(scheme.read(&memory.verbs(), line));
            let first = memory.take_released_first().map(|(line, ..)| line);
            let released = memory.take_released().or_else(|| memory.take_refused()).map(|(line, _)| line);
            (first, released, memory.take_fault())
        };
        for each in [line, other] {
            run_now(scheme.write(&memory.verbs(), each, &content));
            assert_eq!(read(each), (None, Some(each), None), "{release:?}, {bitmap:?}");
        }
        // The chip refused the memory after a loss of power, and fetches no more metadata. Only the bitmap is missing.
        scheme.fixed().unwrap().metadata.on_chip(|chip| chip.power.rootless = true);
        assert_eq!(read(line), (None, None, Some(Fault::Root)), "{release:?}, {bitmap:?}");
        assert_eq!(read(other), (None, Some(other), None), "{release:?}, {bitmap:?}: its bitmap is there");
    }
}
