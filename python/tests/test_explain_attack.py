"""`casemate explain`, `attack` and `schema`, from the command line."""

import json
import re
import shlex
from pathlib import Path

import jsonschema
import pytest
from casemate import api
from casemate.cli.commands.schema import KINDS
from casemate.cli.main import COMMANDS
from casemate.plots import timeline_picture
from casemate.schemas import AttackResults, CrashResults
from conftest import Casemate


def test_a_timeline_lists_each_step_of_a_read(casemate: Casemate) -> None:
    said = casemate("explain", "sc64-bmt", "--on-chip", "tree", "--row", "hit")
    assert said.code == 0
    for text in ("fetch data", "fetch counter", "hash metadata", "pad 5 blocks", "mac data", "release verified"):
        assert text in said.out, text
    assert "row hit" in said.out
    assert "the tree's nodes on the chip, row open" in said.out
    assert max(len(line) for line in said.out.splitlines()) <= 100


def test_explain_compares_the_timelines_of_two_designs(casemate: Casemate) -> None:
    said = casemate("explain", "sc64-bmt", "--against", "none", "--json")
    jsonschema.validate(said.json(), casemate("schema", "explain").json())
    assert "until released" in casemate("explain", "sc64-bmt", "--against", "none").out


def test_explain_shows_a_read_decrypted_in_an_l2_from_look_up_to_release(casemate: Casemate) -> None:
    ask = ("explain", "emcc", "--machine", "emcc-4core", "--from", "l2", "--on-chip", "last-level")
    said = casemate(*ask)
    assert said.code == 0
    for text in ("look up counter in L2", "pad 5 blocks in L2", "travel to controller", "release verified in L2"):
        assert text in said.out, text
    assert "2.6G in all, 1.3G at the controller, 325.0M in each L2" in said.out
    assert "predicted to be in memory" in casemate(*ask, "--predicted").out
    jsonschema.validate(casemate(*ask, "--json").json(), casemate("schema", "explain").json())
    assert "past last level" in casemate(*ask, "--predicted").out


def test_morphable_counters_are_decoded_unless_the_timeline_omits_it(casemate: Casemate) -> None:
    ask = ("explain", "emcc", "--machine", "emcc-4core", "--on-chip", "last-level")
    assert "decode counter" in casemate(*ask).out
    said = casemate(*ask, "--decoded").out
    assert "counters decoded" in said
    assert "decode counter" not in said


def test_a_layout_lists_the_memory_regions_and_the_on_chip_storage(casemate: Casemate) -> None:
    said = casemate("explain", "--layout", "sc64-bmt", "--against", "none", "--memory", "16 GB", "--json")
    jsonschema.validate(said.json(), casemate("schema", "explain").json())
    protected, plain = said.json()["layouts"]
    assert (protected["design"], plain["design"]) == ("sc64-bmt", "none")
    # 1/64 of counters, 1/8 of tags, and the tree above the counters.
    assert protected["overhead_percent"] == pytest.approx(1.5625 + 12.5 + 1.5625 / 7, abs=0.001)
    ends = [region["start"] + region["bytes"] for region in protected["regions"]]
    assert [region["start"] for region in protected["regions"]] == [0, *ends[:-1]]
    assert [store["what"] for store in protected["on_chip"]][-1] == "root of the tree"
    assert plain["on_chip"] == []
    text = casemate("explain", "--layout", "sc64-bmt", "--memory", "16 GB").out
    for part in ("tree level 0", "64 lines", "8 children", "cache of counters"):
        assert part in text, part
    assert max(len(line) for line in text.splitlines()) <= 100


def test_a_layout_says_after_how_many_permutations_a_pad_repeats(casemate: Casemate) -> None:
    # Section 2.3 of the CryptoPage paper: the square root of 2^119 draws, "about 25 years".
    said = " ".join(casemate("explain", "--layout", "cryptopage").out.split())
    assert "R' of 119 bits" in said
    assert "39 % after 2^59.5 permutations (25.8 years, at one each nanosecond)" in said
    assert "50 % after 2^59.7 permutations (30.4 years" in said
    for design in ("hide", "sc64-bmt"):
        found = casemate("explain", "--layout", design, "--json").json()["layouts"]
        assert [layout["pad_number_bits"] for layout in found] == [None], "lines without such pads"


def test_every_design_can_be_laid_out_over_a_terabyte_unless_its_tree_is_deeper_than_its_buffer(
    casemate: Casemate,
) -> None:
    for design in casemate("list", "designs", "--json").json()["designs"]:
        said = casemate("explain", "--layout", design["name"], "--memory", "1024 GB")
        if design["name"] == "cryptopage-os":
            assert "verification_buffer is 19: the tree over this memory has 27 levels" in said.err
        else:
            assert said.code == 0, design["name"]


def test_explain_draws_byte_identical_pictures_each_time(casemate: Casemate, tmp_path: Path) -> None:
    for name in ("a", "b"):
        casemate("explain", "sc64-bmt", "--against", "ctr-mac", "--svg", f"{name}.svg", "--png", f"{name}.png")
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
    drawn = (tmp_path / "a.svg").read_text()
    assert "fetch counter" in drawn
    assert all(f"{design} on modern: " in drawn for design in ("sc64-bmt", "ctr-mac")), "each names its machine"
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")


def test_a_heading_is_never_wider_than_the_picture(casemate: Casemate, tmp_path: Path) -> None:
    ask = ("--machine", "emcc-4core", "--from", "l2", "--on-chip", "last-level", "--row", "hit")
    casemate("explain", "emcc", *ask, "--predicted", "--decoded", "--svg", "a.svg")
    texts = re.findall(r"<text[^>]*>([^<]*)<", (tmp_path / "a.svg").read_text())
    assert any("lines end" in text for text in texts)
    assert max(map(len, texts)) <= timeline_picture.HEADING_CHARACTERS


def test_attack_all_covers_every_design_and_every_attack(casemate: Casemate) -> None:
    """`crates/campaign/tests/all/campaigns.rs` tests that each design keeps its claims, with more trials."""
    said = casemate("attack", "--all", "--row", "replay-data-tag-counter")
    assert said.code == 0, said.out
    assert "all as claimed" in said.out
    said = casemate("attack", "--all", "--trials", "1", "--json")
    reports = AttackResults.model_validate_json(said.out).reports
    assert {report.design for report in reports} == {design.name for design in api.designs()}
    assert all({row.attack for row in report.rows} == {attack.name for attack in api.attacks()} for report in reports)
    assert "…" not in casemate("attack", "emcc", "scalable-sgx-like", "--trials", "1").out


def test_replay_commands_of_an_attack_report_reproduce_their_verdict(casemate: Casemate) -> None:
    report = AttackResults.model_validate_json(casemate("attack", "ctr-mac", "--trials", "30", "--json").out).reports[0]
    mixed = [row for row in report.rows if len(row.examples) > 1]
    assert len(mixed) > 3
    for row in mixed[:4]:
        for example in row.examples:
            said = casemate(*example.replay.split()[1:], "--json")
            assert said.code == 0, said.out
            again = AttackResults.model_validate_json(said.out)
            assert again.replay
            assert again.reports[0].rows[0].examples == (example,)


def test_an_attack_that_returns_stale_data_and_reuses_a_pad_reports_both(casemate: Casemate, tmp_path: Path) -> None:
    said = casemate("attack", "ctr-mac", "--row", "delay-write")
    assert said.code == 0, said.out
    assert "stale + leaked" in said.out
    text = (Path(__file__).resolve().parents[2] / "designs" / "ctr-mac.toml").read_text()
    for claim in ("stale", "leaked"):
        (tmp_path / "half.toml").write_text(text + f'delay-write = "{claim}"\n')
        said = casemate("attack", "half.toml", "--row", "delay-write")
        assert said.code == 1
        assert f"ended stale + leaked, claimed {claim}" in said.out
    (tmp_path / "half.toml").write_text(text + 'delay-write = ["stale", "detected"]\n')
    said = casemate("attack", "half.toml")
    assert said.code == 2
    assert 'expected one verdict, or one and "leaked"' in said.err


def test_a_hypothetical_fault_is_listed_separately_and_does_not_count(casemate: Casemate) -> None:
    said = casemate("attack", "sc64-bmt", "--trials", "3")
    above, _, below = said.out.partition("stopped")
    assert "forbidden-attack" not in above
    assert "forbidden-attack (*)" in below
    assert "assumes a fault that no design here has" in below
    rows = casemate("attack", "sc64-bmt", "--trials", "3", "--json").json()["reports"][0]["rows"]
    assert [row["attack"] for row in rows if row["hypothetical"]] == ["forbidden-attack"]


def test_features_that_a_model_leaves_out_are_shown_with_its_claims(casemate: Casemate) -> None:
    said = casemate("attack", "synergy-like", "--trials", "1")
    assert "synergy-like leaves out: A parity over the nine chips" in said.out
    assert "Leaves out: A parity over the nine chips" in " ".join(casemate("list", "designs").out.split())


def test_the_hypervisor_sees_ciphertext_only_if_the_design_permits_it(casemate: Casemate, tmp_path: Path) -> None:
    text = (Path(__file__).resolve().parents[2] / "designs" / "sev-like.toml").read_text()
    (tmp_path / "hidden.toml").write_text(text.replace('ownership = "pages"', 'ownership = "pages-hidden"'))

    def ends(design: str) -> list[str]:
        rows = ("bus-repeat", "software-repeat", "software-dictionary", "foreign-read", "foreign-write")
        said = [casemate("attack", design, "--row", row, "--trials", "5", "--json").json() for row in rows]
        return [found["reports"][0]["rows"][0]["worst"] for found in said]

    assert ends("sev-like") == ["leaked", "leaked", "leaked", "hidden", "refused"]
    assert ends("hidden.toml") == ["leaked", "refused", "refused", "refused", "refused"]
    assert ends("tdx-like") == ["leaked", *["not-applicable"] * 4]


def test_attacks_as_json_fit_their_schema(casemate: Casemate) -> None:
    schema = casemate("schema", "attack").json()
    jsonschema.validate(casemate("attack", "none", "xts", "--trials", "3", "--json").json(), schema)
    exhaustive = casemate("attack", "sc64-bmt", "--exhaustive", "--json")
    assert exhaustive.code == 0
    jsonschema.validate(exhaustive.json(), schema)


def test_exhaustive_bit_flips_end_as_claimed_for_four_designs(casemate: Casemate, tmp_path: Path) -> None:
    """`crates/campaign/tests/all/every_bit.rs` tests these for every design."""
    said = casemate("attack", "none", "ctr-mac", "sc64-bmt", "scalable-sgx-like", "--exhaustive")
    assert said.code == 0, said.out
    assert "bits flipped, all as claimed" in said.out
    assert "no data or metadata in use depends on those bits" in said.out
    assert max(len(line) for line in said.out.splitlines()) <= 100
    repository = Path(__file__).resolve().parents[2]
    text = (repository / "designs" / "xts.toml").read_text()
    (tmp_path / "bold.toml").write_text(text + '[claims]\nflip-data = "forged"\n')
    said = casemate("attack", "bold.toml", "--exhaustive")
    assert said.code == 1
    assert "data ended garbled, claimed forged: bit 0 of slot 0x0" in said.out


def test_an_attack_by_its_public_name_shows_its_counts(casemate: Casemate) -> None:
    said = casemate("attack", "xts", "sc64-bmt", "--attack", "badram", "--trials", "3")
    assert said.code == 0
    assert "xts: found by a check at power-on: 3" in said.out


def test_a_campaign_with_a_log_resumes(casemate: Casemate, tmp_path: Path) -> None:
    schema = casemate("schema", "attack").json()
    arguments = ("attack", "xts", "none", "--row", "flip-data", "--log", "log.jsonl", "--json")
    first = casemate(*arguments, "--trials", "50").json()
    assert (first["resumed"], first["added"]) == (0, 100)
    second = casemate(*arguments, "--trials", "60").json()
    jsonschema.validate(second, schema)
    assert (second["resumed"], second["added"]) == (100, 20)
    assert (
        second["reports"]
        == casemate("attack", "xts", "none", "--row", "flip-data", "--trials", "60", "--json").json()["reports"]
    )
    timed = casemate("attack", "none", "--row", "flip-data", "--budget", "0.1s")
    assert timed.code == 0
    assert "the same command continues" in timed.err
    assert (tmp_path / "results" / "attacks.jsonl").is_file()


def test_ctrl_c_keeps_the_finished_trials_of_a_campaign(interrupted: Casemate, tmp_path: Path) -> None:
    said = interrupted("attack", "none", "--row", "flip-data", "--budget", "1h", "--log", "log.jsonl", "--json")
    assert said.code == 130
    assert said.json()["interrupted"]
    lines = (tmp_path / "log.jsonl").read_text().splitlines()
    results = said.json()
    assert sum(json.loads(line)["trials"] for line in lines) >= results["reports"][0]["trials"] > 0
    assert results["resumed"] == 0
    assert results["added"] > 0


def test_attacks_that_have_not_been_run_are_not_in_the_campaign_report(tmp_path: Path) -> None:
    found = api.attack_many(["none", "xts"], tmp_path / "log.jsonl", budget_seconds=0.0)
    assert found.reports == ()
    found = api.attack_many(["none", "xts"], tmp_path / "log.jsonl", row="flip-data", trials=100)
    assert [(report.design, len(report.rows)) for report in found.reports] == [("none", 1), ("xts", 1)]
    found = api.attack_many(["none", "xts"], tmp_path / "log.jsonl", budget_seconds=0.0)
    assert [[row.attack for row in report.rows] for report in found.reports] == [["flip-data"], ["flip-data"]]
    assert all(report.agrees for report in found.reports)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["attack"], "--all"),
        (["attack", "xtz"], "did you mean 'xts'?"),
        (["attack", "xts", "--row", "flip-dat"], "did you mean 'flip-data'?"),
        (["attack", "xts", "--attack", "bad-ram"], "did you mean 'badram'?"),
        (["attack", "xts", "--budget", "10"], "as in 90s, 10m or 1.5h"),
        (["attack", "xts", "--exhaustive", "--trials", "3"], "takes no --row, --trials, --budget or --log"),
        (["attack", "xts", "--replay", "3", "--trials", "3"], "--replay is about one trial"),
        (["explain", "emcc", "--from", "l2"], "a table [at_l2]"),
        (["explain", "emcc", "--predicted"], "add --from l2"),
        (["explain", "sc64-btm"], "did you mean 'sc64-bmt'?"),
        (["explain", "sc64-bmt", "--address", "4 GB"], "is not an address"),
        (["explain", "sc64-bmt", "--address", "0x100000000"], "expected one below 0x100000000"),
        (["explain", "sc64-bmt", "--address", "0", "--seed", "2"], "--seed draws the lines"),
        (["explain", "sc64-bmt", "--layout", "--address", "0"], "--address is for timelines"),
        (["explain", "sc64-bmt", "--memory", "4 GB"], "--memory is for --layout"),
        (["explain", "sc64-bmt", "--layout", "--memory", "4 gallons"], "is not a size"),
        (["explain", "sc64-bmt", "--layout", "--memory", "100 B"], "whole lines of 64 bytes"),
        (["list", "desings"], "did you mean 'designs'?"),
        (["schema", "runs"], "did you mean 'run'?"),
        (["schema", "cost", "engines"], "did you mean 'cost engine'?"),
        (["schema", "cost"], "'cost' prints one of several: expected cost secpb, cost engine, cost rtl"),
        (["trace", "inof", "x"], "did you mean 'info'?"),
    ],
)
def test_invalid_input_is_refused_with_the_nearest_valid_choice(
    casemate: Casemate, arguments: list[str], expected: str
) -> None:
    said = casemate(*arguments)
    assert said.code == 2
    assert expected in said.err


@pytest.mark.parametrize("kind", list(KINDS))
def test_every_schema_describes_every_field(casemate: Casemate, kind: str) -> None:
    schema = casemate("schema", *kind.split()).json()
    for model in [schema, *schema.get("$defs", {}).values()]:
        for name, field in model.get("properties", {}).items():
            # If the meaning of a field is that of its type, the description is at the type.
            assert field.get("description") or "$ref" in field, name


@pytest.mark.parametrize("name", list(COMMANDS))
def test_every_help_text_contains_an_example(casemate: Casemate, name: str) -> None:
    said = casemate(name, "--help")
    assert said.code == 0
    assert f"  casemate {name}" in said.out


def test_a_loss_of_power_ends_as_claimed_and_its_example_can_be_replayed(casemate: Casemate, tmp_path: Path) -> None:
    said = casemate("crash", "plp-sp", "sc64-bmt", "--workload", "37", "--json")
    assert said.code == 0
    durable, volatile = CrashResults.model_validate_json(said.out).reports
    assert [row.worst for row in durable.rows] == [
        "harmless",
        "harmless",
        "hidden",
        "detected",
        "not-applicable",
        "detected",
        "not-applicable",
        "unrecoverable + leaked",
    ]
    assert [row.worst for row in volatile.rows] == ["unrecoverable", *["not-applicable"] * 7]
    assert durable.memories > durable.torn
    assert durable.tampered > 0
    assert durable.rows[0].example is not None
    again = casemate(*durable.rows[0].example.replay.split()[1:])
    assert again.code == 0
    assert "All as claimed" in again.out
    text = (Path(__file__).resolve().parents[2] / "designs" / "plp-sp.toml").read_text()
    (tmp_path / "mine.toml").write_text(text)
    said = casemate("crash", "mine.toml", "--workload", "37", "--row", "power-loss", "--json")
    example = CrashResults.model_validate_json(said.out).reports[0].rows[0].example
    assert example is not None
    assert example.replay == "casemate crash mine.toml --row power-loss --workload 37 --seed 1"


def test_crash_refuses_an_unknown_loss_or_workload(casemate: Casemate) -> None:
    said = casemate("crash", "plp-sp", "--row", "power-los")
    assert said.code == 2
    assert "power-loss" in said.err
    said = casemate("crash", "plp-sp", "--workload", "9999")
    assert said.code == 2
    assert "there is no workload 9999: expected 0 to 123" in said.err


def test_a_log_in_a_missing_folder_is_refused(casemate: Casemate, tmp_path: Path) -> None:
    said = casemate("attack", "none", "--log", "new/log.jsonl", "--trials", "1", "--row", "badram")
    assert said.code == 2
    assert "there is no folder 'new'" in said.err
    assert not (tmp_path / "new").exists()


def test_a_changed_design_is_attacked_as_it_is_changed(casemate: Casemate) -> None:
    weaker = ("--with", "design.sc64-bmt.parts.mac.tag_bits=4")
    said = casemate("attack", "sc64-bmt", "none", "--row", "flip-data", "--trials", "40", *weaker)
    assert said.code == 1, "tags of four bits do not stop what the file claims is stopped"
    assert casemate("attack", "sc64-bmt", "--row", "flip-data", "--trials", "40").code == 0
    for wrong, expected in (
        (("--with", "machine.cores=2"), "expected design.KEY"),
        ((*weaker, "--log", "x.jsonl"), "--with is for one short run"),
    ):
        said = casemate("attack", "sc64-bmt", *wrong)
        assert (said.code, expected in said.err) == (2, True)


def test_attack_refuses_two_selected_attacks(casemate: Casemate) -> None:
    said = casemate("attack", "xts", "--row", "flip-data", "--row", "spoof-data")
    assert (said.code, said.out) == (2, "")
    assert "flip-data and spoof-data" in said.err


def test_the_command_to_replay_a_trial_contains_the_design_overrides(casemate: Casemate) -> None:
    row = ("attack", "ctr-mac", "--row", "replay-data-tag", "--trials", "3", "--json")
    example = casemate(*row, "--with", "design.parts.tree.kind=bonsai").json()["reports"][0]["rows"][0]["examples"][0]
    command = shlex.split(example["replay"])
    assert command[-2:] == ["--with", "design.parts.tree.kind=bonsai"]
    assert casemate(*command[1:]).code == 0
