"""Questions in SQL with a part that a user wrote. An error quotes this part, with a caret under the wrong place."""

import json
import re
from dataclasses import dataclass
from typing import Any

from casemate._core import CasemateError
from casemate.rows.needed import library

SETTING = "SET errors_as_json = true"
"""Setting of a database whose errors state their position."""
SHOWN_CHARACTERS = 90
"""Largest number of characters of a line that an error quotes."""
_NAMED = re.compile(r'"([^"]+)"|\bname (\w+)')
"""Name in an error of DuckDB without a position."""


@dataclass(frozen=True)
class Question:
    """A question in SQL."""

    sql: str
    given: str = ""
    """Part of it that the user wrote; empty for a question without such a part."""

    def check(self, database: Any) -> None:
        """Raises `CasemateError` unless this is one question in valid syntax."""
        duckdb = library("duckdb")
        try:
            statements = database.extract_statements(self.sql)
        except duckdb.Error as error:
            raise self.refused(error) from None
        if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
            raise CasemateError("the SQL is not one question: expected one SELECT")

    def refused(self, error: Exception) -> CasemateError:
        """Returns the error for a question that DuckDB cannot answer."""
        if isinstance(error, library("duckdb").IOException):
            return CasemateError("a client has just merged the tables: repeat the command")
        said, position = _read(error)
        return CasemateError(f"wrong SQL: {said}{self._quoted(said, position)}")

    def _quoted(self, said: str, position: int | None) -> str:
        """Returns the line of the user's part with the error, and a line with a caret; empty without such a part."""
        at = self._index(said, position)
        if at is None:
            return ""
        begin = self.given.rfind("\n", 0, at) + 1
        line = self.given[begin:].partition("\n")[0].replace("\t", " ")
        left = max(0, at - begin - SHOWN_CHARACTERS // 2)
        return f"\n  {line[left : left + SHOWN_CHARACTERS].rstrip()}\n  {' ' * (at - begin - left)}^"

    def _index(self, said: str, position: int | None) -> int | None:
        """Returns the place of an error in the user's part, in characters; `None` if it is unknown."""
        if not self.given:
            return None
        if position is None:
            name = _NAMED.search(said)
            found = re.search(rf"(?<!\w){re.escape(name[1] or name[2])}(?!\w)", self.given) if name else None
            return found.start() if found else None
        # DuckDB counts bytes.
        before = self.sql.encode()[:position].decode(errors="ignore")
        return min(max(len(before) - self.sql.rindex(self.given), 0), len(self.given.rstrip()))


def check_condition(database: Any, condition: str) -> None:
    """Raises `CasemateError` unless a text is one condition in valid syntax: it closes no parenthesis that it did not
    open, and has no further clause.
    """
    if not condition.strip():
        raise CasemateError("the condition is empty: expected SQL, as in design = 'none'")
    for sql in (f"SELECT 1 WHERE\n{condition}", f"SELECT 1 WHERE (\n{condition}\n)"):
        Question(sql, condition).check(database)


def _read(error: Exception) -> tuple[str, int | None]:
    """Returns the message of an error of DuckDB, and its position in the question, if it states one."""
    kind, _, rest = str(error).partition(": ")
    try:
        form = json.loads(rest)
        said, position = f"{kind}: {form['exception_message']}", form.get("position")
    except (ValueError, KeyError, TypeError):
        said, position = str(error), None
    # DuckDB quotes the whole question.
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    said = " ".join([line for line in lines if not line.startswith(("LINE", "^"))][:3])
    is_name = "Referenced column" in said or "Referenced table" in said
    hint = " (text is in single quotes, as in design = 'none')" if is_name else ""
    return said + hint, None if position is None else int(position)
