//! Records real programs. Every test is skipped, with a message, where QEMU is not installed.

use crate::common::compiled::Compiled;
use crate::common::recorder;
use casemate_workload::live::{Input, Live, LiveOptions};
use casemate_workload::shadow::memory::ShadowMemory;
use casemate_workload::shadow::{Report, check_values};
use casemate_workload::stream::AccessKind;
use casemate_workload::trace::{TraceReader, record};
use casemate_workload::walker::{Event, Walker};
use casemate_workload::{Finish, Source, WorkloadError};
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

fn options(program: &[&str]) -> Option<LiveOptions> {
    recorder().map(|recorder| LiveOptions::new(program, recorder))
}

fn checked(program: &[&str]) -> Option<Report> {
    let options = LiveOptions { load_values: true, ..options(program)? };
    Some(check_values(Live::start(options).unwrap()).unwrap())
}

fn scratch(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("casemate-live-{name}-{}", std::process::id()))
}

/// Counts the processes with this word in their arguments.
fn alive(word: &str) -> usize {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let arguments = processes.filter_map(|process| std::fs::read(process.path().join("cmdline")).ok());
    arguments.filter(|words| String::from_utf8_lossy(words).contains(word)).count()
}

fn finish_of(mut live: Live) -> Result<Finish, WorkloadError> {
    while live.next_batch()?.is_some() {}
    Ok(live.origin().finish)
}

#[test]
fn every_load_of_a_live_recording_finds_its_recorded_value() {
    let script = "for n in 1 2 3; do echo $n; done | sort -r | gzip -c | gzip -dc | od -c; ls /";
    let Some(report) = checked(&["sh", "-c", script]) else { return };
    assert_eq!(report.wrong, 0, "{report:?}");
    assert!(report.loads > 100_000 && report.processes > 5, "{report:?}");
}

/// Each of three threads adds to separate words while other threads end. At the end of a thread the recorder forgets
/// the lines that the simulator has, often between the load and the store of one instruction.
#[test]
fn threads_that_end_do_not_corrupt_the_values_of_other_threads() {
    let Some(recorder) = recorder() else { return };
    let program = Compiled::new(
        "adding",
        "
        static uint64_t words[3][4 * PAGE] __attribute__((aligned(4096)));
        void *add(void *first) {
            uint64_t *word = first;
            for (int turn = 0; turn < 12; turn++)
                for (int at = 0; at < 4 * PAGE; at += 2) __asm__ volatile(\"addq $3, %0\" : \"+m\"(word[at]));
            return 0;
        }
        void *end(void *it) { return it; }
        pthread_t adding[3], ending;
        for (int n = 0; n < 3; n++) pthread_create(&adding[n], 0, add, words[n]);
        for (int n = 0; n < 200; n++) { pthread_create(&ending, 0, end, 0); pthread_join(ending, 0); }
        for (int n = 0; n < 3; n++) pthread_join(adding[n], 0);",
    );
    let options = LiveOptions { load_values: true, ..program.options(recorder) };
    let (mut walker, mut memory) = (Walker::new(Live::start(options).unwrap()), ShadowMemory::default());
    let (mut added, mut wrong) = (0, 0);
    while let Some(event) = walker.next().unwrap() {
        if let Event::Instruction(step) = &event {
            let process = step.strand.process;
            // The C library's threads race for words of four bytes; an addition is the only change of eight.
            if let [load, store] = step.accesses
                && (load.kind, store.kind, load.addr) == (AccessKind::Load, AccessKind::Store, store.addr)
                && (load.bytes, store.value) == (8, load.value.map(|value| value.wrapping_add(3)))
            {
                added += 1;
                wrong += u32::from(memory.load(process, load.addr, 8) != load.value);
            }
            for access in step.accesses.iter().filter(|access| access.kind == AccessKind::Store) {
                memory.store(process, access.addr, access.bytes, access.value.unwrap());
            }
        }
        memory.follow(&event);
    }
    assert_eq!((added, wrong), (3 * 12 * 8192, 0));
}

#[test]
fn two_recordings_of_a_program_have_the_same_instructions() {
    let Some(options) = options(&["gzip", "-c", "/bin/true"]) else { return };
    let pcs = || {
        let mut walker = Walker::new(Live::start(options.clone()).unwrap());
        let mut pcs = Vec::new();
        while let Some(event) = walker.next().unwrap() {
            if let Event::Instruction(step) = event {
                pcs.push(step.instruction.pc);
            }
        }
        pcs
    };
    assert!(pcs() == pcs());
}

#[test]
fn a_recording_window_ends_at_a_block_boundary_and_ends_the_program() {
    let Some(options) = options(&["gzip", "-9", "-c", "/dev/zero"]) else { return };
    let live = Live::start(LiveOptions { skip: 300_000, limit: Some(200_000), ..options }).unwrap();
    let path = scratch("window");
    let totals = record(live, &path).unwrap();
    assert!((200_000..201_000).contains(&totals.instructions), "{totals:?}");
    let mut reader = TraceReader::open(&path).unwrap();
    while reader.next_batch().unwrap().is_some() {}
    std::fs::remove_file(&path).unwrap();
    assert_eq!(reader.origin().finish, Finish::LimitReached);
}

#[test]
fn a_recording_states_the_exit_status_or_the_signal_of_the_program() {
    let Some(failing) = options(&["sh", "-c", "exit 7"]) else { return };
    assert_eq!(finish_of(Live::start(failing).unwrap()).unwrap(), Finish::Exited(7));
    let Some(dying) = options(&["sh", "-c", "kill -TERM $$"]) else { return };
    assert_eq!(finish_of(Live::start(dying).unwrap()).unwrap(), Finish::Killed(15));
}

#[test]
fn a_recording_that_is_dropped_leaves_no_process() {
    let Some(options) = options(&["sh", "-c", "while true; do : dropped-recording; done"]) else { return };
    let mut live = Live::start(options).unwrap();
    assert!(live.next_batch().unwrap().is_some());
    // The two processes are the keeper and the program.
    assert_eq!(alive("dropped-recording"), 2);
    drop(live);
    assert_eq!(alive("dropped-recording"), 0);
}

#[test]
fn a_daemon_of_a_recorded_program_is_ended_with_the_program() {
    let daemon = "setsid sh -c 'trap : TERM; while :; do sleep 1; : daemon-of-ours; done' & exit 3";
    let Some(options) = options(&["sh", "-c", daemon]) else { return };
    let mut live = Live::start(options).unwrap();
    let ender = live.ender();
    std::thread::spawn(move || {
        std::thread::sleep(Duration::from_secs(3));
        ender.end();
    });
    let started = Instant::now();
    while live.next_batch().unwrap().is_some() {}
    // The daemon did not end with its leader, but ended on request.
    assert!((2..8).contains(&started.elapsed().as_secs()), "{:?}", started.elapsed());
    assert_eq!(live.origin().finish, Finish::Running);
    assert_eq!(alive("daemon-of-ours"), 0);
}

#[test]
fn a_program_that_cannot_be_recorded_is_refused_with_the_reason() {
    let Some(options) = options(&["true"]) else { return };
    let start = |program: &str, change: fn(&mut LiveOptions)| {
        let mut options = LiveOptions { program: vec![program.into()], ..options.clone() };
        change(&mut options);
        Live::start(options).err().map(|error| error.to_string()).unwrap_or_default()
    };
    let foreign = scratch("aarch64");
    let head = [0x7f, b'E', b'L', b'F', 2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 183, 0];
    std::fs::write(&foreign, head).unwrap();
    assert!(start(foreign.to_str().unwrap(), |_| ()).contains("is not executable"));
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(&foreign, std::fs::Permissions::from_mode(0o755)).unwrap();
    assert!(start(foreign.to_str().unwrap(), |_| ()).contains("AArch64"));
    std::fs::write(&foreign, "no program").unwrap();
    assert!(start(foreign.to_str().unwrap(), |_| ()).contains("neither an ELF program nor a script"));
    std::fs::remove_file(&foreign).unwrap();
    assert!(start("no-such-program-here", |_| ()).contains("not found"));
    assert!(start("true", |options| options.qemu = Some("/no/qemu".into())).contains("qemu-user"));
    assert!(start("true", |options| options.qemu = Some("/bin/echo".into())).contains("recording needs QEMU 7 or 8"));
    assert!(start("true", |options| options.recorder = "/no/recorder.so".into()).contains("CASEMATE_RECORDER"));
    assert!(start("true", |options| options.keeper = Some("/no/keeper".into())).contains("'/no/keeper' is missing"));
}

#[test]
fn a_recorder_that_does_not_load_is_reported_with_the_message_of_qemu() {
    let Some(options) = options(&["true"]) else { return };
    let keeper = Some(options.recorder.with_file_name("casemate-keeper"));
    let live = Live::start(LiveOptions { recorder: "/proc/self/exe".into(), keeper, ..options }).unwrap();
    let error = finish_of(live).unwrap_err().to_string();
    assert!(error.contains("could not be recorded") && error.contains("lugin"), "{error}");
}

/// Returns a complete program of a few bytes: one segment at 4 MB with the headers and this code.
fn tiny_program(code: &[u8]) -> Vec<u8> {
    let bytes = 120 + code.len() as u64;
    let mut elf = vec![0x7f, b'E', b'L', b'F', 2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 62, 0, 1, 0, 0, 0];
    elf.extend([0x40_0078, 64, 0].iter().flat_map(|number: &u64| number.to_le_bytes()));
    elf.extend([0, 0, 64, 56, 1, 0, 0, 0].iter().flat_map(|number: &u16| number.to_le_bytes()));
    elf.extend([1, 0, 0, 0, 5, 0, 0, 0]);
    elf.extend([0, 0x40_0000, 0x40_0000, bytes, bytes, 0x1000].iter().flat_map(|number: &u64| number.to_le_bytes()));
    elf.extend(code);
    elf
}

#[test]
fn only_the_marked_region_is_recorded_from_the_block_after_its_first_marker() {
    let Some(options) = options(&["true"]) else { return };
    let marker = [0x48, 0x87, 0xdb];
    let before = [0xb9, 0xa0, 0x86, 0x01, 0x00, 0xff, 0xc9, 0x75, 0xfc]; // 100 000 times round a loop
    let jump = [0xeb, 0x00]; // ends the block of the first marker
    let exit = [0xb8, 0xe7, 0, 0, 0, 0x31, 0xff, 0x0f, 0x05];
    let code = [&before[..], &marker, &jump, &[0x90; 20], &marker, &exit].concat();
    let path = scratch("marked");
    std::fs::write(&path, tiny_program(&code)).unwrap();
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    let options = LiveOptions { program: vec![path.clone().into()], marked_region: true, ..options };
    let mut walker = Walker::new(Live::start(options).unwrap());
    let (mut steps, mut markers) = (0, 0);
    while let Some(event) = walker.next().unwrap() {
        steps += u32::from(matches!(event, Event::Instruction(_)));
        markers += u32::from(matches!(event, Event::Marker { .. }));
    }
    std::fs::remove_file(&path).unwrap();
    // The steps are 20 NOPs, the second marker, and the three instructions that end the program.
    assert_eq!((steps, markers), (24, 1));
}

/// A process has only one standard input. The test therefore starts itself again, with a pipe as standard input.
#[test]
fn a_program_reads_our_standard_input_only_on_request() {
    const CALLED_AGAIN: &str = "CASEMATE_TEST_INHERITS";
    let Some(options) = options(&["sh", "-c", "read word && test $word = hello"]) else { return };
    if std::env::var_os(CALLED_AGAIN).is_some() {
        let read = |input| finish_of(Live::start(LiveOptions { input, ..options.clone() }).unwrap()).unwrap();
        assert_eq!(read(Input::Nothing), Finish::Exited(1));
        assert_eq!(read(Input::Inherit), Finish::Exited(0));
        return;
    }
    let mut again = Command::new(std::env::current_exe().unwrap());
    again.args(["--exact", "live::a_program_reads_our_standard_input_only_on_request"]);
    again.env(CALLED_AGAIN, "1").stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = again.spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"hello\n").unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}
