"""The scoreboard of a lane or router: compares the responses with the expected ones, by id.

It contains the golden model under the current key, the expected response for each id, and each (key, nonce) that sealed
a line. A response to a line from before an abort, or without a request, is an error.
"""

from __future__ import annotations

from dataclasses import dataclass

from casemate._core import GcmLines
from lines import Op, Request, Response, expected


@dataclass(frozen=True)
class Answered:
    """A line with its response, and the cycles in which it entered and left."""

    request: Request
    response: Response
    accepted: int
    left: int

    @property
    def latency(self) -> int:
        """Cycles from acceptance to response."""
        return self.left - self.accepted


@dataclass
class _Pending:
    request: Request
    response: Response
    accepted: int


class Scoreboard:
    """Expected responses by id, and counts of the responses received."""

    def __init__(self) -> None:
        self.golden: GcmLines | None = None
        self.key = b""
        self.pending: dict[int, _Pending] = {}
        self.sealed: set[tuple[bytes, bytes]] = set()
        self.answers = 0
        self.refusals = 0
        self.dropped = 0

    def keyed(self, key: bytes) -> None:
        """Records that the lane took a key; fails if a line is inside."""
        assert not self.pending, f"a key entered while {len(self.pending)} lines were inside"
        self.key, self.golden = key, GcmLines(key)

    def accepted(self, number: int, request: Request, cycle: int) -> None:
        """Records that a line entered in `cycle`; fails without a key, for an id in use, or if a nonce seals twice."""
        assert number not in self.pending, f"id {number} is given to two lines"
        assert self.golden is not None, "a line entered without a key"
        if request.op is Op.SEAL:
            use = (self.key, request.nonce)
            assert use not in self.sealed, f"the bench seals twice under nonce {request.nonce.hex()}"
            self.sealed.add(use)
        self.pending[number] = _Pending(request, expected(self.golden, request), cycle)

    def answered(self, number: int, response: Response, cycle: int) -> Answered:
        """Records a response; fails unless it is the expected one of a line inside."""
        entry = self.pending.pop(number, None)
        assert entry is not None, f"a response under id {number}, which no line inside has"
        assert response == entry.response, f"{entry.request} has {response}: expected {entry.response}"
        self.answers += 1
        self.refusals += not response.ok
        return Answered(entry.request, response, entry.accepted, cycle)

    def aborted(self) -> None:
        """Drops all lines inside and counts them."""
        self.dropped += len(self.pending)
        self.pending.clear()
