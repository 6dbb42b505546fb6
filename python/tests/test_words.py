"""Words for one of several choices are typed in Rust; the types of results have exactly the same words."""

import json
from typing import Any, get_args

import pytest
from casemate import _core, api
from casemate.plots import colours
from casemate.schemas import catalogue, explain, sampling

WORDS: dict[str, list[str]] = json.loads(_core.words())


def _of(kind: Any, field: str) -> Any:
    return kind.model_fields[field].annotation


TYPES = {
    "Aim": _of(sampling.SamplingOptions, "aim"),
    "Cause": explain.Cause,
    "CipherChoice": _of(catalogue.Parts, "cipher"),
    "CounterChoice": catalogue.Counters,
    "Covered": get_args(_of(catalogue.MacDesign, "covers"))[0],
    "MacChoice": _of(catalogue.MacDesign, "code"),
    "Meets": explain.Meets,
    "Of": explain.Of,
    "OnChip": explain.OnChip,
    "Order": _of(catalogue.PersistenceDesign, "order"),
    "Over": _of(catalogue.MacDesign, "over"),
    "Ownership": _of(catalogue.Parts, "ownership"),
    "Place": _of(catalogue.MacDesign, "place"),
    "Release": _of(catalogue.Parts, "release"),
    "Row": explain.Row,
    "Start": explain.Start,
    "TreeKind": _of(catalogue.TreeDesign, "kind"),
    "Until": explain.Until,
    "Update": _of(catalogue.TreeDesign, "update"),
    "Verdict": catalogue.Verdict,
}


@pytest.mark.parametrize("name", sorted(WORDS.keys() - {"Verb"}))
def test_a_python_literal_type_has_the_values_of_its_rust_type(name: str) -> None:
    assert set(get_args(TYPES[name])) == set(WORDS[name])


def test_every_operation_verb_of_timelines_has_a_schema_entry_summary_and_colour() -> None:
    schema = explain.Span.schema_of()["properties"]["verb"]
    assert schema["enum"] == WORDS["Verb"] == [verb.name for verb in api.verbs()]
    assert all(verb.summary for verb in api.verbs())
    assert {verb.about for verb in api.verbs()} == set(colours.LOOKS)
