"""Scripts whose import by a worker process would start a study."""

import ast

import pytest
from casemate.studies import main_guard

RIGHT = {
    "a guard": 'if __name__ == "__main__":\n    study()\n',
    "a guard in a try": 'try:\n    if "__main__" == __name__:\n        study()\nfinally:\n    pass\n',
    "a guard in a with": 'with lock:\n    if __name__ == "__main__":\n        study()\n',
    "a guard with another condition": 'if ready and __name__ == "__main__":\n    study()\n',
    "an early end": 'import sys\nif __name__ != "__main__":\n    sys.exit()\nstudy()\n',
    "the else of the opposite": 'if not __name__ == "__main__":\n    pass\nelse:\n    study()\n',
    "a short form": '__name__ == "__main__" and study()\n',
}
WRONG = {
    "no guard": "study()\n",
    "the opposite": 'if __name__ != "__main__":\n    study()\n',
    "the else of a guard": 'if __name__ == "__main__":\n    pass\nelse:\n    study()\n',
    "either": 'if ready or __name__ == "__main__":\n    study()\n',
    "another name": 'if NAME == "__main__":\n    study()\n',
    "another condition": "if len(sys.argv) > 1:\n    study()\n",
    "a loop": "for one in range(2):\n    study()\n",
    "an end that may not come": 'if ready and __name__ != "__main__":\n    sys.exit()\nstudy()\n',
}


def is_reached(source: str) -> bool:
    lines = source.splitlines()
    line = next(number for number, text in enumerate(lines, 1) if "study()" in text)
    return main_guard._is_reached(ast.parse(source).body, line)


@pytest.mark.parametrize("name", RIGHT)
def test_an_import_does_not_reach_a_study_behind_a_guard(name: str) -> None:
    assert not is_reached(RIGHT[name])


@pytest.mark.parametrize("name", WRONG)
def test_an_import_reaches_a_study_without_a_guard(name: str) -> None:
    assert is_reached(WRONG[name])
