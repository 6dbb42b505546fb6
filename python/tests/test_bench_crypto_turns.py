"""Requests of `casemate bench crypto` to its engines, turn by turn, and its use of the answers. The tests time no code:
tables replace the engines and OpenSSL.
"""

import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import casemate as cm
import pytest
from casemate import _core
from casemate.crypto import crypto_today, openssl_speed, processors
from casemate.crypto.crypto_bench import CryptoOptions
from casemate.crypto.openssl_speed import OpenSsl
from casemate.crypto.processors import EnergyCounter
from casemate.schemas.bench import CryptoBench, CryptoEngine, CryptoRow, Operation

SEAL_NS, OPEN_NS = 16.0, 48.0
"""Time of each of our engines for a message of any size."""
CLOCKS_GHZ = (1.0, 4.0, 2.0)
"""The core's clock in each turn: its median is neither the first nor the highest, nor the mean of 2.33."""
MEDIAN_HZ = 2e9
SIZE = 64


class Engines:
    """Replaces the measurement of our engines, and notes the requests."""

    def __init__(self) -> None:
        self.calls = list[tuple[str, int, int]]()

    def speed(self, engine: str, size: int, repetitions: int) -> str:
        """One measurement: the clock is that of the turn that it is in."""
        turn = sum((engine, size) == before[:2] for before in self.calls)
        self.calls.append((engine, size, repetitions))
        measured = {"seal_seconds": SEAL_NS * 1e-9, "open_seconds": OPEN_NS * 1e-9, "clock_hz": CLOCKS_GHZ[turn] * 1e9}
        return json.dumps(measured)


@pytest.fixture
def engines(monkeypatch: pytest.MonkeyPatch) -> Engines:
    found = Engines()
    monkeypatch.setattr(_core, "crypto_speed", found.speed)
    monkeypatch.setattr(openssl_speed, "program", lambda: "openssl")
    monkeypatch.setattr(openssl_speed, "seconds_per_message", said_by_openssl)
    return found


def said_by_openssl(variant: OpenSsl, operation: Operation, message_bytes: int) -> float:
    """Seconds of a message, different for each direction."""
    return {"seal": 100e-9, "open": 200e-9}[operation]


def bench() -> CryptoBench:
    return cm.bench_crypto(CryptoOptions(sizes=(SIZE,), turns=len(CLOCKS_GHZ), tdp_w=10.0, cores=1))


def of_ours(found: CryptoBench) -> Iterator[str]:
    return (engine.name for engine in found.engines if not engine.name.startswith("openssl"))


def test_crypto_bench_rows_of_sealing_and_opening_are_measured_separately(engines: Engines) -> None:
    found = bench()
    for name in of_ours(found):
        seconds = [found.row(name, operation, SIZE).seconds for operation in ("seal", "open")]
        assert seconds == pytest.approx([SEAL_NS * 1e-9, OPEN_NS * 1e-9], rel=1e-12), name
    assert [found.row("openssl", operation, SIZE).seconds for operation in ("seal", "open")] == [100e-9, 200e-9]


def test_openssl_is_charged_the_median_clock_of_our_turns(engines: Engines) -> None:
    found = bench()
    for name in ("openssl", "openssl-noaes"):
        row = found.row(name, "seal", SIZE)
        assert row.clock_hz == MEDIAN_HZ
        # 100 ns at 2 GHz are 200 cycles, of 64 bytes.
        assert row.cycles_per_byte == pytest.approx(200 / 64)


def test_an_engine_s_clock_is_the_median_of_its_turns(engines: Engines) -> None:
    found = bench()
    assert {row.clock_hz for row in found.rows} == {MEDIAN_HZ}
    # 48 ns at 2 GHz are 96 cycles, of 64 bytes.
    assert found.row("buffer", "open", SIZE).cycles_per_byte == pytest.approx(96 / 64)


def test_each_crypto_bench_turn_has_at_least_three_repetitions(engines: Engines) -> None:
    """The first repetition of a turn wakes wide units: of three or more, the median is a later one."""
    found = bench()
    assert len(engines.calls) == len(CLOCKS_GHZ) * len(list(of_ours(found)))
    assert all(repetitions >= 3 for _, _, repetitions in engines.calls)


def test_each_crypto_bench_turn_measures_every_engine_before_the_next(engines: Engines) -> None:
    names = list(of_ours(bench()))
    assert [name for name, _, _ in engines.calls] == names * len(CLOCKS_GHZ)


def packages(root: Path, *names: str) -> list[Path]:
    """The counters of some packages of a computer, each at zero."""
    found = list[Path]()
    for number, name in enumerate(names):
        folder = root / f"intel-rapl:{number}"
        folder.mkdir(parents=True)
        for file, text in (("name", name), ("energy_uj", "0"), ("max_energy_range_uj", "999999")):
            (folder / file).write_text(f"{text}\n")
        found.append(folder / "energy_uj")
    return found


def test_the_energy_of_a_computer_is_the_sum_over_its_packages_without_dram(tmp_path: Path) -> None:
    first, second, memory = packages(tmp_path, "package-0", "package-1", "dram")
    counter = EnergyCounter(tmp_path)
    with counter:
        for energy, microjoules in ((first, "30"), (second, "500"), (memory, "7000")):
            energy.write_text(microjoules)
    assert counter.joules == pytest.approx(530e-6)


def test_sealing_and_opening_in_a_turn_are_charged_their_common_measured_energy(
    engines: Engines, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (energy,) = packages(tmp_path, "package-0")
    monkeypatch.setattr(processors, "POWERCAP", tmp_path)
    # A second passes from the beginning of each stretch to its end, and 3 uJ are taken each time that we measure.
    seconds = itertools.count()
    # Other threads of the process of the tests use Python's module, so only the meter gets another clock.
    monkeypatch.setattr(processors, "time", SimpleNamespace(monotonic=lambda: float(next(seconds))))
    plain = engines.speed

    def heating(engine: str, size: int, repetitions: int) -> str:
        energy.write_text(str(3 + int(energy.read_text())))
        return plain(engine, size, repetitions)

    monkeypatch.setattr(_core, "crypto_speed", heating)
    options = CryptoOptions(sizes=(SIZE,), turns=len(CLOCKS_GHZ), openssl=False)
    found = cm.bench_crypto(options)
    assert found.power.source == "rapl"
    assert [row.watts for row in found.rows] == pytest.approx([3e-6] * len(found.rows))


def test_table_6_1_uses_the_mean_power_of_sealing_and_opening() -> None:
    engine = CryptoEngine(name="buffer", summary="a buffer", unit_bytes=None)
    charged: dict[Operation, float] = {"seal": 10.0, "open": 30.0}
    rows = [
        CryptoRow(
            engine="buffer", operation=operation, message_bytes=SIZE, seconds=32e-9, clock_hz=2e9, cycles_per_byte=1.0,
            gbps=16.0, watts=watts, gbps_per_watt=16.0 / watts,
        )
        for operation, watts in charged.items()
    ]  # fmt: skip
    today = [each for each in crypto_today.implementations(rows, [engine], 25.6) if each.is_today]
    (line,) = today
    # 204.8 Gb/s by 16 Gb/s are 13 cores, of 20 W each.
    assert (line.power_w, line.instances, line.total_w) == (20.0, 13, 260.0)
    assert line.mbps_per_mw == pytest.approx(16_000 / 20_000)
