"""Casemate ended at any moment, by any signal: no process that it started outlives it.

`CASEMATE_KILLS=100 pytest python/tests/test_killed.py` ends it a hundred times; the usual tests do so a few times.
"""

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from casemate.laboratory.requests import recorder_path

pytestmark = pytest.mark.skipif(
    shutil.which("qemu-x86_64") is None or not recorder_path().is_file(), reason="recording needs QEMU and the recorder"
)

KILLS = int(os.environ.get("CASEMATE_KILLS", "12"))
SEED = int(os.environ.get("CASEMATE_KILLS_SEED", "1"))
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)
LATEST_SECONDS = 1.5
"""Latest moment of the signal, in seconds after the start of Casemate or of the program."""
GONE_SECONDS = 5.0
"""Maximum number of seconds until all processes and files must be gone."""
ENDED_SECONDS = 30.0
"""Maximum number of seconds until Casemate must have ended; it stores results first."""

SOURCE = r"""
// A program that is hard to get rid of, in the way that its argument says.
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile unsigned long sum;

static void *work(void *unused) {
    for (;;) sum++;
    return unused;
}

static void ignore_signals(void) {
    for (int number = 1; number < 32; number++) signal(number, SIG_IGN);
}

static void leave(void) {
    // A daemon as the books have it: a session of its own, no parent, no open files.
    if (fork()) return;
    setsid();
    if (fork()) _exit(0);
    for (int file = 0; file < 256; file++) close(file);
    ignore_signals();
    if (!fork()) work(0);
    for (;;) pause();
}

int main(int count, char **words) {
    const char *how = count > 1 ? words[1] : "";
    if (!strcmp(how, "crowd")) {
        for (int n = 0; n < 3; n++) fork();
        work(0);
    } else if (!strcmp(how, "threads")) {
        pthread_t thread;
        for (int n = 0; n < 3; n++) pthread_create(&thread, 0, work, 0);
        work(0);
    } else if (!strcmp(how, "deaf")) {
        ignore_signals();
        setsid();
        work(0);
    } else if (!strcmp(how, "daemon")) {
        leave();
        work(0);
    } else if (!strcmp(how, "orphans")) {
        leave();
    } else if (!strcmp(how, "restless")) {
        // A daemon that is another process every few milliseconds.
        leave();
        if (fork()) return 0;
        setsid();
        signal(SIGCHLD, SIG_IGN);
        for (;;) {
            if (fork()) _exit(0);
            usleep(5000);
        }
    } else if (!strcmp(how, "sleeper")) {
        for (;;) pause();
    } else if (!strcmp(how, "crash")) {
        for (int n = 0; n < 1000000; n++) sum++;
        *(volatile int *)8 = 1;
    }
    return 0;
}
"""
WAYS = ("crowd", "threads", "deaf", "daemon", "orphans", "restless", "sleeper")
SHELL = "while :; do ls / | sort | head -2; setsid sleep 100 & done"


@pytest.fixture(scope="module")
def stubborn(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The program."""
    folder = tmp_path_factory.mktemp("stubborn")
    (folder / "stubborn.c").write_text(SOURCE)
    program = folder / "stubborn"
    subprocess.run(["cc", "-O1", "-pthread", "-o", str(program), str(folder / "stubborn.c")], check=True)
    return str(program)


class Started:
    """Casemate as a separate process. It and all of its descendants have a mark in their environment."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        self._mark = f"CASEMATE_TEST={os.getpid()}-{time.monotonic_ns()}"
        name, _, value = self._mark.partition("=")
        self._shared = set(Path("/dev/shm").iterdir())
        self.process = subprocess.Popen(
            [sys.executable, "-m", "casemate", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=folder,
            env={**os.environ, name: value},
            start_new_session=True,
        )

    def alive(self) -> dict[int, str]:
        """The processes that carry the mark, with their arguments. A process that has ended has no environment."""
        found = {}
        for process in Path("/proc").glob("[0-9]*"):
            try:
                if self._mark.encode() in (process / "environ").read_bytes().split(b"\0"):
                    found[int(process.name)] = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            except (FileNotFoundError, ProcessLookupError, PermissionError):
                continue
        return found

    def wait_for(self, wanted: Callable[[dict[int, str]], bool], seconds: float = 20.0) -> dict[int, str]:
        """Waits until the processes fulfil the condition, and returns them."""
        deadline = time.monotonic() + seconds
        while not wanted(alive := self.alive()) and time.monotonic() < deadline:
            time.sleep(0.02)
        assert wanted(alive), alive
        return alive

    def check_nothing_is_left(self) -> None:
        """Fails if a process exists, or a file in shared memory that did not exist before."""
        self.wait_for(lambda alive: not alive, GONE_SECONDS)
        left = {path for path in set(Path("/dev/shm").iterdir()) - self._shared if str(self.process.pid) in path.name}
        assert not left

    def get_rid(self) -> None:
        """Ends the processes that a failed test may leave behind."""
        for pid in self.alive():
            os.kill(pid, signal.SIGKILL)
        self.process.communicate()


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Started]]:
    """Starts Casemate in an empty folder."""
    started: list[Started] = []

    def start_one(*arguments: str) -> Started:
        started.append(Started(tmp_path, *arguments))
        return started[-1]

    yield start_one
    for one in started:
        one.get_rid()


def _is_recording(alive: dict[int, str]) -> bool:
    return any("ring=" in words for words in alive.values())


@pytest.mark.parametrize("number", range(KILLS))
def test_no_process_outlives_casemate_after_any_signal_at_any_time(
    number: int, start: Callable[..., Started], stubborn: str
) -> None:
    draw = random.Random(f"{SEED} {number}")
    programs = [[stubborn, way] for way in WAYS] + [["/bin/sh", "-c", SHELL]]
    program = programs[number % len(programs)]
    command = draw.choice((["run", "--design", "none", "--limit", "all"], ["run"], ["record", "-o", "some.trace"]))
    started = start(*command, "--", *program)
    if draw.random() < 0.75:
        started.wait_for(_is_recording)
    time.sleep(draw.uniform(0.0, LATEST_SECONDS))
    how = SIGNALS[number % len(SIGNALS)]
    # A terminal sends Ctrl-C to the whole group.
    send = draw.choice((os.kill, os.killpg))
    send(started.process.pid, how)
    started.process.communicate(timeout=ENDED_SECONDS)
    started.check_nothing_is_left()


@pytest.mark.parametrize("how", SIGNALS)
def test_a_daemon_without_parents_does_not_delay_the_end(
    how: signal.Signals, start: Callable[..., Started], stubborn: str
) -> None:
    started = start("run", "--design", "none", "--", stubborn, "orphans")
    started.wait_for(_is_recording)
    time.sleep(1)
    begun = time.monotonic()
    started.process.send_signal(how)
    started.process.communicate(timeout=ENDED_SECONDS)
    assert time.monotonic() - begun < 10
    started.check_nothing_is_left()


def _killed_with_its_keeper(start: Callable[..., Started], stubborn: str) -> Started | None:
    """A run that was killed together with its keeper, so that some of its processes remain. `None` if another run of
    this computer has removed them already.
    """
    started = start("run", "--design", "none", "--", stubborn, "daemon")
    # The leader, the daemon and its child; the process between them may still exist, and the daemon not yet be asleep.
    started.wait_for(lambda alive: sum("ring=" in words for words in alive.values()) >= 4)
    time.sleep(1)
    alive = started.alive()
    # End the keeper first: it would notice the end of the other process at once, and clean up.
    keepers = [pid for pid, words in alive.items() if "casemate-keeper" in words.split(" ")[0]]
    for pid in [*keepers, started.process.pid]:
        os.kill(pid, signal.SIGKILL)
    started.process.wait()
    time.sleep(1)
    # The first process dies with the keeper; the daemon sleeps.
    return started if _is_recording(started.alive()) else None


def test_the_next_run_ends_programs_left_over_by_a_killed_recording_supervisor(
    start: Callable[..., Started], stubborn: str
) -> None:
    # Tests that run at the same time record now and then, but not all the time.
    left = next((left for _ in range(5) if (left := _killed_with_its_keeper(start, stubborn))), None)
    assert left, "nothing is left to be swept"
    assert start("run", "--design", "none", "--limit", "1K", "--", "/bin/true").process.wait() == 0
    left.check_nothing_is_left()


def test_sigterm_ends_the_program_and_keeps_its_results(start: Callable[..., Started], stubborn: str) -> None:
    started = start("run", "--design", "none", "--", stubborn, "sleeper")
    started.wait_for(_is_recording)
    time.sleep(2)
    started.process.terminate()
    out, err = started.process.communicate(timeout=ENDED_SECONDS)
    assert started.process.returncode == 143, err
    assert "Stopped by SIGTERM" in out
    assert "slowdown" in out


def test_a_program_that_a_signal_ends_keeps_its_results_and_names_the_signal(
    start: Callable[..., Started], stubborn: str
) -> None:
    run = start("run", "--design", "none", "--", stubborn, "crash")
    out, err = run.process.communicate(timeout=ENDED_SECONDS)
    assert run.process.returncode == 0, err
    assert "signal 11 (SIGSEGV)" in out
    assert "lines compared" in out
    record = start("record", "-o", "crash.trace", "--json", "--", stubborn, "crash")
    assert record.process.communicate(timeout=ENDED_SECONDS)
    assert record.process.returncode == 0
    shown = start("trace", "info", "crash.trace")
    assert "signal 11 (SIGSEGV)" in shown.process.communicate(timeout=ENDED_SECONDS)[0]
