//! Tests which lines the shadow forgets, and how large it grows.

use super::*;

/// Forgets the lines that memory has, except lines that are on the chip.
pub(super) fn forget_all_but(shadow: &mut Shadow, is_on_chip: impl Fn(LineAddr) -> bool) {
    let lines: Vec<LineAddr> = shadow.entries.written_lines().into_iter().filter(|line| !is_on_chip(*line)).collect();
    shadow.forget(&lines);
}

#[test]
fn the_shadow_never_forgets_lines_that_memory_lacks_or_that_are_on_the_chip() {
    let mut shadow = Shadow::new(10);
    for line in 0..4 {
        shadow.show(LineAddr(line), &[line as u8; 64]);
    }
    for line in 0..3 {
        shadow.put(LineAddr(line));
    }
    shadow.store(LineAddr(1), 0..1, &[9]);
    forget_all_but(&mut shadow, |line| line == LineAddr(2));
    let kept = [0, 1, 2, 3].map(|line| shadow.known.index(LineAddr(line)).is_some());
    assert_eq!(kept, [false, true, true, true]);
}

#[test]
fn the_shadow_size_is_bounded_by_the_lines_on_chip_for_any_program_size() {
    const ON_CHIP: u64 = 20_000;
    let mut shadow = Shadow::new(1 << 20);
    for line in 0..1 << 19 {
        shadow.show(LineAddr(line), &[1; 64]);
        shadow.put(LineAddr(line));
        if shadow.is_crowded() {
            forget_all_but(&mut shadow, |other| other.0 + ON_CHIP > line);
        }
    }
    assert!(shadow.entries.held() <= FEW_LINES + 1, "{}", shadow.entries.held());
    assert!(shadow.footprint_bytes() < 16 << 20, "{}", shadow.footprint_bytes());
}
