"""Clients and workers of a study killed in the middle: every point is done exactly once, as `casemate.run` does it.

The usual tests take a small study; `CASEMATE_DRILL=full` takes six designs, six recorded programs and two machines on
four workers.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from casemate import CasemateError, api
from casemate.laboratory.requests import RunOptions, Trace
from casemate.studies import study_file, table
from casemate.studies.recordings import content_hash
from casemate.studies.study import Study

distributed: Any = pytest.importorskip("distributed")

FULL = os.environ.get("CASEMATE_DRILL") == "full"
DESIGNS = ("none", "ctr-mac", "ctr-mac-version", "sc64-bmt", "xts", "ctr-only")[: 6 if FULL else 3]
MACHINES = ("modern", "champsim-default")[: 2 if FULL else 1]
WORKERS = 4 if FULL else 2
KILLS = 2
SUM = "my $s = 0; my @a = map { $_ * 7919 % 65537 } 1 .. 20000; $s += $_ for sort { $a <=> $b } @a; print $s"
COMMANDS: tuple[tuple[str, ...], ...] = (
    ("ls", "-l", "/usr/bin"),
    ("perl", "-e", SUM),
    ("gzip", "-9", "-c", "/usr/bin/perl"),
    ("sort", "/etc/services"),
    ("sha256sum", "/usr/bin/perl"),
    ("find", "/usr/share/doc"),
)[: 6 if FULL else 2]
LIMIT = 600_000 if FULL else 250_000
GONE_SECONDS = 10.0
"""Maximum number of seconds until the processes of a killed client must have gone."""
SECONDS = 240.0
"""Maximum number of seconds until the number of finished points has reached the limit."""


class Client:
    """`casemate sweep` as a separate process. It and its workers have a mark in their environment."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        self._mark = f"CASEMATE_TEST={os.getpid()}-{time.monotonic_ns()}"
        name, _, value = self._mark.partition("=")
        command = [sys.executable, "-m", "casemate", "sweep", *arguments]
        self.process = subprocess.Popen(
            command,
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, name: value},
        )

    def processes(self) -> list[int]:
        """Returns the client and all processes that it started, as far as they run."""
        found = []
        for entry in Path("/proc").iterdir():
            try:
                if entry.name.isdigit() and self._mark.encode() in (entry / "environ").read_bytes():
                    found.append(int(entry.name))
            except OSError:
                continue
        return found

    def workers(self) -> list[int]:
        """Returns the worker processes."""
        found = []
        for process in self.processes():
            try:
                if b"spawn_main" in Path(f"/proc/{process}/cmdline").read_bytes():
                    found.append(process)
            except OSError:
                continue
        return found

    def gone(self) -> bool:
        """Waits until no process is left; returns false if one is."""
        late = time.monotonic() + GONE_SECONDS
        while self.processes() and time.monotonic() < late:
            time.sleep(0.1)
        return not self.processes()


def rows(folder: Path) -> list[dict[str, Any]]:
    """Returns the rows that a folder has at this moment."""
    try:
        columns = ["point", "status", "record", "program", "machine", "design"]
        return [row for path in table.written(folder) for row in table.read(path, columns)]
    except CasemateError:
        return []  # a table was merged meanwhile


def until_rows(client: Client, folder: Path, number: int) -> None:
    """Waits until a folder has this many rows, or the client has ended."""
    late = time.monotonic() + SECONDS
    while len(rows(folder)) < number and client.process.poll() is None:
        assert time.monotonic() < late, "the study does not progress"
        time.sleep(0.05)


@pytest.fixture
def study(tmp_path: Path) -> Study:
    """A study of recorded programs, in a file."""
    programs = [{"command": list(command), "limit": LIMIT} for command in COMMANDS]
    study = Study(name="drill", programs=programs, designs=DESIGNS, machines=MACHINES)
    (tmp_path / "drill.toml").write_text(study_file.to_toml(study))
    return study


def alone(trace: Path, machine: str, design: str) -> dict[str, Any]:
    """Returns the record of a run in this process, without the figures of the host."""
    options = RunOptions(limit=LIMIT, protection=False)
    record = api.run(Trace(trace), designs=design, machine=machine, options=options).records[0]
    return without_host(record.to_json())


def without_host(record: str) -> dict[str, Any]:
    return {name: value for name, value in json.loads(record).items() if name != "host"}


def check_all(folder: Path, points: int) -> None:
    """Checks that the folder has every point exactly once, each as a run in this process has it, and no other files."""
    found = rows(folder)
    assert len(found) == len({row["point"] for row in found}) == points
    assert {row["status"] for row in found} == {"done"}
    traces = {path.name.rsplit("-", 2)[0]: path for path in (folder / "_traces").glob("*.trace")}
    checked = found if FULL else found[:: max(len(found) // 3, 1)]
    for row in checked:
        assert without_host(row["record"]) == alone(traces[row["program"]], row["machine"], row["design"]), row["point"]
    names = {path.name for path in folder.iterdir()}
    assert {name for name in names if not name.startswith("rows-")} <= {
        ".lock",
        "_traces",
        "_figures.png",
        "_study.json",
    }
    assert {path.suffix for path in (folder / "_traces").iterdir()} == {".trace"}


def shared_memory() -> set[str]:
    """Returns the names of shared memory and semaphores that no process uses."""
    mapped = ""
    for entry in Path("/proc").iterdir():
        try:
            mapped += (entry / "maps").read_text() if entry.name.isdigit() else ""
        except OSError:
            continue
    return {path.name for path in Path("/dev/shm").iterdir() if f"/dev/shm/{path.name}" not in mapped}


def left_in_memory(before: set[str]) -> set[str]:
    """Returns the names that are new and still unused after some time: another process may just have made one."""
    late = time.monotonic() + GONE_SECONDS
    while (left := shared_memory() - before) and time.monotonic() < late:
        time.sleep(0.2)
    return left


def test_a_study_whose_client_and_workers_are_killed_has_every_point_once(study: Study, tmp_path: Path) -> None:
    points = len(COMMANDS) * len(DESIGNS) * len(MACHINES)
    folder, memory = tmp_path / "results", shared_memory()
    for kill in range(KILLS):
        client = Client(tmp_path, "drill.toml", "--workers", str(WORKERS), "--output", "results")
        until_rows(client, folder, (kill + 1) * points // (KILLS + 2))
        for worker in client.workers()[:1]:
            os.kill(worker, signal.SIGKILL)
        time.sleep(0.2)
        client.process.kill()
        client.process.wait()
        assert client.gone()
    client = Client(tmp_path, "drill.toml", "--workers", str(WORKERS), "--output", "results")
    out, err = client.process.communicate(timeout=SECONDS)
    assert client.process.returncode == 0, err
    assert f"{points} of {points} points done" in out
    assert client.gone()
    assert left_in_memory(memory) == set()
    check_all(folder, points)


WITHOUT_FILES = """
from casemate.studies import cache
find = vars(cache).setdefault("find_at_first", cache.find)
cache.find = lambda content, hint: find(content, "/nowhere")
"""
"""Code that a worker loads first, so that it finds no file at the client's paths, as on another computer."""

OTHER_BUILD = """
from casemate.studies import identity
identity.BUILD = "0123456789ab"
"""
"""Code that gives a worker another build of Casemate."""


class Cluster:
    """A Dask scheduler, and workers in separate folders."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        with socket.socket() as found:
            found.bind(("127.0.0.1", 0))
            port = str(found.getsockname()[1])
        self.address = f"tcp://127.0.0.1:{port}"
        self._started: list[tuple[list[str], subprocess.Popen[bytes]]] = []
        self._start("dask_scheduler", "--port", port, "--host", "127.0.0.1", "--no-dashboard")

    def worker(self, first: str = "", *, nanny: bool = False) -> Path:
        """Starts `dask worker` with one thread, which loads the code `first`; returns the folder of its traces. A nanny
        is another process, which starts the worker again after it ended.
        """
        own = self._folder / f"worker-{len(self._started)}"
        own.mkdir()
        (own / "first.py").write_text(first)
        arguments = (
            self.address,
            "--nanny" if nanny else "--no-nanny",
            "--nthreads",
            "1",
            "--no-dashboard",
            "--memory-limit",
            "2GB",
            "--preload",
            "first.py",
        )
        self._start("dask_worker", *arguments, folder=own, CASEMATE_TRACES=str(own / "copies"))
        with distributed.Client(self.address) as client:
            client.wait_for_workers(len(self._started) - 1, timeout=60)
        return own / "copies"

    def _start(self, program: str, *arguments: str, folder: Path | None = None, **more: str) -> None:
        command = [sys.executable, "-m", f"distributed.cli.{program}", *arguments]
        quiet = subprocess.DEVNULL
        process = subprocess.Popen(command, cwd=folder, stdout=quiet, stderr=quiet, env={**os.environ, **more})
        self._started.append((command, process))

    def end(self) -> None:
        """Ends all processes."""
        for command, process in reversed(self._started):
            # A nanny that is terminated ends its worker. A worker without one may wait for a long time.
            if "--nanny" in command:
                process.terminate()
            else:
                process.kill()
        for _, process in self._started:
            process.wait(timeout=30)


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    """A scheduler without workers."""
    started = Cluster(tmp_path)
    yield started
    started.end()


def test_workers_of_a_scheduler_receive_the_traces_that_they_lack(
    study: Study, tmp_path: Path, cluster: Cluster
) -> None:
    with_files, without_files = cluster.worker(), cluster.worker(WITHOUT_FILES)
    points, folder = len(COMMANDS) * len(DESIGNS) * len(MACHINES), tmp_path / "results"
    client = Client(tmp_path, "drill.toml", "--scheduler", cluster.address, "--output", "results")
    until_rows(client, folder, points // 3)
    client.process.kill()
    client.process.wait()
    client = Client(tmp_path, "drill.toml", "--scheduler", cluster.address, "--output", "results")
    _, err = client.process.communicate(timeout=SECONDS)
    assert client.process.returncode == 0, err
    check_all(folder, points)
    copies = {path.name for path in without_files.iterdir()}
    assert copies == {content_hash(path) for path in (folder / "_traces").iterdir()}
    assert not with_files.exists(), "this worker read the recordings themselves"


def test_a_worker_of_another_build_is_named_and_gets_no_work(study: Study, tmp_path: Path, cluster: Cluster) -> None:
    cluster.worker(OTHER_BUILD)
    client = Client(tmp_path, "drill.toml", "--scheduler", cluster.address, "--output", "results")
    _, err = client.process.communicate(timeout=SECONDS)
    assert client.process.returncode == 2
    assert "gets no work: it has Casemate 0.1.0 of build 0123456789ab, and this client has" in err
    assert "no worker can do the work" in err
    cluster.worker()
    client = Client(tmp_path, "drill.toml", "--scheduler", cluster.address, "--output", "results")
    _, err = client.process.communicate(timeout=SECONDS)
    assert client.process.returncode == 0, err
    assert "of build 0123456789ab" in err


ENDS_WORKERS = """
import os
from casemate.studies import worker
carry_out = vars(worker).setdefault("carry_out_at_first", worker.carry_out)
def ending(forms):
    if any(form["design"] == "xts" for form in forms):
        os._exit(1)
    return carry_out(forms)
ending.__module__, ending.__qualname__, ending.__name__ = worker.__name__, "carry_out", "carry_out"
worker.carry_out = ending
"""
"""Code by which a worker ends as soon as it gets a point of the design `xts`."""


def test_a_point_that_ends_each_worker_fails_and_the_other_points_are_done(tmp_path: Path, cluster: Cluster) -> None:
    cluster.worker(ENDS_WORKERS, nanny=True)
    arguments = ("--workload", "gups", "--limit", "10K", "--design", "none", "--design", "xts", "--seeds", "2")
    client = Client(tmp_path, *arguments, "--scheduler", cluster.address, "--output", "results")
    out, err = client.process.communicate(timeout=SECONDS)
    assert client.process.returncode == 1, err
    assert "2 of 4 points done" in out
    found = rows(tmp_path / "results")
    assert {(row["design"], row["status"]) for row in found} == {("none", "done"), ("xts", "failed")}
    assert "its worker died" in out
