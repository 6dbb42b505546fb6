"""OpenSSL's AES-128-GCM, by OpenSSL's program: `openssl speed` with `-aead`.

With `-aead` each operation is a message: nonce, 13 bytes of additional data as in TLS, the buffer, and the end that
makes the tag or computes it to compare. (Without it the program measures one endless message, and the figure includes
neither nonce nor tag.) The program does not read the tag after sealing. It opens with a wrong tag and ignores the
refusal: the time of verification is the same as for a right tag. The program reports processor time, in hundredths of a
second.
"""

import os
import re
import shutil
import subprocess
from dataclasses import dataclass

from casemate._core import CasemateError
from casemate.schemas.bench import Operation

CIPHER = "aes-128-gcm"
SECONDS = 1
"""Seconds of each measurement: the shortest that the program accepts."""
RESULT = re.compile(r"^\+R:(\d+):([\w-]+):(\d+(?:\.\d+)?)$", re.MULTILINE)
WITHOUT_AES = {"OPENSSL_ia32cap": "~0x200000200000000"}
"""Environment in which OpenSSL uses neither AES-NI nor PCLMULQDQ on x86 (bits 57 and 33), but its assembly for older
processors.
"""


@dataclass(frozen=True)
class OpenSsl:
    """A variant of OpenSSL to measure: with or without the processor's AES instructions."""

    name: str
    summary: str
    environment: dict[str, str]


VARIANTS = (
    OpenSsl("openssl", "`openssl speed -aead`: one nonce and tag for the buffer, and 13 bytes of additional data", {}),
    OpenSsl("openssl-noaes", "the same without AES-NI and PCLMULQDQ: assembly for older processors", WITHOUT_AES),
)


def program() -> str | None:
    """Returns the path of the program, if it is installed."""
    return shutil.which("openssl")


def seconds_per_message(variant: OpenSsl, operation: Operation, message_bytes: int) -> float:
    """Returns seconds of one message, the mean over a second. Raises `CasemateError` if the program does not print
    them.
    """
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
    """Seconds of one message, from the program's output with `-mr`. Raises `CasemateError` if they are missing."""
    found = RESULT.findall(said)
    if len(found) != 1 or not int(found[0][0]) or not float(found[0][2]):
        last = said.strip().splitlines()[-1:] or ["nothing"]
        raise CasemateError(
            f"`{command}` gave no result: expected one line +R:COUNT:{CIPHER.upper()}:SECONDS, and it said '{last[0]}'"
        )
    count, _, seconds = found[0]
    return float(seconds) / int(count)
