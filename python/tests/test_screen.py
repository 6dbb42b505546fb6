"""Output of commands: files are complete or missing, and the reader of a pipe may close it early."""

import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from casemate import CasemateError
from casemate.terminal import screen


def test_a_file_is_written_through_a_link_and_keeps_its_rights(tmp_path: Path) -> None:
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_bytes(b"old")
    target.chmod(0o600)
    link.symlink_to(target)
    screen.write_whole(link, b"new")
    assert link.is_symlink()
    assert target.read_bytes() == b"new"
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "target"]


def test_a_pipe_receives_the_bytes_and_remains_a_pipe(tmp_path: Path) -> None:
    pipe, read = tmp_path / "pipe", list[bytes]()
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
    reader.start()
    screen.write_whole(pipe, b"picture")
    reader.join()
    assert read == [b"picture"]
    assert pipe.is_fifo()


def test_a_full_device_is_an_error_and_remains_a_device() -> None:
    with pytest.raises(CasemateError, match="cannot write '/dev/full': No space left on device"):
        screen.write_whole(Path("/dev/full"), b"picture")
    assert Path("/dev/full").is_char_device()


def test_a_folder_is_not_overwritten(tmp_path: Path) -> None:
    with pytest.raises(CasemateError, match="Is a directory"):
        screen.write_whole(tmp_path, b"picture")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "words", [("schema", "run"), ("run", "--help"), ("list", "designs", "--json"), ("list", "designs", "secpb-cm")]
)
def test_a_reader_that_closes_the_pipe_is_no_failure(words: tuple[str, ...]) -> None:
    command = [sys.executable, "-m", "casemate", *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        assert running.stdout
        assert running.stderr
        running.stdout.close()
        assert (running.stderr.read(), running.wait()) == (b"", 0)
