"""Every path of a project is one of four things."""

from __future__ import annotations

import pytest

from muster.mend import Case, Part
from muster.mend.layout import Layout, of_collection

PLAIN = of_collection(
    [
        Case("tests/test_a.py::test_a", "tests/test_a.py"),
        Case("tests/unit/check_b.py::test_b", "tests/unit/check_b.py"),
    ],
    testpaths=["./tests/"],
    python_files=["test_*.py", "check_*.py"],
    conftests=["conftest.py", "tests/conftest.py"],
    config="pyproject.toml",
    docs=["TUTORIAL"],
    tracked=["src/shop/__init__.py", "src/shop/core.py", "tools.py", "setup.py", "tests/test_a.py", "docs/conf.py"],
)
BESIDE = of_collection(
    [Case("shop/test_core.py::test_a", "shop/test_core.py"), Case("shop/core.py::shop.core.add", "shop/core.py")],
    testpaths=["shop"],
    tracked=["shop/core.py", "shop/test_core.py"],
)
BARE = Layout()


@pytest.mark.parametrize(
    ("path", "part"),
    [
        ("src/shop/core.py", "impl"),
        ("src/shop/testing/kit.py", "impl"),
        ("src/shop/test/runner.py", "impl"),
        ("src/shop/prompts/task.md", "impl"),
        ("src/shop/README.md", "docs"),
        ("bin/run", "impl"),
        ("pyproject.toml", "impl"),
        ("setup.cfg", "impl"),
        ("requirements.txt", "impl"),
        ("requirements-dev.txt", "impl"),
        ("tests/test_a.py", "test"),
        ("tests/unit/check_b.py", "test"),
        ("tests/unit/help.py", "test"),
        ("tests/data/x.json", "test"),
        ("tests/README.md", "docs"),
        ("conftest.py", "test"),
        ("tests/conftest.py", "test"),
        ("scripts/check_x.py", "test"),
        ("docs/guide/a.png", "docs"),
        ("docs/conf.py", "docs"),
        ("README.md", "docs"),
        ("CHANGES", "docs"),
        ("LICENSE", "docs"),
        ("notes.txt", "docs"),
        ("TUTORIAL", "docs"),
        ("tox.ini", "settings"),
        ("pytest.ini", "settings"),
        ("noxfile.py", "settings"),
        (".coveragerc", "settings"),
        (".github/workflows/test.yml", "settings"),
        (".github/CODEOWNERS", "impl"),
        (".gitlab-ci.yml", "settings"),
        (".ci/run.sh", "settings"),
        (".circleci/config.yml", "settings"),
        ("Jenkinsfile", "settings"),
        ("azure-pipelines.yml", "settings"),
        (".gitattributes", "settings"),
    ],
)
def test_a_project_with_its_tests_in_a_folder(path: str, part: Part) -> None:
    assert PLAIN.of(path) == part


@pytest.mark.parametrize(
    ("path", "part"),
    [
        ("shop/core.py", "impl"),
        ("shop/new.py", "impl"),
        ("shop/test_core.py", "test"),
        ("shop/test_new.py", "test"),
        ("shop/conftest.py", "test"),
        ("shop/data.json", "impl"),
    ],
)
def test_a_project_with_its_tests_beside_the_code(path: str, part: Part) -> None:
    assert BESIDE.of(path) == part


@pytest.mark.parametrize(("path", "part"), [("tests/x.json", "test"), ("test_a.py", "test"), ("a.py", "impl")])
def test_names_decide_where_nothing_is_known(path: str, part: Part) -> None:
    assert BARE.of(path) == part


def test_the_packages_are_what_the_implementation_is_imported_by() -> None:
    assert PLAIN.packages == ("shop", "tools")
    assert BESIDE.packages == ("shop",)
    assert PLAIN.is_program("shop.core.add") is True
    assert PLAIN.is_program("os.path") is False
    assert BARE.is_program("shop") is None


def test_a_document_that_tests_are_collected_from_is_a_test() -> None:
    found = of_collection([Case("docs/guide.md::0", "docs/guide.md"), Case("a.yaml::one", "a.yaml")])
    assert found.of("docs/guide.md") == "test"
    assert found.of("a.yaml") == "test"
    assert found.of("docs/other.md") == "docs"


def test_the_file_that_pytest_took_its_settings_from() -> None:
    assert Layout(config="tests/custom.ini").of("tests/custom.ini") == "settings"
    assert Layout(config="pyproject.toml").of("pyproject.toml") == "impl"
