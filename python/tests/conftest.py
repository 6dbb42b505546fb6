"""Fixtures that run the command `casemate` as a user would."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from casemate import api
from casemate.cli.main import main
from casemate.reproduce.study import Study, Trend
from casemate.schemas.catalogue import STOPPED
from hypothesis import settings

# Tests never measure speed, and other chains of `make test` use the same processors.
settings.register_profile("at-any-speed", deadline=None)
settings.load_profile("at-any-speed")

SECONDS_TO_CTRL_C = 2.5
SECONDS_OF_SILENCE = 15.0
"""Seconds to wait for a command to begin; not every command reports that it has begun, and a busy computer delays the
report.
"""

SMALL = ("--workload", "gups", "--set", "footprint=1 MB", "--limit", "50K")
"""Arguments of a run that takes a fraction of a second."""


@dataclass(frozen=True)
class Said:
    """Output and exit code of a command."""

    code: int
    out: str
    err: str

    def json(self) -> Any:
        """Standard output, which must be one JSON value."""
        return json.loads(self.out)


def claimed(design: str) -> tuple[int, int]:
    """Returns the number of attacks that a design claims to stop, and the number of attacks with a target."""
    hypothetical = {attack.name for attack in api.attacks() if attack.hypothetical}
    claims = api.design(design).claims.items()
    ends = [end for attack, end in claims if end != "not-applicable" and attack not in hypothetical]
    return sum(end in STOPPED for end in ends), len(ends)


LONGEST_FIRST = (
    "test_killed_study.py",
    "test_explain_attack.py",
    "test_run.py",
    "test_recorded_memory.py",
    "test_start_order.py",
    "test_qemu.py",
    "test_api.py",
    "test_excerpt.py",
    "test_killed.py",
    "test_mappings.py",
)
"""Files with the longest tests: `make test` gives one file after the other to two processes."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Puts the longest files first, so that both processes end at about the same time."""
    ranks = {name: rank for rank, name in enumerate(LONGEST_FIRST)}
    items.sort(key=lambda item: ranks.get(item.path.name, len(ranks)))


@pytest.fixture(scope="session")
def scheduler() -> Iterator[str]:
    """The address of a Dask scheduler with two workers, each of one thread."""
    distributed: Any = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit=0, dashboard_address=None, silence_logs=50, host="127.0.0.1"
    ) as cluster:
        yield cluster.scheduler_address


Casemate = Callable[..., Said]
Numbers = Callable[[str, str, int], float]
"""Function that returns a number for a figure, a series and the index of a case."""


def trend_holds(study: Study, trend: Trend, numbers: Numbers, cases: Sequence[str] = ("a", "b", "c")) -> bool:
    """Returns true if a statement of a study holds for these numbers; the means are those of the second case."""
    series = {figure.number: [each.name for each in figure.series] for figure in study.figures}
    means = {number: {name: numbers(number, name, 1) for name in series[number]} for number in trend.figures}

    def by_case(number: str, name: str) -> dict[str, float]:
        return {case: numbers(number, name, index) for index, case in enumerate(cases)}

    return trend.find(means, by_case).holds


NO_PLACES_FOR_A_FILE = (
    ("folder", "cannot write 'folder': it is a folder; expected the name of a file"),
    ("", "is empty: expected the name of a file"),
    ("/dev/full", "cannot write '/dev/full': it is a device or a pipe"),
    ("pipe", "cannot write 'pipe': it is a device or a pipe"),
    ("nowhere/file", "cannot write 'nowhere/file': there is no folder 'nowhere'"),
)
"""Paths to which a run cannot write a file, with the errors."""


def refused_before_the_run(casemate: Casemate, folder: Path, option: tuple[str, ...], expected: str) -> None:
    """Checks that a run with this option, which names one of these paths in its folder, is refused and leaves no files
    behind.
    """
    (folder / "folder").mkdir()
    os.mkfifo(folder / "pipe")
    for designs in (("none",), ("none", "sc64-bmt")):
        said = casemate("run", *SMALL, *(word for design in designs for word in ("--design", design)), *option)
        assert said.code == 2
        assert expected in said.err
        assert "Running" not in said.err
        assert said.out == ""
    assert sorted(path.name for path in folder.iterdir()) == ["folder", "pipe"]


@pytest.fixture(scope="session", autouse=True)
def _hear_ctrl_c() -> None:
    """A process that a script starts in the background ignores Ctrl-C, and so do its child processes."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def casemate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Casemate:
    """The command, in an empty folder. It runs in this process, which is faster, and the fixture captures its output
    and exit code.
    """
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> Said:
        with pytest.raises(SystemExit) as ended:
            main(arguments)
        heard = capfd.readouterr()
        assert "Traceback" not in heard.err, heard.err
        assert isinstance(ended.value.code, int)
        return Said(ended.value.code, heard.out, heard.err)

    return run


@pytest.fixture
def interrupted(tmp_path: Path) -> Casemate:
    """The command as a separate process, which receives Ctrl-C some time after it has reported its start."""

    def run(*arguments: str) -> Said:
        command = [sys.executable, "-m", "casemate", *arguments]
        heard = tmp_path / "standard-error"
        with heard.open("w") as errors:
            running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True, cwd=tmp_path)
        started = time.monotonic()
        while not heard.stat().st_size and time.monotonic() - started < SECONDS_OF_SILENCE:
            time.sleep(0.1)
        time.sleep(SECONDS_TO_CTRL_C)
        running.send_signal(signal.SIGINT)
        out, _ = running.communicate(timeout=60)
        err = heard.read_text()
        heard.unlink()
        assert "Traceback" not in err, err
        return Said(running.returncode, out, err)

    return run
