"""Base class of all results: every field is required, unknown fields are refused, and results are immutable."""

import ast
import inspect
import json
from itertools import pairwise
from textwrap import dedent
from typing import Any

from pydantic import BaseModel, ConfigDict
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core.core_schema import ModelSchema

from casemate.text import one_line
from casemate.text.shown import Shown

STRICT = ConfigDict(frozen=True, strict=True, defer_build=True)
"""Configuration of all results. Pydantic prepares a class at its first use, since a command uses few classes."""


class Result(Shown, BaseModel):
    """A result of the laboratory. The text under a field is its description in the JSON schema."""

    model_config = STRICT | ConfigDict(extra="forbid")

    def brief(self) -> str:
        """Returns the main findings on one line; empty for the parts of a result."""
        return ""

    def __repr__(self) -> str:
        """Returns the brief form, or the first fields, on one line; `to_json` returns all of a result."""
        return one_line.between(f"<{type(self).__name__}: ", str(self), ">")

    def __str__(self) -> str:
        return self.brief() or one_line.cut(one_line.named(self))

    def to_json(self) -> str:
        """Returns this result as JSON, in the form that its schema describes."""
        return self.model_dump_json(by_alias=True, indent=2)

    def to_frame(self) -> Any:
        """Returns this result as a table of polars, or of pandas without polars: a row for each record, design, attack
        or other part that it lists, or a single row. Raises `CasemateError` if neither library is installed.
        """
        from casemate.rows import frames

        return frames.frame_of_rows(frames.rows_of(json.loads(self.to_json()), type(self).__name__))

    @classmethod
    def schema_of(cls) -> dict[str, Any]:
        """Returns the JSON schema of this kind of result."""
        return cls.model_json_schema(by_alias=True, mode="serialization", schema_generator=_Described)


class _Described(GenerateJsonSchema):
    """Schemas that describe fields by the text under them, like pydantic's `use_attribute_docstrings`.

    They read the text only on request: reading the sources of all results would take a third of the start of every
    command.
    """

    def model_schema(self, schema: ModelSchema) -> dict[str, Any]:
        made = super().model_schema(schema)
        model = schema["cls"]
        for of in (of for of in model.__mro__ if of.__module__.startswith("casemate.")):
            for name, text in _texts_under_fields(of).items():
                field = model.model_fields[name]
                made["properties"][field.serialization_alias or name].setdefault("description", text)
        return made


def _texts_under_fields(of: type) -> dict[str, str]:
    """Returns the text under each field that the class itself defines."""
    (written,) = ast.parse(dedent(inspect.getsource(of))).body
    assert isinstance(written, ast.ClassDef)
    return {
        field.target.id: inspect.cleandoc(under.value.value)
        for field, under in pairwise(written.body)
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)
        if isinstance(under, ast.Expr) and isinstance(under.value, ast.Constant) and isinstance(under.value.value, str)
    }
