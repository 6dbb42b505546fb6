"""`casemate validate`: the machine beside public simulators."""

import jsonschema
from conftest import Casemate


def test_a_brief_validation_fits_its_schema_and_its_tolerances(casemate: Casemate) -> None:
    said = casemate("validate", "--brief", "--json")
    report = said.json()
    jsonschema.validate(report, casemate("schema", "validate").json())
    dram = [row for row in report["rows"] if row["reference"] != "ChampSim"]
    assert len(dram) >= 10
    assert all(row["ok"] for row in dram)
    assert said.code == (0 if report["ok"] else 1)
