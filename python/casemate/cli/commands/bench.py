"""`casemate bench`: speed of this computer."""

import click

from casemate.cli.names import Commands
from casemate.terminal import screen

EPILOG = """\b
Examples:
  casemate bench crypto                                   all sizes: some 5 seconds, and 40 more for OpenSSL
  casemate bench crypto --size 64 --size 4096 --without-openssl
  casemate bench crypto --tdp 35 --cores 2                watts of a processor with a known TDP
  casemate bench crypto --bandwidth 51.2                  how many cores carry another memory
  casemate bench crypto --json > crypto.json

\b
Kinds of messages:
  lines-...   as many lines of 64 bytes as fill the size, each with a separate nonce and tag, in one call: the work of a
              memory controller; not for 32 bytes
  buffer...   the size as one message with one tag: the work of libraries
  openssl...  the same with 13 bytes of additional data, by `openssl speed`, which has a nonce and a tag for each
Opening verifies the tag. All engines but OpenSSL are first checked: for equal bytes, and for refusing a wrong tag.

\b
Method of measurement:
  Engines take turns, and the median counts. Cycles are those of the core's clock, measured by a chain of dependent
  additions: the time-stamp counter ticks at another rate. Watts are those of --tdp, shared by --cores, else measured by
  RAPL if it can be read, else a share of a TDP from a list. The output names the source.

\b
The last table is Table 6.1 of the thesis that `casemate reproduce gcm` is about: its rows, and today's.

\b
Exit codes: 0 measured, 2 bad input, 130 Ctrl-C, which leaves no result.
"""


@click.group("bench", cls=Commands)
def command() -> None:
    """Measure the speed of this computer itself.

    \b
    Example:
      casemate bench crypto      the speed of one core, and how many cores carry a memory
    """


@command.command("crypto", short_help="AES-128-GCM on this processor.", epilog=EPILOG)
@click.option(
    "--size", "sizes", type=int, multiple=True, metavar="BYTES",
    help="Bytes of a message, whole blocks of 16; repeat it.  [default: 32 to 16384]",
)  # fmt: skip
@click.option(
    "--turns", type=int, default=51, show_default=True, metavar="N", help="Number of turns of each engine at each size."
)
@click.option(
    "--bandwidth",
    type=float,
    default=25.6,
    show_default=True,
    metavar="GB/s",
    help="Memory bandwidth to protect, in 10^9 bytes.",
)
@click.option("--tdp", type=float, metavar="WATTS", help="TDP of the whole processor.")
@click.option("--cores", type=int, metavar="N", help="Cores that share --tdp.  [default: those of a socket]")
@click.option(
    "--without-openssl", is_flag=True, help="Leave OpenSSL out, which takes two seconds for each size and direction."
)
@screen.as_json
def crypto(
    sizes: tuple[int, ...],
    turns: int,
    bandwidth: float,
    tdp: float | None,
    cores: int | None,
    without_openssl: bool,
    as_json: bool,
) -> None:
    """Measure how fast one core seals and opens with AES-128-GCM, and how many cores carry a memory's bandwidth."""
    from casemate import api
    from casemate.crypto.crypto_bench import SIZES, CryptoOptions
    from casemate.tables import crypto_table
    from casemate.terminal.progress import Steps

    options = CryptoOptions(
        sizes=sizes or SIZES, turns=turns, bandwidth_gbs=bandwidth, tdp_w=tdp, cores=cores, openssl=not without_openssl
    )
    with Steps(screen.notices(), "measuring", 1) as progress:
        progress.begin(0, "AES-128-GCM")
        found = api.bench_crypto(options, progress=progress.report)
    if as_json:
        screen.print_json(found)
    else:
        screen.results().print(crypto_table.bench(found))
