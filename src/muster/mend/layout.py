"""What each path of a project is: implementation, test, documentation, or settings of its tests and of its CI."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase

from msgspec import Struct
from msgspec.structs import replace

from muster.mend import Case, Part

# What decides how tests run, and where; `**` stands for anything below.
SETTINGS = (
    ".github/workflows/**",
    ".github/actions/**",
    ".gitlab-ci.yml",
    ".gitlab/**",
    ".ci/**",
    ".circleci/**",
    ".buildkite/**",
    ".azure-pipelines/**",
    "azure-pipelines.yml",
    "azure-pipelines.yaml",
    "bitbucket-pipelines.yml",
    "Jenkinsfile",
    ".travis.yml",
    ".cirrus.yml",
    ".woodpecker.yml",
    ".drone.yml",
    "appveyor.yml",
    "tox.ini",
    "tox.toml",
    "noxfile.py",
    "pytest.ini",
    ".pytest.ini",
    "pytest.toml",
    ".pytest.toml",
    ".coveragerc",
    "codecov.yml",
    ".codecov.yml",
    ".gitattributes",
    ".githooks/**",
    ".husky/**",
    ".pre-commit-config.yaml",
    "lefthook.yml",
)
# Files that hold the settings of everything: which of their tables are settings of tests is decided by content.
MIXED = ("pyproject.toml", "setup.cfg")

_PROSE = (".md", ".rst", ".adoc", ".markdown")
_PROSE_NAMES = ("LICENSE", "LICENCE", "COPYING", "AUTHORS", "NOTICE", "CHANGELOG", "CHANGES", "README")
_TEST_FOLDERS = ("test", "tests")
_TEST_WORDS = ("test", "spec", "check", "integration", "functional", "acceptance", "unit", "e2e", "qa")
_CODE_FOLDERS = ("src", "lib")


class Layout(Struct, frozen=True):
    """Which paths are what, from pytest's own configuration and collection."""

    tests: tuple[str, ...] = ()  # the files that tests were collected from
    testpaths: tuple[str, ...] = ()
    python_files: tuple[str, ...] = ("test_*.py", "*_test.py")
    python_classes: tuple[str, ...] = ("Test",)
    python_functions: tuple[str, ...] = ("test",)
    conftests: tuple[str, ...] = ()
    config: str = ""  # the file pytest took its settings from
    docs: tuple[str, ...] = ()  # what a person would not find by its name: the tutorial
    packages: tuple[str, ...] = ()  # the top names that the implementation is imported by

    def of(self, path: str) -> Part:
        """What that path is."""
        if self._is_settings(path):
            return "settings"
        if path in self.docs or (_is_prose(path) and path not in self.tests):
            return "docs"
        if self.is_test(path):
            return "test"
        return "docs" if self._is_docs(path) else "impl"

    def is_test(self, path: str) -> bool:
        """Whether that path is a test, or what tests are made with."""
        name = path.rpartition("/")[2]
        if name == "conftest.py" or path in self.conftests or self.collects(path):
            return True
        # `--doctest-modules` collects from the implementation, too: that doesn't make it a test.
        if path in self.tests and not name.endswith(".py"):
            return True
        return any(self._is_test_folder(folder) for folder in _above(path))

    def collects(self, path: str) -> bool:
        """Whether pytest looks for tests in a file of that name."""
        name = path.rpartition("/")[2]
        return name.endswith(".py") and any(fnmatchcase(path if "/" in one else name, one) for one in self.python_files)

    def is_program(self, dotted: str) -> bool | None:
        """Whether a dotted name is the implementation's; None where that isn't known."""
        top = dotted.partition(".")[0]
        return top in self.packages if self.packages else None

    def _is_settings(self, path: str) -> bool:
        if path == self.config and path not in MIXED:
            return True
        return any(path.startswith(one[:-2]) if one.endswith("/**") else path == one for one in SETTINGS)

    def _is_test_folder(self, folder: str) -> bool:
        name = folder.rpartition("/")[2]
        if folder in self.testpaths:
            return name not in (*_CODE_FOLDERS, *self.packages, ".", "")
        # A folder of that name in the implementation, without a test in it, is the implementation's.
        return name in _TEST_FOLDERS and (not self.tests or any(one.startswith(f"{folder}/") for one in self.tests))

    def _is_docs(self, path: str) -> bool:
        top, slash, _ = path.partition("/")
        stem, dot, ending = path.rpartition("/")[2].rpartition(".")
        if slash and (top in ("docs", "doc")):
            return True
        if slash and (top in _CODE_FOLDERS or top in self.packages):
            return False  # a template or a prompt that the program reads
        if f"{dot}{ending}" in _PROSE:
            return True
        return not slash and ending == "txt" and not stem.startswith(("requirements", "constraints"))


def _is_prose(path: str) -> bool:
    """A README or the like, wherever it is."""
    stem, dot, ending = path.rpartition("/")[2].partition(".")
    return stem.upper() in _PROSE_NAMES and (not dot or f".{ending}" in (*_PROSE, ".txt"))


def of_collection(
    cases: Iterable[Case],
    *,
    testpaths: Sequence[str] = (),
    python_files: Sequence[str] = (),
    python_classes: Sequence[str] = (),
    python_functions: Sequence[str] = (),
    conftests: Sequence[str] = (),
    config: str = "",
    docs: Sequence[str] = (),
    tracked: Iterable[str] = (),
) -> Layout:
    """The layout of a project as pytest collected it; `tracked` are all its files."""
    plain, files = Layout(), [*tracked]
    found = Layout(
        tests=tuple(sorted({case.file for case in cases})),
        testpaths=tuple(path.removeprefix("./").rstrip("/") for path in testpaths),
        python_files=tuple(python_files) or plain.python_files,
        python_classes=tuple(python_classes) or plain.python_classes,
        python_functions=tuple(python_functions) or plain.python_functions,
        conftests=tuple(conftests),
        config=config,
        docs=tuple(docs),
    )
    # With its tests beside it, the code's own folder is what pytest was told to look through.
    found = replace(found, testpaths=tuple(one for one in found.testpaths if not _holds_code(one, files, found)))
    names = {name for path in files if found.of(path) == "impl" and (name := _imported_as(path))}
    return replace(found, packages=tuple(sorted(names)))


def _holds_code(folder: str, files: Iterable[str], layout: Layout) -> bool:
    """Whether there is more in a folder than tests, and its name doesn't say that this is for them."""
    if any(word in folder.rpartition("/")[2].lower() for word in _TEST_WORDS):
        return False
    inside = [path for path in files if path.startswith(f"{folder}/") and path.endswith(".py")]
    return any(not layout.collects(path) and not path.endswith(("__init__.py", "conftest.py")) for path in inside)


def _imported_as(path: str) -> str:
    """The top name that a file of the implementation is imported by; empty if it is not imported."""
    parts = path.split("/")
    if not path.endswith(".py") or path in ("setup.py", "noxfile.py"):
        return ""
    if parts[0] in _CODE_FOLDERS:
        parts = parts[1:]
    return parts[0].removesuffix(".py") if parts else ""


def _above(path: str) -> list[str]:
    parts = path.split("/")[:-1]
    return ["/".join(parts[: count + 1]) for count in range(len(parts))]
