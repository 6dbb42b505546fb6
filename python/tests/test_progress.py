"""Lines about the progress of long work on a console without bars."""

import io
import time
from typing import Any, cast

import casemate as cm
import pytest
from casemate.cli.commands.cost_flow import STEP_SECONDS, Pricing, weights
from casemate.laboratory import stopped_attacks
from casemate.terminal import progress
from rich.console import Console


def test_silent_work_is_reported_as_continuing_until_it_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "BEAT_SECONDS", 0.01)
    monkeypatch.setattr(progress, "BETWEEN_LINES_SECONDS", 0.03)
    monkeypatch.setattr(progress, "BETWEEN_LATER_LINES_SECONDS", 60.0)
    heard = io.StringIO()
    with progress.Steps(Console(file=heard), "pricing", 1) as steps:
        steps.report({"done": 1, "of": 2, "about": "synthesis"})
        time.sleep(0.5)
    lines = heard.getvalue().splitlines()
    # Soon at first, and then at longer distances.
    assert len(lines) == progress.LINES_SOON
    assert all("pricing: 50 %, synthesis" in line for line in lines)
    time.sleep(0.1)
    assert len(heard.getvalue().splitlines()) == len(lines)


def test_attacks_after_a_run_report_their_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "BETWEEN_LINES_SECONDS", 0.0)
    monkeypatch.setattr(progress, "BETWEEN_LATER_LINES_SECONDS", 0.0)
    # Another test of this process may have attacked the design.
    monkeypatch.setattr(stopped_attacks, "_campaigns", {})
    events = list[dict[str, Any]]()
    heard = io.StringIO()
    with progress.Instructions(Console(file=heard), ["sc64-bmt"], None) as instructions:

        def report(event: dict[str, Any]) -> None:
            events.append(event)
            instructions.report(event)

        options = cm.RunOptions(limit=2_000)
        cm.run(cm.BuiltIn("stream"), designs="sc64-bmt", options=options, progress=report)
    shares = [event["done"] / event["of"] for event in events if event.get("attacked") == "sc64-bmt"]
    assert shares == sorted(shares)
    assert len(shares) >= 2
    assert "attacks on sc64-bmt: " in heard.getvalue()


@pytest.mark.parametrize("copies", [1, 2])
def test_progress_names_the_construction_of_a_kernel_until_its_first_instruction(
    monkeypatch: pytest.MonkeyPatch, copies: int
) -> None:
    monkeypatch.setattr(progress, "BETWEEN_LINES_SECONDS", 0.0)
    monkeypatch.setattr(progress, "BETWEEN_LATER_LINES_SECONDS", 0.0)
    heard = io.StringIO()
    with progress.Instructions(Console(file=heard, width=200), ["none"], None) as instructions:
        options = cm.RunOptions(limit=200_000, protection=False)
        kernels = [cm.BuiltIn("btree", {"preload": 300_000})] * copies
        cm.run(kernels, designs="none", machine="emcc-4core", options=options, progress=instructions.report)
    lines = heard.getvalue().splitlines()
    building = [": instructions: none 0 of" in line for line in lines]
    assert building[0]
    assert [line.endswith("; building the kernel btree") for line in lines] == building
    assert not building[-1]


def test_progress_of_losses_of_power_names_the_construction_of_the_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "BETWEEN_LINES_SECONDS", 0.0)
    monkeypatch.setattr(progress, "BETWEEN_LATER_LINES_SECONDS", 0.0)
    heard = io.StringIO()
    with progress.Steps(Console(file=heard, width=200), "Cutting the power", 1) as steps:
        steps.begin(0, "eadr")
        options = cm.LossOptions(at="2000", run=cm.RunOptions(limit=4_000))
        cm.lose_power(cm.BuiltIn("log"), designs="eadr", loss=options, progress=steps.report)
    assert heard.getvalue().splitlines()[0].endswith("Cutting the power: 0 %, eadr; building the kernel log")


def test_the_displayed_remaining_time_decreases_between_progress_reports() -> None:
    assert progress._left(10.0, 0.5) == ", about 10 s left"
    assert progress._left(10.0, 0.5, since=4.0) == ", about 6 s left"
    assert progress._left(10.0, 0.5, since=11.0) == ""
    assert progress._left(10.0, 0.0) == progress._left(10.0, 1.0) == ""


class Heard:
    """Receives the reports about the work on several hardware cores."""

    def __init__(self) -> None:
        self.shares = list[tuple[float, float]]()

    def begin(self, piece: int, name: str) -> None:
        """A core begins."""

    def report(self, events: dict[str, Any]) -> None:
        """A step begins."""
        self.shares.append((events["done"], events["of"]))


def test_cached_steps_do_not_count_in_the_progress_of_the_hardware_flow() -> None:
    steps, seconds = Heard(), weights(5)
    whole = sum(seconds.values())
    assert whole == sum(STEP_SECONDS.values()) + 4 * STEP_SECONDS["mapping"]
    pricing = Pricing(cast(progress.Steps, steps), 3, [], 5)
    pricing.begin(0, "kept")
    pricing.begin(1, "new")
    for name in seconds:
        pricing.step(f"{name} of it")
    pricing.begin(2, "in part")
    pricing.step("mapping 3 of 5")
    # The first core was kept whole, so two are left, and the third has done the steps before its third mapping.
    assert steps.shares[0] == (0, 2 * whole)
    assert steps.shares[-2] == (whole - list(seconds.values())[-1], 2 * whole)
    before = sum(list(seconds.values())[:4])
    assert steps.shares[-1] == (whole, 2 * whole - before)


def test_hardware_flow_progress_increases_over_a_step_that_occurs_twice() -> None:
    steps = Heard()
    pricing = Pricing(cast(progress.Steps, steps), 1, ["FPGA"], 1)
    pricing.begin(0, "router")
    for name in ("synthesis of gcm_router", "synthesis of gcm_lane", "mapping 1 of 1"):
        pricing.step(name)
    done = [done for done, _ in steps.shares]
    assert done == [0, STEP_SECONDS["synthesis"], 2 * STEP_SECONDS["synthesis"]]
    assert all(done < of for done, of in steps.shares)


def test_a_step_of_the_hardware_flow_without_a_weight_leaves_the_progress_as_it_is() -> None:
    steps = Heard()
    pricing = Pricing(cast(progress.Steps, steps), 2, [], 5)
    pricing.begin(0, "lane")
    for name in ("simulation of the RTL", "synthesis of gcm_lane", "mapping 1 of 5", "timing", "mapping 2 of 5"):
        pricing.step(name)
    assert steps.shares[3] == steps.shares[2]
    done, of = zip(*steps.shares, strict=True)
    assert done == (0, 22, 42, 42, 58)
    assert len(set(of)) == 1
