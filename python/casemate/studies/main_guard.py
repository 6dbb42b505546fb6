"""Worker processes import the script that starts a study. A study outside of `if __name__ == "__main__":` would begin
again in each of them.
"""

import ast
import sys
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

from casemate._core import CasemateError


def check() -> None:
    """Raises `CasemateError` with the file and the line if the main script calls a study while it is imported."""
    frame = _top_frame()
    if frame is None or frame.f_code.co_name != "<module>":
        return
    path = Path(frame.f_code.co_filename)
    try:
        tree = ast.parse(path.read_text())
    except (OSError, ValueError, SyntaxError):
        return
    if _is_reached(tree.body, frame.f_lineno):
        raise CasemateError(
            f"{path}:{frame.f_lineno} starts a study while the script is imported, and each worker process imports the "
            'script: expected the study below a line `if __name__ == "__main__":`'
        )


def _top_frame() -> FrameType | None:
    """Returns the outermost frame of the main script that is under way, if the program is a script."""
    main = sys.modules.get("__main__")
    spec = getattr(main, "__spec__", None)
    # Worker processes do not import a package that `python -m` runs.
    if getattr(main, "__file__", None) is None or (spec is not None and spec.name.endswith("__main__")):
        return None
    frame: FrameType | None = sys._getframe()
    found = None
    while frame is not None:
        if frame.f_globals is vars(main):
            found = frame
        frame = frame.f_back
    return found


def _is_reached(statements: Sequence[ast.stmt], line: int) -> bool:
    """Returns true if an import of these statements, by a name other than `__main__`, may execute this line."""
    for statement in statements:
        if _has(statement, line):
            return _is_reached_in(statement, line)
        if _ends(statement):
            return False
    return False


def _is_reached_in(statement: ast.stmt, line: int) -> bool:
    if isinstance(statement, ast.If):
        for branch, decision in ((statement.body, False), (statement.orelse, True)):
            if any(_has(inner, line) for inner in branch):
                return _value(statement.test) is not decision and _is_reached(branch, line)
    if isinstance(statement, ast.Expr):
        return _is_evaluated(statement.value)
    for block in _blocks(statement):
        if any(_has(inner, line) for inner in block):
            return _is_reached(block, line)
    return True


def _has(node: ast.stmt, line: int) -> bool:
    return node.lineno <= line <= (node.end_lineno or node.lineno)


def _blocks(statement: ast.stmt) -> list[list[ast.stmt]]:
    """Returns the blocks of a statement such as `try`, `with` or `for`."""
    parts = (statement, *getattr(statement, "handlers", ()), *getattr(statement, "cases", ()))
    return [getattr(part, name, []) for part in parts for name in ("body", "orelse", "finalbody")]


def _ends(statement: ast.stmt) -> bool:
    """Returns true if an import of the statement certainly ends the program."""
    if isinstance(statement, ast.If):
        value = _value(statement.test)
        return value is not None and any(map(_ends, statement.body if value else statement.orelse))
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        return ast.unparse(statement.value.func) in {"sys.exit", "exit", "quit", "os._exit"}
    return isinstance(statement, ast.Raise)


def _is_evaluated(expression: ast.expr) -> bool:
    """Returns false if an import leaves out the last operand, as in `__name__ == "__main__" and study()`."""
    if not isinstance(expression, ast.BoolOp):
        return True
    decision = isinstance(expression.op, ast.Or)
    return all(_value(operand) is not decision for operand in expression.values[:-1])


def _value(test: ast.expr) -> bool | None:
    """Returns the value of a condition for a name other than `__main__`; `None` if more than the name decides."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        inner = _value(test.operand)
        return None if inner is None else not inner
    if isinstance(test, ast.BoolOp):
        decision = isinstance(test.op, ast.Or)
        values = [_value(operand) for operand in test.values]
        return decision if decision in values else None if None in values else not decision
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        sides = {ast.unparse(test.left), ast.unparse(test.comparators[0])}
        if sides == {"__name__", "'__main__'"} and isinstance(test.ops[0], ast.Eq | ast.NotEq):
            return isinstance(test.ops[0], ast.NotEq)
    return None
