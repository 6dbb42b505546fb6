"""Rules for the code of this project that are easier to check than to remember."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
import shape
from files import tracked

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[1]
CRATES = ROOT / "crates"
# Crates, and the one module of another that may name it: vector instructions for many lines at once.
UNSAFE_ALLOWED = {"recorder", "wire"}
UNSAFE_MODULE = CRATES / "crypto" / "src" / "batch"
FILE_LINES_MAX = 400


def rust_files(folder: str) -> list[Path]:
    return sorted((CRATES / folder / "src").rglob("*.rs"))


def own_dependencies(crate: str, section: str = "dependencies") -> set[str]:
    manifest = tomllib.loads((CRATES / crate / "Cargo.toml").read_text())
    known = {path.name for path in CRATES.iterdir()}
    return {name.replace("casemate-", "") for name in manifest.get(section, {})} & known


def test_a_crate_depends_only_on_crates_listed_above_it() -> None:
    manifest = (ROOT / "Cargo.toml").read_text()
    order = re.findall(r'^(\w+) = \{ package = "casemate-', manifest, flags=re.MULTILINE)
    order += [crate for crate in ("recorder", "py", "bench") if crate not in order]
    assert sorted(order) == sorted(path.name for path in CRATES.iterdir())
    for position, crate in enumerate(order):
        below = own_dependencies(crate) - set(order[:position])
        assert not below, f"{crate} names {sorted(below)}, which stand below it in Cargo.toml"


def test_no_execution_mode_refers_to_a_part_of_a_design() -> None:
    for path in rust_files("protection"):
        if "execution" in path.parts:
            named = re.findall(
                r"crate::(cipher|codec|counter|mac|tree|scheme|design|layout|metadata|on_chip)\b", path.read_text()
            )
            assert not named, f"{path.name} names {named}"


def test_the_protection_scheme_refers_to_no_execution_mode() -> None:
    for path in rust_files("protection"):
        # The conformance kit is tests: it runs the text.
        if not {"execution", "conformance"} & set(path.parts) and path.name != "lib.rs":
            assert "crate::execution" not in path.read_text(), path.name


def test_no_operation_of_the_execution_trait_has_a_default_implementation() -> None:
    total, defaults = shape.verbs(CRATES / "protection")
    assert total > 20
    assert defaults == 0, "a way of running that forgets this verb compiles"


def test_only_the_placement_turns_a_line_of_data_into_a_slot_or_back() -> None:
    # Caches and network know metadata by a separate address, which the slot itself names.
    allowed = {CRATES / "protection" / "src" / name for name in ("placement.rs", "slot.rs")}
    a_line = r"\w*(?:line|target|addr(?:ess)?|neighbour|donor)\w*(?:\(\))?\.0"
    turned = re.compile(
        rf"(?<![\w.])Slot\(\*?(?:\w+\.)*{a_line}|\bLineAddr\(\*?(?:\w+\.)*\w*slot\w*(?:\(\))?\.0", re.IGNORECASE
    )
    assert all(turned.search(text) for text in ("Slot(self.line.0)", "LineAddr(data_slot.0)"))
    for path in set(tracked("crates/**/*.rs", "fuzz/**/*.rs")) - allowed:
        found = turned.search(path.read_text())
        assert not found, f"{path.relative_to(ROOT)}: {found and found[0]}"


def test_only_the_recorder_its_ring_and_the_batched_kernel_contain_unsafe() -> None:
    for crate in sorted(path.name for path in CRATES.iterdir()):
        if crate not in UNSAFE_ALLOWED:
            for path in rust_files(crate):
                if UNSAFE_MODULE in path.parents:
                    continue
                code = re.sub(r"//.*", "", path.read_text())
                assert not re.search(r"\bunsafe\b", code), path.relative_to(ROOT)


def test_every_crate_keeps_the_workspace_lints() -> None:
    for crate in CRATES.iterdir():
        manifest = tomllib.loads((crate / "Cargo.toml").read_text())
        assert manifest.get("lints") == {"workspace": True}, crate.name


@pytest.mark.parametrize("apart", ["fuzz", "comparisons/gcm"])
def test_the_lock_files_of_separate_packages_match_the_dependencies_of_our_crates(apart: str) -> None:
    packages = tomllib.loads((ROOT / apart / "Cargo.lock").read_text())["package"]
    locked = {package["name"]: package.get("dependencies", []) for package in packages}
    assert "casemate-crypto" in locked
    for name in locked.keys() & {f"casemate-{crate.name}" for crate in CRATES.iterdir()}:
        manifest = tomllib.loads((CRATES / name.removeprefix("casemate-") / "Cargo.toml").read_text())
        needed = {key.replace("_", "-") for key in manifest.get("dependencies", {})}
        # A lock that has several versions of a name contains the name with its version.
        found = {dependency.split()[0].removeprefix("casemate-").replace("_", "-") for dependency in locked[name]}
        assert needed <= found, (
            f"{apart}/Cargo.lock knows no {sorted(needed - found)} under {name}: run cargo update --workspace there"
        )


def test_every_rust_file_begins_with_a_module_comment() -> None:
    for path in tracked("crates/**/*.rs", "comparisons/**/*.rs"):
        assert path.read_text().startswith("//!"), path.relative_to(ROOT)


def test_a_crate_has_one_integration_test_program_that_names_every_file() -> None:
    for tests in sorted(CRATES.glob("*/tests")):
        assert [path.name for path in tests.iterdir()] == ["all"], (
            f"{tests.relative_to(ROOT)}: each program is linked anew"
        )
        for path in sorted(tests.rglob("*.rs")):
            folder, module = path.parent, path.stem
            if module == "main":
                continue
            if module == "mod":
                folder, module = folder.parent, folder.name
            roots = [root for root in (folder / "main.rs", folder / "mod.rs") if root.is_file()]
            named = [root for root in roots if re.search(rf"^(?:pub )?mod {module};$", root.read_text(), re.MULTILINE)]
            assert named, f"{path.relative_to(ROOT)} is not compiled: nothing names it"


def test_no_source_file_exceeds_the_maximum_length() -> None:
    for path in tracked("crates/**/*.rs", "comparisons/**/*.rs", "python/**/*.py", "scripts/*", "dv/**"):
        lines = path.read_text().count("\n")
        assert lines <= FILE_LINES_MAX, f"{path.relative_to(ROOT)} has {lines} lines"


@pytest.mark.parametrize("phrase", ["TO" + "DO", "FIX" + "ME", "XX" + "X"])
def test_the_code_contains_no_markers_of_unfinished_work(phrase: str) -> None:
    for path in tracked(
        "crates/**", "python/**/*.py", "scripts/*", "designs/*", "machines/*", "classes.toml", "dv/**", "rtl/*"
    ):
        assert phrase not in path.read_text(errors="ignore"), path.relative_to(ROOT)


def test_the_repository_contains_no_development_machine_path() -> None:
    outside = re.compile(r"/wo" + r"rk/|\.\./sha" + r"red|/tm" + r"p/target|index\.crates\.io|pypi\.org|static\.crates")
    for path in tracked("**"):
        if path.suffix not in {".trace", ".lock"} and path != Path(__file__).resolve():
            found = outside.search(path.read_text(errors="ignore"))
            assert not found, f"{path.relative_to(ROOT)} names {found}"


def test_every_check_that_the_architecture_names_exists() -> None:
    invariants = (ROOT / "docs" / "ARCHITECTURE.md").read_text().partition("## Invariants")[2]
    named = re.findall(r"`([\w./]+\.(?:rs|py|md))`", invariants)
    assert len(named) > 10
    for name in named:
        assert (ROOT / name).is_file() or (CRATES / name).is_file(), name


def test_every_source_file_that_a_page_names_exists() -> None:
    written = tracked("**/*.rs", "**/*.py", "**/*.sh")
    sources = [f"/{path.relative_to(ROOT)}" for path in written]
    for page in tracked("docs/**/*.md"):
        for name in re.findall(r"`([\w./]+\.(?:rs|py|sh))`", page.read_text()):
            assert any(source.endswith(f"/{name}") for source in sources), f"{page.relative_to(ROOT)} names {name}"
