"""Worker processes import the script that starts a study. A study outside of `if __name__ == "__main__":` would begin
again in each of them.
"""

import ast
import sys
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
    if not _is_guarded(tree, frame.f_lineno):
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


def _is_guarded(tree: ast.Module, line: int) -> bool:
    """Returns true if the statement of a module at this line is below a comparison of the module's name."""
    for statement in tree.body:
        if statement.lineno <= line <= (statement.end_lineno or statement.lineno):
            return isinstance(statement, ast.If) and any(
                isinstance(part, ast.Name) and part.id == "__name__" for part in ast.walk(statement.test)
            )
    return True
