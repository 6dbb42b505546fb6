//! The bug that only a table of owners can have.

use casemate_campaign::{Options, attack};
use catalogue::{Attack, End, Verdict};
use protection::planted::{Bug, PlantedBug};

/// The bug that is caught here.
pub const BUGS: [Bug; 1] = [Bug::GuestPageUnchecked];

fn ends(row: Attack, planted: PlantedBug) -> End {
    attack(&catalogue::design("sev-like").unwrap(), row, &Options { trials: 60, seed: 1, planted }).worst
}

#[test]
fn a_remapped_page_passes_if_only_the_owner_of_the_page_is_checked() {
    let planted = PlantedBug::new(Bug::GuestPageUnchecked);
    assert_eq!(ends(Attack::RemapPage, planted), Verdict::Forged);
    assert_eq!(ends(Attack::RemapPage, PlantedBug::NONE), Verdict::Refused);
    assert_eq!(ends(Attack::ForeignWrite, planted), Verdict::Refused, "but others are still refused");
    assert_eq!(ends(Attack::ForeignRead, planted), Verdict::Hidden, "and read no more than ciphertext");
}
