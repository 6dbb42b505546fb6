"""`casemate list`: built-in components, values of machines and designs, and traces, with the schemas of their JSON."""

import jsonschema
import pytest
from conftest import Casemate


def test_the_list_command_shows_everything_that_is_built_in(casemate: Casemate) -> None:
    said = casemate("list", "--json")
    jsonschema.validate(said.json(), casemate("schema", "list").json())
    text = casemate("list").out
    for kind in ("designs", "machines", "workloads", "attacks"):
        for item in said.json()[kind]:
            assert item["name"] in text, item["name"]


@pytest.mark.parametrize("named", [("machines", "modern"), ("designs", "sc64-bmt")])
def test_the_values_of_a_machine_or_design_fit_their_listed_schema(casemate: Casemate, named: tuple[str, ...]) -> None:
    values = casemate("list", *named, "--json").json()
    assert values["name"] == named[1]
    for words in (("list", "settings"), ("list", *named)):
        jsonschema.validate(values, casemate("schema", *words).json())
    listing = casemate("list", named[0], "--json").json()
    jsonschema.validate(listing, casemate("schema", "list", named[0]).json())
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(values, casemate("schema", "list").json())
    assert "unknown schema 'list workloads gups'" in casemate("schema", "list", "workloads", "gups").err
