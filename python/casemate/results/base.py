"""What all results have in common: nothing may be missing, nothing may be unknown, nothing may be changed."""

from typing import Any

from pydantic import BaseModel, ConfigDict


class Result(BaseModel):
    """A result of the laboratory. The text under a field is its description in the JSON schema."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, use_attribute_docstrings=True)

    def brief(self) -> str:
        """What is most worth knowing of it, on one line; empty for the parts of a result."""
        return ""

    def __repr__(self) -> str:
        """The brief form, where there is one: everything is in the fields."""
        told = self.brief()
        return f"<{type(self).__name__}: {told}>" if told else super().__repr__()

    def __str__(self) -> str:
        return self.brief() or super().__str__()

    def to_json(self) -> str:
        """This result as JSON, in the form that its schema describes."""
        return self.model_dump_json(by_alias=True, indent=2)

    @classmethod
    def schema_of(cls) -> dict[str, Any]:
        """The JSON schema of this kind of result."""
        return cls.model_json_schema(by_alias=True, mode="serialization")
