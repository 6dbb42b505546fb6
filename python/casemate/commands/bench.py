"""`casemate bench`: what this computer itself can do."""

import click

from casemate import screen
from casemate.names import Commands

EPILOG = """\b
Examples:
  casemate bench crypto                                   all sizes: some 5 seconds, and 40 more for OpenSSL
  casemate bench crypto --size 64 --size 4096 --without-openssl
  casemate bench crypto --tdp 35 --cores 2                watts of a processor whose TDP is known
  casemate bench crypto --bandwidth 51.2                  how many cores carry another memory
  casemate bench crypto --json > crypto.json

\b
What a message is:
  lines-...   as many lines of 64 bytes as fill the size, each with a nonce and a tag of its own, in one call: what a
              memory controller has to do; there are none of 32 bytes
  buffer...   the size as one message with one tag: what libraries do
  openssl...  the same with 13 bytes of additional data, by `openssl speed`, which has a nonce and a tag for each
Opening verifies the tag. All but OpenSSL are first held to the same bytes, and to refusing a wrong tag.

\b
How it is measured:
  Engines take turns, and the median counts. Cycles are of the core's own clock, which a chain of additions that wait
  for each other gives: the counter of time stamps ticks at another. Watts are those of --tdp, shared by --cores, else
  measured by RAPL where that can be read, else a share of a TDP from a list, which is said.

\b
The last table is Table 6.1 of the thesis that `casemate reproduce gcm` is about: its rows, and today's.

\b
Exit codes: 0 measured, 2 bad input, 130 Ctrl-C, which leaves nothing.
"""


@click.group("bench", cls=Commands)
def command() -> None:
    """Measure what this computer itself can do.

    \b
    Example:
      casemate bench crypto      what one core seals and opens, and how many carry a memory
    """


@command.command("crypto", short_help="AES-128-GCM on this processor.", epilog=EPILOG)
@click.option(
    "--size", "sizes", type=int, multiple=True, metavar="BYTES",
    help="Bytes of a message, whole blocks of 16; repeat it.  [default: 32 to 16384]",
)  # fmt: skip
@click.option(
    "--turns", type=int, default=51, show_default=True, metavar="N", help="Turns of each engine at each size."
)
@click.option(
    "--bandwidth",
    type=float,
    default=25.6,
    show_default=True,
    metavar="GB/s",
    help="What is to be carried, in 10^9 bytes.",
)
@click.option("--tdp", type=float, metavar="WATTS", help="What the whole processor takes.")
@click.option("--cores", type=int, metavar="N", help="Cores that share --tdp.  [default: those of a socket]")
@click.option("--without-openssl", is_flag=True, help="Leave OpenSSL out: a second for each size and direction, twice.")
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
    """Measure what one core seals and opens with AES-128-GCM, and how many of them carry a memory's bandwidth."""
    from casemate import api, crypto_table
    from casemate.crypto_bench import SIZES, CryptoOptions
    from casemate.progress import Steps

    options = CryptoOptions(
        sizes=sizes or SIZES, turns=turns, bandwidth_gbs=bandwidth, tdp_w=tdp, cores=cores, openssl=not without_openssl
    )
    with Steps(screen.notices(), "measuring", 1) as progress:
        progress.begin(0, "AES-128-GCM")
        found = api.bench_crypto(options, progress=progress.tell)
    if as_json:
        screen.print_json(found)
    else:
        screen.results().print(crypto_table.bench(found))
