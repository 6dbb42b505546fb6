"""The counts of scripts/shape.py, on code with a known shape."""

from __future__ import annotations

from pathlib import Path

import pytest
from shape import circles, fields, folders, imports, methods, verbs

VERBS = """
pub trait EngineVerbs {
    fn pad(&self, blocks: u32) -> impl Future<Output = ()>;
    /// Takes no time.
    fn mac(&self) -> impl Future<Output = ()> {
        ready(())
    }
    fn settle(&self) {}
}
"""


A = """
use crate::b::{self, B};
use std::fmt;

impl B {
    pub fn two(&self) {
    }
}
"""

B = """
use crate::a::A;

pub struct B {
    one: u8,
    two: u8,
}

impl<T: Into<u8>> B {
    fn one() {
    }
}
"""

INNER = """
use crate::a::A;
// use crate::deep::inner::Nothing;
"""


@pytest.fixture
def crate(tmp_path: Path) -> Path:
    files = {
        "lib.rs": "mod a;\nmod b;\nmod deep;\n",
        "a.rs": A,
        "b.rs": B,
        "deep/mod.rs": "mod inner;\n",
        "deep/inner.rs": INNER,
        "verbs.rs": VERBS,
    }
    for name, text in files.items():
        path = tmp_path / "src" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


def test_files_that_import_each_other_are_reported_as_an_import_cycle(crate: Path) -> None:
    graph = imports(crate)
    assert graph["deep/inner.rs"] == {"a.rs"}
    assert circles(graph) == [["a.rs", "b.rs"]]


def test_folders_that_import_each_other_are_a_cycle_unless_nested() -> None:
    graph = {"x/one.rs": {"y/one.rs"}, "y/two.rs": {"x/two.rs"}, "x/in/a.rs": {"x/one.rs"}}
    assert circles(folders(graph)) == [["x", "y"]]


def test_methods_and_fields_of_a_type_are_counted_over_all_files(crate: Path) -> None:
    assert methods(crate)["B"] == 2
    assert fields(crate)["B"] == 2


def test_a_trait_operation_with_a_body_counts_as_a_default(crate: Path) -> None:
    assert verbs(crate) == (3, 2)
