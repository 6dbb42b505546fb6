"""The functions of cells, as Liberty writes them, turned into expressions of Python or C.

    !A  A'      not            A*B  A&B  A B      and
    A^B         exclusive or   A+B  A|B           or

in this order of precedence, from the operator that binds closest (Liberty reference manual, "function").
"""

import operator
import re
from collections.abc import Callable, Mapping

from casemate._core import CasemateError

_TOKEN = re.compile(r"[A-Za-z_][\w\[\]]*|[01]|[!'*&^+|()]")
_OPERATION = re.compile(r"\(([01])([\^&|])([01])\)")
_OPERATORS = {"^": operator.xor, "&": operator.and_, "|": operator.or_}
_LITERAL = re.compile(r"((?:\(1\^)*)([A-Za-z_][\w\[\]]*)\)*")


def expression(function: str, variable: Callable[[str], str]) -> str:
    """A function as an expression over bits 0 and 1 that Python and C read alike; `variable` writes an input.

    Raises `CasemateError` if it is no function.
    """
    text = function.strip().strip('"')
    tokens = _TOKEN.findall(text)
    if "".join(tokens) != re.sub(r"\s", "", text) or not tokens:
        raise CasemateError(f"'{function}' is no function of a cell")
    parser = _Parser(tokens, variable)
    written = parser.either()
    if parser.at < len(tokens):
        raise CasemateError(f"'{function}' is no function of a cell: '{tokens[parser.at]}' is unexpected")
    return written


def evaluate(function: str, values: Mapping[str, int]) -> int:
    """Returns the value of a function, 0 or 1, for these values of its inputs."""
    text = expression(function, lambda name: str(values[name]))
    while len(text) > 1:
        text = _OPERATION.sub(lambda found: str(_OPERATORS[found[2]](int(found[1]), int(found[3]))), text)
    return int(text)


def check(function: str) -> None:
    """Raises `CasemateError` if a text is no function."""
    expression(function, str)


def literal(function: str) -> tuple[str, bool] | None:
    """Returns the input of a function of one input, and a flag for inversion; `None` for any other function."""
    found = _LITERAL.fullmatch(expression(function, str))
    return (found[2], found[1].count("(") % 2 == 1) if found else None


def inputs(function: str) -> list[str]:
    """Names of the inputs in a function, each once."""
    return list(dict.fromkeys(token for token in _TOKEN.findall(function) if token[0].isalpha() or token[0] == "_"))


class _Parser:
    """Parser of the tokens of one function."""

    def __init__(self, tokens: list[str], variable: Callable[[str], str]) -> None:
        self.at = 0
        self._tokens, self._variable = tokens, variable

    def _next(self) -> str:
        return self._tokens[self.at] if self.at < len(self._tokens) else ""

    def _chain(self, part: Callable[[], str], signs: str, written: str) -> str:
        found = part()
        while self._next() and self._next() in signs:
            self.at += 1
            found = f"({found}{written}{part()})"
        return found

    def either(self) -> str:
        """Parses a sum of terms that bind closer."""
        return self._chain(self._both, "+|", "|")

    def _both(self) -> str:
        found = self._differs()
        while (token := self._next()) and token not in "+|)'":
            self.at += token in "*&"
            found = f"({found}&{self._differs()})"
        return found

    def _differs(self) -> str:
        return self._chain(self._one, "^", "^")

    def _one(self) -> str:
        token = self._next()
        self.at += 1
        if token == "!":
            found = f"(1^{self._one()})"
        elif token == "(":
            found = self.either()
            if self._next() != ")":
                raise CasemateError("a function of a cell has a parenthesis that does not close")
            self.at += 1
        elif token and (token[0].isalnum() or token[0] == "_"):
            found = token if token in "01" else self._variable(token)
        else:
            raise CasemateError(f"a function of a cell has '{token}' where an input should be")
        while self._next() == "'":
            self.at += 1
            found = f"(1^{found})"
        return found
