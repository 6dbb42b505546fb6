"""Stimulus of our engine, a lane or a router: it requests the sealing of lines at the engine's maximum rate.

The stimulus uses a request id again only after the response to it, so that it can match responses that overtake each
other. It measures the steady state: from a response when all lanes are full to the last response.
"""

from casemate._core import CasemateError
from casemate.hardware.stimulus import Core

SEAL = 1
WARM_UP = 1 / 3
"""Share of the lines that the engine seals before the measurement begins."""
IDLE_CYCLES_MAX = 20_000
"""Maximum number of cycles without an accepted line or a response."""


def drive(core: Core) -> None:
    """Resets the engine, gives it a key, and lets it seal all lines."""
    core.cycle(rst_ni=0, req_op_i=SEAL)
    out = core.cycle(rst_ni=1, key_i=core.key, key_valid_i=1, rsp_ready_i=1)
    # After reset the engine overwrites the state that it derived from the previous key.
    while not out["key_ready_o"]:
        out = core.cycle()
    core.cycle(key_valid_i=0)
    free = list(range(1 << core.width("req_id_i")))
    inside = dict[int, int]()
    sent = ended = idle = 0
    first, count = int(WARM_UP * len(core.lines)), len(core.lines)
    # The stimulus sends more lines than it measures, so that the engine stays full until the last response.
    while ended < count and idle < IDLE_CYCLES_MAX:
        asking = bool(free)
        line = core.lines[sent % count]
        request = {"req_id_i": free[0], "req_nonce_i": line.nonce, "req_line_i": line.text} if asking else {}
        out = core.cycle(req_valid_i=int(asking), **request)
        idle += 1
        if asking and out["req_ready_o"]:
            inside[free.pop(0)] = sent
            core.begun(sent)
            sent, idle = sent + 1, 0
        if out["rsp_valid_o"]:
            number = inside.pop(out["rsp_id_o"])
            core.done(out["rsp_line_o"], out["rsp_tag_o"], line=number)
            free.append(out["rsp_id_o"])
            ended, idle = ended + 1, 0
            if ended == first:
                core.measure()
    if ended < count:
        raise CasemateError(
            f"the engine was idle for {idle} cycles, with {ended} of {count} lines done: it cannot be measured"
        )
