"""The untimed start of a run, at the command line."""

from conftest import SMALL, Casemate


def test_an_untimed_start_is_stated_in_the_head_of_the_run_and_not_counted(casemate: Casemate) -> None:
    begun = ("run", *SMALL, "--machine", "cryptopage-2006", "--design", "cryptopage", "--untimed", "20K")
    record = casemate(*begun, "--warm-up", "5K", "--json").json()["records"][0]
    assert (record["configuration"]["untimed"], record["configuration"]["warm_up"]) == (20_000, 5_000)
    assert record["feed"]["instructions"] == 50_000
    assert 23_000 < record["instructions"] <= 25_000
    assert record["checks"]["passed"]
    assert record["footprint"]["at_start"]["llc_locked"] > 0
    said = casemate(*begun, "--warm-up", "5K")
    assert "the first 20,000 instructions ran without time: they filled caches, locks, TLBs" in said.out
    assert "after 20,000 without time and a warm-up of 5,000" in said.out


def test_an_untimed_start_on_several_cores_is_refused(casemate: Casemate) -> None:
    said = casemate("run", *SMALL, "--machine", "emcc-4core", "--design", "none", "--untimed", "20K")
    assert said.code == 2
    assert "machine 'emcc-4core' has 4 cores, and instructions without time need a machine with one core" in said.err
