"""The counts of scripts/shape.py, on code with a known shape."""

from __future__ import annotations

from pathlib import Path

import pytest
from files import tracked
from shape import (
    circles,
    fields,
    folders,
    function_lengths,
    imports,
    members,
    methods,
    python_imports,
    tuple_arguments,
    verbs,
    wide_functions,
)

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


def test_a_path_in_the_middle_of_code_counts_as_an_import(crate: Path) -> None:
    (crate / "src" / "c.rs").write_text("fn one() -> crate::d::D {\n    super::d::two()\n}\n")
    (crate / "src" / "d.rs").write_text("use crate::c::one;\n")
    assert imports(crate)["c.rs"] == {"d.rs"}
    assert ["c.rs", "d.rs"] in circles(imports(crate))


def test_each_member_of_a_tuple_counts_as_an_argument(crate: Path) -> None:
    assert members("(clock, memory): (&Clock, &Rc<Memory>)") == 2
    assert members("deep: ((u8, u8), Vec<(u8, u8)>)") == 3
    assert [members(one) for one in ("&self", "list: &[(u8, u8)]", "call: fn(u8, u8) -> u8")] == [1, 1, 1]
    (crate / "src" / "c.rs").write_text("fn one(&self, two: u8, (three, four): (u8, u8)) {\n}\n")
    assert wide_functions(crate)["c::one"] == 4
    assert tuple_arguments(crate) == 1


def test_functions_of_files_directly_in_the_source_folder_have_a_length(crate: Path) -> None:
    (crate / "src" / "c.rs").write_text("pub fn long() {\n" + "    work();\n" * 80 + "}\n")
    assert function_lengths(crate)["c::long"] == 82


def test_imports_of_python_modules_count_within_functions_and_for_types(tmp_path: Path) -> None:
    package = tmp_path / "package"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "one.py").write_text("def load():\n    from package import two\n\n    return two\n")
    (package / "two.py").write_text("if TYPE_CHECKING:\n    from package.one import load\n")
    assert circles(python_imports(package)) == [["package.one", "package.two"]]


def test_a_pattern_of_files_matches_any_number_of_folders_also_none() -> None:
    found = {str(path.relative_to(path.parents[3])) for path in tracked("crates/wire/src/**/*.rs")}
    assert any(name.endswith("src/lib.rs") for name in found)
    assert not tracked("crates/wire/src/**/*.rs", "!crates/wire/**")
