"""OpenSSL's AES-128-GCM, by its own program: `openssl speed` with `-aead`.

With `-aead` each operation is a message: nonce, 13 bytes of additional data as in TLS, the buffer, and the end that
makes the tag or computes it to compare. (Without it the program goes on with one endless message, and neither nonce nor
tag is in the figure.) It does not fetch the tag when it seals, and the one that it opens with is wrong: verified is
verified, and the refusal is ignored. Its seconds are of processor time, which is counted in hundredths.
"""

import os
import re
import shutil
import subprocess
from dataclasses import dataclass

from casemate._core import CasemateError
from casemate.results.bench import Operation

CIPHER = "aes-128-gcm"
SECONDS = 1
"""Of each measurement: the shortest that the program takes."""
RESULT = re.compile(r"^\+R:(\d+):([\w-]+):(\d+(?:\.\d+)?)$", re.MULTILINE)
WITHOUT_AES = {"OPENSSL_ia32cap": "~0x200000200000000"}
"""What makes OpenSSL do without AES-NI and PCLMULQDQ on x86 (bits 57 and 33): its assembly for older processors."""


@dataclass(frozen=True)
class OpenSsl:
    """One way to run it."""

    name: str
    summary: str
    environment: dict[str, str]


VARIANTS = (
    OpenSsl("openssl", "`openssl speed -aead`: one nonce and tag for the buffer, and 13 bytes of additional data", {}),
    OpenSsl("openssl-noaes", "the same without AES-NI and PCLMULQDQ: assembly for older processors", WITHOUT_AES),
)


def program() -> str | None:
    """Where the program is, if it is installed."""
    return shutil.which("openssl")


def seconds_per_message(variant: OpenSsl, operation: Operation, message_bytes: int) -> float:
    """Seconds of one message, the mean over a second. Raises `CasemateError` if the program says nothing of it."""
    path = program()
    assert path is not None
    decrypt = ["-decrypt"] if operation == "open" else []
    command = [
        path, "speed", "-mr", "-evp", CIPHER, "-aead", *decrypt, "-bytes", str(message_bytes), "-seconds", str(SECONDS),
    ]  # fmt: skip
    environment = {**os.environ, **variant.environment}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    return parsed(f"{done.stdout}\n{done.stderr}", " ".join(command))


def parsed(said: str, command: str) -> float:
    """Seconds of one message, from what the program has said with `-mr`. Raises `CasemateError` if it is not there."""
    found = RESULT.findall(said)
    if len(found) != 1 or not int(found[0][0]) or not float(found[0][2]):
        last = said.strip().splitlines()[-1:] or ["nothing"]
        raise CasemateError(
            f"`{command}` gave no result: expected one line +R:COUNT:{CIPHER.upper()}:SECONDS, and it said '{last[0]}'"
        )
    count, _, seconds = found[0]
    return float(seconds) / int(count)
