"""`casemate run --values`: the predictability of words from memory."""

import jsonschema
import pytest
from casemate import BuiltIn, CasemateError, RunOptions, api
from casemate.schemas.predicted import Predicted
from conftest import SMALL, Casemate


def predicted(workload: BuiltIn, design: str = "none") -> tuple[Predicted, ...]:
    options = RunOptions(limit="200K", protection=False, values=(8, 16, 32))
    return api.run(workload, designs=design, options=options).record(design).predicted


def test_larger_frequent_value_tables_predict_no_fewer_words() -> None:
    tables = predicted(BuiltIn("btree"))
    assert [table.values for table in tables] == [8, 16, 32]
    shares = [table.share or 0.0 for table in tables]
    assert 0 < shares[0] <= shares[1] <= shares[2] <= 1
    for table in tables:
        assert table.lines == tables[0].lines > 1_000
        # A line loses at most one word when its frequent words are first, and gains no word.
        assert table.words - table.lines <= 2 * table.reordered_pairs <= table.words
        assert 2 * table.pairs <= 2 * table.reordered_pairs
        assert 8 * table.whole_lines <= table.words


def test_words_predicted_by_frequent_value_tables_do_not_depend_on_the_design() -> None:
    # If no metadata cache delays the program, it requests the same lines in the same order.
    assert predicted(BuiltIn("chase"), "xts") == predicted(BuiltIn("chase"), "none")


def test_frequent_value_tables_predict_no_random_words() -> None:
    (random, *_) = predicted(BuiltIn("gups"))
    assert (random.words, random.share, random.covered, random.covered_reordered) == (0, 0.0, None, None)


def test_measuring_frequent_value_tables_does_not_change_a_run() -> None:
    bare = api.run(BuiltIn("gups"), designs="sc64-bmt", options=RunOptions(limit="50K", protection=False))
    watched = api.run(
        BuiltIn("gups"), designs="sc64-bmt", options=RunOptions(limit="50K", protection=False, values=[8])
    )
    hashes = [results.record("sc64-bmt").event_hash for results in (bare, watched)]
    assert hashes[0] == hashes[1]
    assert bare.record("sc64-bmt").predicted == ()


def test_the_table_and_the_record_show_the_share_of_predicted_words(casemate: Casemate) -> None:
    said = casemate("run", *SMALL, "--design", "none", "--values", "8", "--values", "16")
    for words in (
        "words from memory",
        "among 8 values",
        "among 16 values",
        "of these, in full blocks",
        "of these, if re-ordered",
    ):
        assert words in said.out
    assert "words from memory" not in casemate("run", *SMALL, "--design", "none").out
    output = casemate("run", *SMALL, "--design", "none", "--values", "8", "--json")
    jsonschema.validate(output.json(), casemate("schema", "run").json())
    assert output.json()["records"][0]["predicted"][0]["values"] == 8


def test_an_invalid_frequent_value_table_size_is_refused_before_the_run(casemate: Casemate) -> None:
    said = casemate("run", *SMALL, "--values", "12")
    assert (said.code, "expected a power of two from 1 to 64" in said.err, "Running" in said.err) == (2, True, False)
    assert casemate("run", *SMALL, "--values", "65").code == 2
    five = [word for size in (1, 2, 4, 8, 16) for word in ("--values", str(size))]
    assert "expected at most 4" in casemate("run", *SMALL, *five).err
    with pytest.raises(CasemateError, match=r"values is 1\.5: expected a whole number"):
        api.run(BuiltIn("gups"), options=RunOptions(values=[1.5]))  # type: ignore[list-item]
