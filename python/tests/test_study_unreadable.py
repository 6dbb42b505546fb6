"""Files of a results folder that the user may not read: they are named with the reason, and are not called damaged."""

import errno
import io
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from casemate import CasemateError
from casemate.rows.columns import Row
from casemate.studies import table
from casemate.studies.folder import ResultsFolder
from casemate.studies.query import Results

pytest.importorskip("pyarrow")
pytest.importorskip("duckdb")


@pytest.fixture
def unreadable(monkeypatch: pytest.MonkeyPatch) -> Callable[[Path], None]:
    """Returns a function that takes the permission to read a file away, also from root."""

    def refuse(refused: Path) -> None:
        opened = io.open

        def deny(file: Any, *arguments: Any, **named: Any) -> Any:
            if Path(file) == refused:
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(file))
            return opened(file, *arguments, **named)

        monkeypatch.setattr(io, "open", deny)

    return refuse


def row(point: str) -> Row:
    """Returns the row of a point."""
    return {"point": point, "kind": "run", "status": "done", "version": "1", "build": "", "finished": "now"}


def test_a_table_without_permission_is_not_called_damaged(unreadable: Callable[[Path], None], tmp_path: Path) -> None:
    path, other = (table.write(tmp_path, table.of_rows([row(point)])) for point in ("first", "second"))
    unreadable(path)
    found = Results(tmp_path)
    assert found.sql("SELECT point FROM runs").rows() == [("second",)]
    assert f"cannot read '{path}': Permission denied; the table is left out" in found.notices
    with pytest.raises(CasemateError, match=f"cannot read '{path}': Permission denied"):
        ResultsFolder(tmp_path)
    assert path.exists(), "a table that another user may read keeps its name"
    other.unlink()
    with pytest.raises(
        CasemateError, match=r"has no results \(cannot read .*: Permission denied; the table is left out"
    ):
        Results(tmp_path)


def test_a_record_without_permission_is_not_called_something_else(
    unreadable: Callable[[Path], None], tmp_path: Path
) -> None:
    path = tmp_path / "record.json"
    path.write_text("{}")
    unreadable(path)
    with pytest.raises(CasemateError, match=f"cannot read '{path}': Permission denied; the file is left out"):
        Results(tmp_path)
