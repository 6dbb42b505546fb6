//! Checks that software is refused the pages of another owner, and only these.

use casemate_protection::design::{
    CipherChoice, CounterChoice, MacDesign, Parts, Persistence, SpeculationDesign, TreeKind,
};
use casemate_protection::execution::{Functional, Untimed, run_now};
use casemate_protection::ownership::{Asker, Owner, Ownership};
use casemate_protection::scheme::{Release, Scheme};
use casemate_protection::slot::Kind;
use casemate_protection::verbs::Fault;
use units::{Line, LineAddr};

const LINES: u64 = 1 << 16;
const PAGE: u64 = 77;
const LINE: LineAddr = LineAddr(PAGE * 64 + 5);
const TENANT: Asker = Asker { owner: Owner::TENANT, guest_page: PAGE };

struct Memory {
    scheme: Scheme,
    functional: Functional,
}

impl Memory {
    fn new(ownership: Ownership) -> Memory {
        let parts = Parts {
            cipher: CipherChoice::Aes128Xts,
            counters: CounterChoice::None,
            mac: MacDesign::default(),
            tree: TreeKind::None.into(),
            ownership,
            release: Release::Verified,
            speculation: SpeculationDesign::default(),
            permutation: None,
            caches: Default::default(),
            persistence: Persistence::default(),
        };
        let scheme = parts.build(LINES, 1).unwrap();
        let functional = Functional::new(scheme.layout().total_lines());
        Memory { scheme, functional }
    }

    fn write(&self, content: Line, asker: Asker) -> Option<Fault> {
        run_now(self.scheme.fixed().unwrap().write_as(&self.functional.verbs(), LINE, &content, asker));
        self.functional.take_fault()
    }

    fn read(&self, asker: Asker) -> Result<Line, Fault> {
        run_now(self.scheme.fixed().unwrap().read_as(&self.functional.verbs(), LINE, asker));
        match (self.functional.take_released(), self.functional.take_fault()) {
            (Some((LINE, plaintext)), None) => Ok(plaintext.bytes),
            (None, Some(fault)) => Err(fault),
            other => panic!("neither an answer nor a refusal: {other:?}"),
        }
    }
}

/// Software other than the owner, and the owner at another guest page.
const OTHERS: [Asker; 3] = [
    Asker { owner: Owner::HYPERVISOR, ..TENANT },
    Asker { owner: Owner::NEIGHBOUR, ..TENANT },
    Asker { guest_page: 78, ..TENANT },
];

#[test]
fn only_the_owner_at_its_guest_page_may_write_a_page_or_read_a_hidden_page() {
    for ownership in [Ownership::Pages, Ownership::PagesHidden] {
        let memory = Memory::new(ownership);
        assert_eq!(memory.write([1; 64], TENANT), None);
        for asker in OTHERS {
            if ownership == Ownership::PagesHidden || asker.owner == Owner::TENANT {
                assert_eq!(memory.read(asker), Err(Fault::Refused(LINE)), "{asker:?}");
            }
            assert_eq!(memory.write([2; 64], asker), Some(Fault::Refused(LINE)), "{asker:?}");
        }
        assert_eq!(memory.read(TENANT), Ok([1; 64]));
    }
}

#[test]
fn other_software_reads_and_rewrites_a_page_of_the_tenant_as_ciphertext() {
    let memory = Memory::new(Ownership::Pages);
    memory.write([1; 64], TENANT);
    let stored = memory.functional.media.borrow().read(memory.scheme.layout().data_slot(LINE).slot()).examine();
    for asker in [OTHERS[0], OTHERS[1]] {
        assert_eq!(memory.read(asker), Ok(stored), "{asker:?}");
    }
    assert_ne!(stored, [1; 64]);
    memory.write([2; 64], TENANT);
    let table = memory.scheme.layout().region(Kind::Owners).unwrap().slot(PAGE / 4);
    // Forges the table on the bus: the hypervisor owns the page, and later the tenant again.
    let owned_by = |owner: Owner| {
        let mut entries = [0; 64];
        entries[PAGE as usize % 4 * 16..][..4].copy_from_slice(&owner.0.to_le_bytes());
        run_now(memory.scheme.flush(&memory.functional.verbs()));
        memory.functional.media.borrow_mut().write(table, &entries);
    };
    owned_by(Owner::HYPERVISOR);
    assert_eq!(memory.write(stored, OTHERS[0]), None);
    owned_by(Owner::TENANT);
    assert_eq!(memory.read(TENANT), Ok([1; 64]), "an old line came back");
}

#[test]
fn a_reassigned_page_is_inaccessible_until_its_new_owner_validates_it() {
    let memory = Memory::new(Ownership::PagesHidden);
    memory.write([1; 64], TENANT);
    let neighbour = Asker { owner: Owner::NEIGHBOUR, ..TENANT };
    run_now(memory.scheme.fixed().unwrap().assign(&memory.functional.verbs(), LINE, neighbour));
    // The flush writes the table to memory, where it must have the same content as on the chip.
    run_now(memory.scheme.flush(&memory.functional.verbs()));
    for asker in [TENANT, neighbour] {
        assert_eq!(memory.read(asker), Err(Fault::Refused(LINE)), "{asker:?}");
    }
    let next_page = LineAddr(LINE.0 + 64);
    run_now(memory.scheme.write(&memory.functional.verbs(), next_page, &[3; 64]));
    assert_eq!(memory.functional.take_fault(), None, "the next page is the tenant's as before");
}

#[test]
fn a_design_without_owners_lets_any_software_read_any_page() {
    let memory = Memory::new(Ownership::None);
    memory.write([1; 64], TENANT);
    let neighbour = Asker { owner: Owner::NEIGHBOUR, guest_page: 3 };
    run_now(memory.scheme.fixed().unwrap().assign(&memory.functional.verbs(), LINE, neighbour));
    assert_eq!(memory.read(neighbour), Ok([1; 64]));
    assert_eq!(memory.scheme.layout().total_lines(), LINES);
}
