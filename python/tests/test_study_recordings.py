"""The recording of a command in a results folder, and its part in the plan of a study."""

import os
from pathlib import Path

import pytest
from casemate.laboratory.requests import Program
from casemate.studies.recordings import Command, Recordings
from conftest import Casemate

NO_PROGRAM = Command(Program(["./no-such-program", "argument"]))


def test_without_its_program_a_command_is_represented_by_its_newest_recording(tmp_path: Path) -> None:
    recordings = Recordings(tmp_path, str)
    absent = recordings.path_of(NO_PROGRAM)
    assert not absent.exists()
    absent.parent.mkdir()
    for seconds, content in ((3, "a"), (4, "b"), (1, "c"), (2, "d")):
        path = absent.with_name(absent.name.replace("absent", content * 12))
        path.touch()
        os.utime(path, (seconds, seconds))
    (absent.parent / "no-such-program-other.trace").touch()
    assert recordings.path_of(NO_PROGRAM) == absent.with_name(absent.name.replace("absent", "b" * 12))


def test_a_program_of_new_content_is_not_represented_by_an_earlier_recording(tmp_path: Path) -> None:
    program = tmp_path / "program"
    paths = []
    for content in ("first", "second"):
        program.write_text(content)
        path = Recordings(tmp_path, str).path_of(Command(Program([str(program)])))
        path.parent.mkdir(exist_ok=True)
        path.touch()
        paths.append(path)
    assert paths[0] != paths[1]


def test_the_disk_estimate_of_a_plan_names_the_recordings_that_it_leaves_out(
    casemate: Casemate, tmp_path: Path
) -> None:
    said = "without recordings, whose length is not known"
    sweep = ("sweep", "--dry-run", "--limit")
    assert said in casemate(*sweep, "all", "--", "true").out
    assert "without" not in casemate(*sweep, "10K", "--", "true").out
    assert "without" not in casemate("sweep", "--dry-run", "--workload", "resident", "--limit", "all").out
    plan = casemate(*sweep, "all", "--json", "--", "true").json()
    assert (plan["not_recorded"], plan["without_limit"]) == (["true"], ["true"])
    (tmp_path / "s.toml").write_text(
        'limit = "10K"\n[[programs]]\ncommand = ["true"]\n[[programs]]\ncommand = ["false"]\nlimit = "all"\n'
    )
    some = casemate("sweep", "s.toml", "--dry-run").out
    assert "without the recordings of false, whose length is not known" in some


@pytest.mark.parametrize(
    ("script", "end"),
    [("exit 3", "sh exited with status 3 after "), ("kill -TERM $$", "sh was ended by signal 15 (SIGTERM) after ")],
)
def test_a_study_names_the_status_of_a_program_that_failed(
    script: str, end: str, casemate: Casemate, scheduler: str
) -> None:
    words = ("sweep", "--limit", "all", "--design", "none", "--scheduler", scheduler, "--", "sh", "-c", script)
    for _ in range(2):
        said = casemate(*words)
        assert said.code == 0, said.err
        assert said.err.count(end) == 1
    assert "exited" not in casemate(*words[:-1], "exit 0").err
