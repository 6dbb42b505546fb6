"""Figures that are derived from measurements, refusals, and reports of other programs. The tests time no code."""

import io
import json
from pathlib import Path
from typing import Any

import casemate as cm
import jsonschema
import pytest
from casemate import _core
from casemate.crypto import crypto_bench, crypto_today, openssl_speed, processors
from casemate.crypto.crypto_bench import CryptoOptions, Key, Sample
from casemate.crypto.openssl_speed import VARIANTS
from casemate.crypto.processors import EnergyCounter, Processor
from casemate.reproduce.gcm import parameters
from casemate.schemas.bench import CryptoBench, CryptoEngine, CryptoRow
from casemate.tables import crypto_table
from conftest import Casemate
from rich.console import Console

LINES = CryptoEngine(name="lines-vaes", summary="lines", unit_bytes=64)
BUFFER = CryptoEngine(name="buffer", summary="a buffer", unit_bytes=None)

SAID_OPENSSL = """\
+H:64
+F:25:AES-128-GCM:177721038.60
+DT:AES-128-GCM:1:64
+R:1582828:AES-128-GCM:0.570000
"""
"""OpenSSL 3.0.19: `openssl speed -mr -evp aes-128-gcm -aead -bytes 64 -seconds 1`, standard output and then error."""


def samples() -> dict[Key, Sample]:
    """A core at 2 GHz: 16 ns seal a line, 48 open it; 64 lines take 512 ns each way; a buffer 64 and 192 ns."""
    seconds = {
        ("lines-vaes", 64): (16e-9, 48e-9),
        ("lines-vaes", 4096): (512e-9, 512e-9),
        ("buffer", 64): (64e-9, 192e-9),
    }
    # The median is meant, whatever else is among them.
    return {
        (engine, operation, size): Sample([both[index], 9.0, both[index] / 9], [2e9, 2e9, 1e9])
        for (engine, size), both in seconds.items()
        for index, operation in enumerate(crypto_bench.OPERATIONS)
    }


def bench(**options: Any) -> CryptoBench:
    return crypto_bench.concluded(CryptoOptions(tdp_w=100.0, cores=50, **options), samples(), (LINES, BUFFER))


def test_crypto_bench_figures_follow_from_the_median_time_and_the_clock() -> None:
    row = bench().row("lines-vaes", "seal", 64)
    assert row.seconds == 16e-9
    assert row.cycles_per_byte == pytest.approx(16e-9 * 2e9 / 64)
    assert row.gbps == pytest.approx(32)
    assert row.watts == pytest.approx(2)
    assert row.gbps_per_watt == pytest.approx(16)
    assert bench().row("lines-vaes", "open", 4096).gbps == pytest.approx(64)


def test_table_6_1_of_today_takes_the_mean_cycles_of_both_directions_as_the_thesis_does() -> None:
    today = {each.name: each for each in bench().implementations if each.is_today}
    assert list(today) == ["lines-vaes, a line", "lines-vaes, 64 lines", "buffer, a line"]
    line = today["lines-vaes, a line"]
    # A line in 32 ns on the average of both directions: 16 Gb/s, so 12.8 cores for 204.8 Gb/s.
    assert line.cycles_per_byte == pytest.approx(1.0)
    assert line.mbps == pytest.approx(16_000)
    assert line.instances == 13
    assert line.total_w == pytest.approx(26)
    assert line.mbps_per_mw == pytest.approx(8)
    assert today["lines-vaes, 64 lines"].instances == 4


def test_crypto_bench_rows_of_the_thesis_have_its_numbers_of_engines_and_power() -> None:
    thesis = {each.name: each for each in bench().implementations if not each.is_today}
    assert thesis["ASIC, 45 nm"].instances == 219
    assert thesis["x86, ISA extension"].instances == 34
    assert thesis["x86, ISA extension"].total_w == pytest.approx(34 * 35)
    assert thesis["ASIC, 45 nm"].total_w == pytest.approx((11.05 * 219 + 2.12) / 1e3)
    twice = {each.name: each for each in bench(bandwidth_gbs=51.2).implementations}
    assert twice["ASIC, 45 nm"].instances == 438
    assert twice["lines-vaes, 64 lines"].instances == 7


def test_the_crypto_bench_conclusion_states_cores_power_and_latency_of_a_line() -> None:
    said = bench().conclusion
    assert "take 4 cores of this processor (lines-vaes, 64 lines), and 13 line by line (lines-vaes, a line)" in said
    assert "where the thesis's fastest software takes 34." in said
    assert "26.0 % of the processor's 50 cores, so their number no longer makes it infeasible" in said
    assert "charged with 8 to 26 W, 3.3 to 10.7 times the 2.42 W of the thesis's ASIC of 45 nm." in said
    assert "A single line takes 32 ns, and a miss would wait for it" in said
    assert "more than the 50 cores that the processor has" in bench(bandwidth_gbs=2560).conclusion
    assert "takes 1,296,297." in bench(bandwidth_gbs=1e6).conclusion
    small = bench(bandwidth_gbs=0.1).conclusion
    assert "take 1 core of this processor" in small
    assert "charged with 2 W" in small
    nothing = crypto_bench.concluded(CryptoOptions(), {}, (BUFFER,))
    assert "the thesis's conclusion cannot be checked" in nothing.conclusion
    assert nothing.brief() == "nothing was measured"


def test_unknown_watts_are_omitted_with_a_hint_how_to_give_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processors, "STATED", {})
    monkeypatch.setattr(processors, "POWERCAP", Path("/nowhere"))
    found = crypto_bench.concluded(CryptoOptions(), samples(), (LINES, BUFFER))
    assert found.power.source == "unknown"
    assert "--tdp WATTS gives it" in found.power.told
    assert {row.watts for row in found.rows} == {None}
    assert {each.total_w for each in found.implementations if each.is_today} == {None}
    assert "charged" not in found.conclusion


def test_openssl_time_per_operation_is_its_seconds_over_its_count() -> None:
    assert openssl_speed.parsed(SAID_OPENSSL, "openssl speed") == pytest.approx(0.57 / 1_582_828)


@pytest.mark.parametrize(
    ("said", "last"),
    [
        ("", "nothing"),
        ("speed: Unknown cipher aes-128-gcm", "speed: Unknown cipher aes-128-gcm"),
        (SAID_OPENSSL + "+R:5:AES-128-GCM:0.010000", "+R:5:AES-128-GCM:0.010000"),
        (SAID_OPENSSL.replace("1582828", "0"), "+R:0:AES-128-GCM:0.570000"),
        (SAID_OPENSSL.replace("0.570000", "0.000000"), "+R:1582828:AES-128-GCM:0.000000"),
    ],
)
def test_unexpected_output_of_openssl_is_an_error_with_its_last_line(said: str, last: str) -> None:
    with pytest.raises(cm.CasemateError, match=r"expected one line \+R:COUNT:AES-128-GCM:SECONDS") as refused:
        openssl_speed.parsed(said, "openssl speed")
    assert str(refused.value).endswith(f"it said '{last}'")


def test_openssl_is_run_on_each_size_in_both_directions_and_without_its_aes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program in its place notes how it was called, and answers as OpenSSL does."""
    fake, notes = tmp_path / "openssl", tmp_path / "notes"
    answer = SAID_OPENSSL.replace("\n", "\\n")
    fake.write_text(f'#!/bin/sh\necho "$OPENSSL_ia32cap|$*" >> {notes}\nprintf "{answer}" >&2\n')
    fake.chmod(0o755)
    monkeypatch.setattr(openssl_speed, "program", lambda: str(fake))
    found = cm.bench_crypto(CryptoOptions(sizes=(64, 32), turns=1, tdp_w=10.0))
    for size in (32, 64):
        row = found.row("openssl", "open", size)
        assert row.seconds == pytest.approx(0.57 / 1_582_828)
        assert row.gbps == pytest.approx(size * 8 * 1_582_828 / 0.57 / 1e9)
    calls = notes.read_text().splitlines()
    assert len(calls) == 2 * 2 * len(VARIANTS)
    assert calls[0] == "|speed -mr -evp aes-128-gcm -aead -bytes 32 -seconds 1"
    assert calls[1] == "|speed -mr -evp aes-128-gcm -aead -decrypt -bytes 32 -seconds 1"
    assert calls[-1].startswith("~0x200000200000000|")


CPUINFO = """\
processor\t: 0
vendor_id\t: AuthenticAMD
cpu family\t: 25
model\t\t: 17
model name\t: AMD EPYC
cpu MHz\t\t: 2596.144
cpu cores\t: 2
flags\t\t: fpu aes

processor\t: 1
model name\t: another
"""


def test_the_processor_is_the_first_that_the_system_lists(tmp_path: Path) -> None:
    (tmp_path / "cpuinfo").write_text(CPUINFO)
    found = Processor.found(tmp_path / "cpuinfo")
    assert found == Processor("AMD EPYC", ("AuthenticAMD", 25, 17), 2596.144, 2)
    assert Processor.found(tmp_path / "nowhere") == Processor("unknown", ("", 0, 0), None, None)


def rapl(root: Path, *, energy: str = "1000", most: str = "262143328850", name: str = "package-0") -> Path:
    """A tree of counters as Linux has it, and the package's counter in it."""
    for folder, label in (("intel-rapl:0", name), ("intel-rapl:0:0", "core"), ("intel-rapl-mmio:0", "package-0")):
        (root / folder).mkdir(parents=True)
        (root / folder / "name").write_text(f"{label}\n")
        (root / folder / "energy_uj").write_text(energy)
        (root / folder / "max_energy_range_uj").write_text(most)
    return root / "intel-rapl:0" / "energy_uj"


def test_processor_energy_is_right_across_a_wrap_of_its_rapl_counter(tmp_path: Path) -> None:
    energy = rapl(tmp_path, energy="900", most="999")
    counter = EnergyCounter(tmp_path)
    assert counter.is_there
    with counter:
        energy.write_text("950")
    assert counter.joules == pytest.approx(50e-6)
    with counter:
        energy.write_text("20")
    # 50 to the end, one step to zero, and 20.
    assert counter.joules == pytest.approx((50 + 70) * 1e-6)
    assert counter.watts == pytest.approx(counter.joules / counter.seconds)


@pytest.mark.parametrize("wrong", [{"energy": "many"}, {"most": ""}, {"name": "dram"}])
def test_unreadable_energy_counters_count_as_absent(tmp_path: Path, wrong: dict[str, str]) -> None:
    rapl(tmp_path, **wrong)
    counter = EnergyCounter(tmp_path)
    assert not counter.is_there
    with counter:
        pass
    assert counter.watts is None
    assert not EnergyCounter(tmp_path / "nowhere").is_there


@pytest.mark.parametrize(
    ("with_rapl", "tdp", "kind", "source", "core_w"),
    [
        (True, None, ("AuthenticAMD", 25, 17), "rapl", None),
        (True, 35.0, ("AuthenticAMD", 25, 17), "given", 17.5),
        (False, None, ("AuthenticAMD", 25, 17), "assumed", 3.75),
        (False, None, ("Another", 1, 1), "unknown", None),
    ],
)
def test_processor_power_is_from_the_user_rapl_a_list_or_unknown_in_this_order(
    tmp_path: Path, with_rapl: bool, tdp: float | None, kind: tuple[str, int, int], source: str, core_w: float | None
) -> None:
    if with_rapl:
        rapl(tmp_path)
    found = processors.power(Processor("a", kind, None, 2), EnergyCounter(tmp_path), tdp, None)
    assert (found.source, found.core_w) == (source, core_w)
    assert found.told


def test_the_stated_powers_are_of_whole_processors_and_include_the_thesis_s() -> None:
    assert all(1 < stated.tdp_w / stated.cores < 20 for stated in processors.STATED.values())
    own = processors.STATED["GenuineIntel", 6, 42]
    assert (own.tdp_w, own.cores) == (parameters.X86_TDP_W, parameters.X86_CORES)


def test_each_crypto_bench_row_has_its_measured_power(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    energy = rapl(tmp_path)
    monkeypatch.setattr(processors, "POWERCAP", tmp_path)
    measured = samples()
    for number, sample in enumerate(measured.values(), 1):
        sample.counter = EnergyCounter()
        with sample.counter:
            energy.write_text(str(1000 + 10 * number))
        energy.write_text("1000")
        sample.counter.seconds = 1e-6
    found = crypto_bench.concluded(CryptoOptions(), measured, (LINES, BUFFER))
    assert found.power.source == "rapl"
    assert [row.watts for row in found.rows] == pytest.approx([10.0 * number for number in range(1, 7)])


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("--size", "0"), "casemate: size is 0: expected a multiple of 16 bytes from 16 to 1048576; the nearest is 16"),
        (("--size", "64", "--size", "100"), "casemate: size is 100: expected a multiple of 16"),
        (("--size", str(2**70)), "expected a multiple of 16 bytes"),
        (("--size", "many"), "'many' is not a whole number"),
        (("--turns", "0"), "casemate: turns is 0: expected 1 to 10000"),
        (("--tdp", "-3"), "casemate: tdp is -3: expected more than 0"),
        (("--tdp", "nan"), "casemate: tdp is nan: expected more than 0"),
        (("--bandwidth", "0"), "casemate: bandwidth is 0: expected more than 0"),
        (("--cores", "4"), "casemate: cores share a TDP: give --tdp WATTS with --cores"),
    ],
)
def test_an_impossible_measurement_is_refused_before_it_starts(
    casemate: Casemate, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], expected: str
) -> None:
    def never(*_: object) -> str:
        raise AssertionError("something was measured")

    monkeypatch.setattr(_core, "crypto_speed", never)
    said = casemate("bench", "crypto", *arguments)
    assert (said.code, said.out) == (2, "")
    assert expected in said.err


def test_an_unknown_bench_names_the_nearest(casemate: Casemate) -> None:
    said = casemate("bench", "cryto")
    assert said.code == 2
    assert "did you mean 'crypto'?" in said.err


@pytest.fixture(scope="module")
def measured() -> CryptoBench:
    """One turn, so that its figures do not show the speed."""
    return cm.bench_crypto(CryptoOptions(sizes=(32, 64, 4096), turns=1, tdp_w=100.0, cores=50, openssl=False))


def test_every_engine_that_runs_here_is_measured_at_the_sizes_that_it_has(measured: CryptoBench) -> None:
    known = {engine["name"]: engine for engine in json.loads(_core.crypto_engines())["engines"]}
    assert {engine.name for engine in measured.engines} == {
        name for name, each in known.items() if each["is_available"]
    }
    for engine in measured.engines:
        sizes = {row.message_bytes for row in measured.rows if row.engine == engine.name}
        assert sizes == ({64, 4096} if engine.unit_bytes else {32, 64, 4096})
    assert "buffer-soft" in known
    assert any("openssl" in reason for reason in measured.left_out)


def test_crypto_bench_rows_are_consistent_and_survive_json(measured: CryptoBench) -> None:
    def holds(row: CryptoRow) -> bool:
        return row.cycles_per_byte == pytest.approx(row.seconds * row.clock_hz / row.message_bytes)

    assert all(holds(row) for row in measured.rows)
    assert CryptoBench.model_validate_json(measured.to_json()) == measured


def test_figures_of_a_debug_build_are_marked_as_not_released(measured: CryptoBench) -> None:
    def shown(built_as: str) -> str:
        console = Console(width=200, record=True, file=io.StringIO())
        console.print(crypto_table.bench(measured.model_copy(update={"built_as": built_as})))
        return console.export_text()

    assert "built as 'debug': `make build`" in shown("debug")
    assert "built as" not in shown("release")
    for built_as, begins in (
        ("debug", "With the build 'debug', slower than"),
        ("release", "25.6 GB/s take "),
    ):
        said = crypto_today.conclusion(measured.implementations, measured.power, 25.6, built_as)
        assert said.startswith(begins)
    assert measured.built_as in ("debug", "demo", "release", "release-by-profile")


def test_json_fits_its_schema(casemate: Casemate) -> None:
    said = casemate("bench", "crypto", "--size", "64", "--turns", "1", "--without-openssl", "--json")
    assert said.code == 0
    jsonschema.validate(said.json(), casemate("schema", "bench", "crypto").json())


def test_the_table_fits_a_screen_and_names_the_source_of_watts(casemate: Casemate) -> None:
    said = casemate("bench", "crypto", "--turns", "1", "--tdp", "35", "--cores", "2", "--without-openssl")
    assert said.code == 0
    assert "watts: 35 W for 2 cores, as given" in said.out
    tables = [line for line in said.out.splitlines() if not line.startswith("  ") and "GB/s take" not in line]
    assert max(len(line.rstrip()) for line in tables) <= 110
    for title in ("cycles per byte", "Gb/s of one core", "Gb/s per watt", "Table 6.1 of the thesis, and of today"):
        assert title in said.out


def test_crypto_bench_progress_increases_to_one() -> None:
    events: list[float] = []
    options = CryptoOptions(sizes=(64, 128), turns=2, openssl=False)
    cm.bench_crypto(options, progress=lambda progress: events.append(progress["done"] / progress["of"]))
    assert events == sorted(events)
    assert events[-1] == pytest.approx(1)


def test_the_crypto_bench_time_estimate_follows_the_finished_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter((3.0, 6.0))
    monkeypatch.setattr("casemate.crypto.crypto_bench.time.monotonic", lambda: next(clock))
    events: list[dict[str, Any]] = []
    steps = crypto_bench._Steps(events.append, turns=4, openssl_seconds=8, began=0.0)
    steps.turn("ours")
    steps.turn("ours")
    steps.openssl("openssl", 1)
    # Four turns of 3 s, and OpenSSL's 8.
    assert [(each["done"], each["of"]) for each in events] == [(3, 20), (6, 20), (7, 20)]


def test_ctrl_c_ends_a_measurement_and_leaves_no_file(interrupted: Casemate, tmp_path: Path) -> None:
    said = interrupted("bench", "crypto", "--turns", "10000", "--without-openssl", "--json")
    assert (said.code, said.out) == (130, "")
    assert "measuring: " in said.err
    assert "interrupted by Ctrl-C" in said.err
    assert list(tmp_path.iterdir()) == []
