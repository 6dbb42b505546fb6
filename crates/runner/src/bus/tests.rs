//! Tests of bus files: a reader returns the crossings as written, and refuses any other file.

use super::*;
use crate::run::{RunControl, RunOptions, run};
use proptest::prelude::*;
use protection::probe::{Content, Crossing};
use units::{LineAddr, Time};

/// A temporary folder of one test, deleted when it is dropped.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("casemate-bus-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.0).unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort_unstable();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn options(path: &Path, bytes: bool) -> RunOptions {
    let (mut machine, design) = (catalogue::machine("modern").unwrap(), catalogue::design("sc64-bmt").unwrap());
    // Small enough that the caches write lines back to memory.
    (machine.llc.size, machine.node.l2.size) = (units::Bytes(512 << 10), units::Bytes(128 << 10));
    let bus = Some(BusOptions { path: path.to_owned(), bytes });
    RunOptions { bus, ..RunOptions::new(machine, design, 100_000) }
}

fn gups() -> Box<dyn workload::Source> {
    workload::kernels::open("gups", &[("footprint".to_owned(), "64 MB".to_owned())].into(), 1).unwrap()
}

fn all(path: &Path) -> Result<(Vec<BusBlock>, BusTotals), BusError> {
    let mut reader = BusReader::open(path)?;
    let mut blocks = Vec::new();
    while let Some(block) = reader.next_block()? {
        blocks.push(block);
    }
    Ok((blocks, reader.totals()))
}

#[test]
fn a_bus_file_records_the_reads_and_writes_that_memory_counts_and_repeats_exactly() {
    let folder = Folder::new("counts");
    let [plain, again, bytes] = ["plain", "again", "bytes"].map(|name| folder.0.join(name));
    let record = run(&options(&plain, false), gups(), |_| RunControl::GoOn).unwrap();
    let (blocks, totals) = all(&plain).unwrap();
    let counted = record.dram;
    // The statistics of memory include reads that are under way at the end of the program, although their lines have
    // not crossed the pins.
    let queue = 64;
    assert!(totals.reads <= counted.reads && counted.reads <= totals.reads + queue, "{totals:?} {counted:?}");
    assert_eq!((totals.writes, totals.merged), (counted.writes, counted.merged));
    assert!(totals.writes > 1_000 && totals.forwarded <= counted.forwarded, "{totals:?} {counted:?}");
    let times: Vec<_> = blocks.iter().flat_map(|block| &block.times_fs).collect();
    assert!(times.is_sorted() && *times[times.len() - 1] == totals.last_fs);
    let header: serde_json::Value = serde_json::from_str(BusReader::open(&plain).unwrap().header()).unwrap();
    assert_eq!(header["configuration"]["design"]["name"], "sc64-bmt");
    assert_eq!((&header["bytes"], &header["shape"]["behind"]), (&false.into(), &0.into()));

    run(&options(&again, false), gups(), |_| RunControl::GoOn).unwrap();
    assert!(std::fs::read(&plain).unwrap() == std::fs::read(&again).unwrap(), "the same run gave another file");
    run(&options(&bytes, true), gups(), |_| RunControl::GoOn).unwrap();
    let (with_bytes, same) = all(&bytes).unwrap();
    assert_eq!(same, totals);
    assert!(with_bytes.len() > blocks.len(), "blocks are of bounded size");
    assert!(with_bytes.iter().all(|block| block.contents.len() < 2 << 20));
    let events = |blocks: &[BusBlock]| -> Vec<(u64, u64)> {
        let of = |block: &BusBlock| std::iter::zip(block.times_fs.clone(), block.lines.clone());
        blocks.iter().flat_map(of).collect()
    };
    assert_eq!(events(&blocks), events(&with_bytes));
    assert_eq!(folder.names(), ["again", "bytes", "plain"]);
}

#[test]
fn a_bus_file_orders_critical_word_first_reads_by_their_last_word() {
    let folder = Folder::new("first-word");
    let options = |name: &str, critical_word_first: bool| {
        let mut options = options(&folder.0.join(name), false);
        options.machine.memory.critical_word_first = critical_word_first.into();
        RunOptions { design: catalogue::design("none").unwrap(), ..options }
    };
    for critical_word_first in [false, true] {
        let options = options("file", critical_word_first);
        let counted = run(&options, gups(), |_| RunControl::GoOn).unwrap().dram;
        let (blocks, totals) = all(&folder.0.join("file")).unwrap();
        assert!(blocks.iter().flat_map(|block| &block.times_fs).is_sorted());
        assert!(totals.reads > 1_000 && totals.reads <= counted.reads && counted.reads <= totals.reads + 64);
    }
}

#[test]
fn writing_a_bus_file_changes_no_result() {
    let folder = Folder::new("result");
    let with = options(&folder.0.join("file"), true);
    let without = RunOptions { bus: None, ..with.clone() };
    let [with, without] = [with, without].map(|options| {
        let record = run(&options, gups(), |_| RunControl::GoOn).unwrap();
        let mut json = serde_json::to_value(record).unwrap();
        json.as_object_mut().unwrap().remove("host");
        json
    });
    assert_eq!(with, without);
}

#[test]
fn random_bus_transfers_survive_a_bus_file() {
    let folder = Folder::new("written");
    let path = folder.0.join("file");
    let mut random = units::random::Random::new(1);
    let crossing = |random: &mut units::random::Random| Crossing {
        line: LineAddr(random.word() >> random.below(64)),
        kind: if random.below(2) == 0 { machine::dram::Kind::Read } else { machine::dram::Kind::Write },
        burst: random.below(3) > 0,
        content: (random.below(2) == 0).then(|| Content { line: random.line(), spare: random.word() }),
    };
    let mut at = 0;
    let written: Vec<(u64, Crossing)> = (0..60_000)
        .map(|_| {
            at += random.word() >> (14 + random.below(50));
            (at, crossing(&mut random))
        })
        .collect();
    let configuration = options(&path, true).configuration(vec![gups().origin().clone()]);
    let header = BusHeader { configuration: &configuration, bytes: true, shape: Shape::from(8).into() };
    let mut writer = BusWriter::create(&path, &header).unwrap();
    assert_eq!(folder.names(), ["file.partial"]);
    written.iter().for_each(|(at, crossing)| writer.write(Time::from_fs(*at), crossing).unwrap());
    let totals = writer.finish().unwrap();
    let (blocks, read) = all(&path).unwrap();
    assert_eq!(totals, read);
    let mut expected = written.iter();
    for block in &blocks {
        let mut contents = block.contents.chunks(CONTENT_BYTES);
        for ((at, line), flags) in block.times_fs.iter().zip(&block.lines).zip(&block.flags) {
            let (written_at, crossing) = expected.next().unwrap();
            assert_eq!((at, line, *flags), (written_at, &crossing.line.0, block::flags_of(crossing)));
            if let Some(Content { line, spare }) = crossing.content {
                assert_eq!(contents.next().unwrap(), [&line[..], &spare.to_le_bytes()].concat());
            }
        }
        assert!(contents.next().is_none());
    }
    assert!(expected.next().is_none() && blocks.len() > 2);
}

#[test]
fn a_foreign_or_damaged_bus_file_is_refused_with_its_reason() {
    let folder = Folder::new("refused");
    let path = folder.0.join("file");
    run(&options(&path, true), gups(), |_| RunControl::GoOn).unwrap();
    let whole = std::fs::read(&path).unwrap();
    let refused = |bytes: &[u8]| {
        std::fs::write(&path, bytes).unwrap();
        all(&path).map(|_| ()).unwrap_err().to_string()
    };
    assert!(refused(b"CASEMTRC and more").ends_with("expected one that `casemate run --bus` has written"));
    assert!(refused(b"").contains("is not a bus file"));
    let mut newer = whole.clone();
    newer[8] = 2;
    assert!(refused(&newer).contains("of version 2; this Casemate reads version 1"));
    for cut in [12, 100, whole.len() / 2, whole.len() - 1] {
        assert!(refused(&whole[..cut]).contains("is truncated"), "{cut}");
    }
    assert!(refused(&[&whole[..], b"x"].concat()).contains("the file continues after the end record"));
    for at in (20..whole.len()).step_by(whole.len() / 50) {
        let mut flipped = whole.clone();
        flipped[at] ^= 4;
        let said = refused(&flipped);
        assert!(said.contains("is damaged") || said.contains("is truncated"), "{at}: {said}");
    }
}

proptest! {
    #[test]
    fn no_bytes_of_a_bus_file_block_make_its_decoder_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), counts in any::<[u8; 4]>()) {
        let _ = BusBlock::decode(&bytes);
        // Four sections of these lengths, so that the decoder reaches their content.
        let mut rest = &bytes[..];
        let sections = counts.map(|count| {
            let (section, after) = rest.split_at(rest.len().min(usize::from(count % 40)));
            rest = after;
            [&[section.len() as u8], section].concat()
        });
        let _ = BusBlock::decode(&sections.concat());
    }
}

#[test]
fn an_unusable_path_is_refused_before_the_run_and_leaves_no_file() {
    let folder = Folder::new("place");
    let check = |options: RunOptions| check_bus(&options.bus.clone().unwrap(), options.detail);
    let refused = |path: &Path| check(options(path, false)).unwrap_err().to_string();
    assert!(refused(&folder.0).ends_with("it is a folder; expected the name of a file"));
    assert!(refused(Path::new("/dev/full")).contains("it is a device or a pipe"));
    assert!(refused(&folder.0.join("no/file")).contains("there is no folder"));
    let sampled = RunOptions { detail: Detail::Sampled(Default::default()), ..options(&folder.0.join("file"), false) };
    assert!(matches!(check(sampled), Err(BusError::Sampled)));
    assert!(check(options(&folder.0.join("file"), false)).is_ok());
    assert!(folder.names().is_empty());
}

#[test]
fn a_stopped_run_keeps_the_earlier_bus_file() {
    let folder = Folder::new("given-up");
    let path = folder.0.join("file");
    std::fs::write(&path, "before").unwrap();
    assert!(run(&options(&path, false), gups(), |_| RunControl::Stop).is_err());
    assert_eq!((folder.names(), std::fs::read(&path).unwrap()), (vec!["file".to_owned()], b"before".to_vec()));
}

#[test]
fn each_of_several_simulations_has_a_file_with_its_name_before_the_suffix() {
    let name = |path: &str, names: &[&str]| BusOptions { path: path.into(), bytes: true }.of_one(names).path;
    assert_eq!(name("a/gups.bus", &["modern", "sc64-bmt"]), Path::new("a/gups.modern.sc64-bmt.bus"));
    assert_eq!(name("gups", &["none"]), Path::new("gups.none"));
    assert_eq!(name("gups.bus", &[]), Path::new("gups.bus"));
}
