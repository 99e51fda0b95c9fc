"""Settings: what may be set, and what is, by layers from the defaults up to the flags of one command."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

Layer = Literal["default", "user", "project", "local", "environment", "flag"]
FileLayer = Literal["user", "project", "local"]
FILE_LAYERS: tuple[FileLayer, ...] = ("user", "project", "local")
Mode = Literal["worktree", "clone", "copy", "in-place"]
Dirty = Literal["refuse", "carry", "ignore"]
Permissions = Literal["ask", "edit", "all"]


class Create(Struct, frozen=True):
    """[create]: what `muster create` does when its command line doesn't say."""

    type: Annotated[
        str, Meta(description="agent type; empty: `command` where a program follows `--`, otherwise one must be named")
    ] = ""
    host: Annotated[str, Meta(description="host of an agent whose address names none; empty: this machine")] = ""
    mode: Annotated[Mode, Meta(description="kind of workspace")] = "worktree"
    branch: Annotated[
        str, Meta(description="`BASE:NEW`; no base is the current commit, `*` stands for the agent's name")
    ] = ":muster/*"
    dirty: Annotated[Dirty, Meta(description="what to do about uncommitted changes in the source")] = "refuse"
    connect: Annotated[bool, Meta(description="connect to the new agent at once")] = False
    pass_env: Annotated[
        tuple[str, ...], Meta(description="names or globs of your variables that every agent gets")
    ] = ()
    env: Annotated[dict[str, str], Meta(description="variables that every agent gets")] = {}
    labels: Annotated[dict[str, str], Meta(description="labels that every agent gets")] = {}
    log: Annotated[bool, Meta(description="keep all that the terminal shows, through a pipe")] = False
    ready_timeout: Annotated[float, Meta(gt=0, description="seconds until a program must be ready")] = 30.0
    jobs: Annotated[int, Meta(ge=1, description="how many agents are created at once")] = 8


class Workspace(Struct, frozen=True):
    """[workspace]: what every new workspace needs."""

    setup: Annotated[str, Meta(description="command that is run once in each new workspace")] = ""
    share: Annotated[
        tuple[str, ...],
        Meta(description="ignored paths to link from the source, such as a virtual environment; elsewhere copied"),
    ] = ()
    put: Annotated[tuple[str, ...], Meta(description="ignored paths to copy from the source")] = ()


class Connect(Struct, frozen=True):
    """[connect]: how a terminal is put on an agent's."""

    command: Annotated[
        str, Meta(description="command that replaces attaching; `{}` stands for the quoted command that attaches")
    ] = ""
    tmux_config: Annotated[str, Meta(description="tmux configuration file that muster's own server reads")] = ""


class Listing(Struct, frozen=True):
    """[list]: how agents are shown."""

    fields: Annotated[tuple[str, ...], Meta(description="columns to show; empty: the usual ones")] = ()
    sort: Annotated[str, Meta(description="field that agents are sorted by")] = "created"


class SshSettings(Struct, frozen=True):
    """[ssh]: how other machines are reached."""

    config: Annotated[str, Meta(description="ssh configuration file to use instead of yours and this machine's")] = ""
    patience: Annotated[
        float, Meta(ge=1, description="seconds without a sign of life until a host counts as unreachable")
    ] = 15.0
    boot_timeout: Annotated[
        float, Meta(ge=0, description="seconds that a new agent's host may take to boot; 0: it is not waited for")
    ] = 60.0


class DockerSettings(Struct, frozen=True):
    """[docker]: what containers are made of where `[hosts.NAME]` and the command line don't say."""

    engine: Annotated[
        str, Meta(description="`ssh://HOST`, or what `docker --host` takes; empty: what `docker` itself would take")
    ] = ""
    image: Annotated[str, Meta(description="image of new containers; `muster host image` makes this one")] = (
        "muster-base"
    )
    network: Annotated[Literal["none", "full"], Meta(description="network of new containers")] = "full"
    mounts: Annotated[tuple[str, ...], Meta(description="`/here:/there[:ro]`: folders that new containers share")] = ()
    memory: Annotated[str, Meta(description="memory of a new container, such as `4g`; empty: no bound")] = ""
    cpus: Annotated[float, Meta(ge=0, description="cores of a new container; 0: no bound")] = 0.0
    idle_timeout: Annotated[
        str, Meta(description="a container stops when nothing happened in it for so long, such as `30m`; empty: never")
    ] = ""
    lifetime: Annotated[
        str, Meta(description="a container stops when it ran for so long, such as `1d`; empty: never")
    ] = ""


class Attic(Struct, frozen=True):
    """[attic]: what is kept of destroyed agents."""

    days: Annotated[int, Meta(ge=0, description="days until `muster gc` removes what is kept")] = 30


class Mend(Struct, frozen=True):
    """[mend]: what `muster mend` does when its command line doesn't say."""

    type: Annotated[str, Meta(description="agent type that gets the tests")] = "mechanic"
    integrator: Annotated[str, Meta(description="agent type that gets conflicts; empty: they are listed")] = ""
    jobs: Annotated[int, Meta(ge=0, description="how many agents at once; 0: by memory and cores")] = 0
    repeats: Annotated[int, Meta(ge=1, description="how many runs of a test must agree")] = 3


class Template(Struct, frozen=True):
    """[templates.NAME]: settings for `muster create --template NAME`; None says nothing."""

    type: Annotated[str | None, Meta(description="agent type")] = None
    args: Annotated[tuple[str, ...] | None, Meta(description="arguments of its program")] = None
    message: Annotated[str | None, Meta(description="first message")] = None
    mode: Annotated[Mode | None, Meta(description="as `create.mode`")] = None
    branch: Annotated[str | None, Meta(description="as `create.branch`")] = None
    dirty: Annotated[Dirty | None, Meta(description="as `create.dirty`")] = None
    permissions: Annotated[Permissions | None, Meta(description="what it may do unasked")] = None
    share: Annotated[tuple[str, ...] | None, Meta(description="as `workspace.share`")] = None
    put: Annotated[tuple[str, ...] | None, Meta(description="as `workspace.put`")] = None
    env: Annotated[dict[str, str], Meta(description="as `create.env`")] = {}
    pass_env: Annotated[tuple[str, ...] | None, Meta(description="as `create.pass_env`")] = None
    labels: Annotated[dict[str, str], Meta(description="as `create.labels`")] = {}
    setup: Annotated[str | None, Meta(description="as `workspace.setup`")] = None
    windows: Annotated[dict[str, str], Meta(description="more tmux windows: name and command")] = {}
    connect: Annotated[bool | None, Meta(description="as `create.connect`")] = None


class OwnType(Struct, frozen=True):
    """[types.NAME]: an agent type of the user's, made from another."""

    parent: Annotated[str, Meta(description="agent type it is made from")] = "command"
    args: Annotated[tuple[str, ...], Meta(description="arguments that come first")] = ()
    env: Annotated[dict[str, str], Meta(description="variables that its agents get")] = {}


class Config(Struct, frozen=True):
    """Every setting, as it is in force."""

    create: Create = Create()
    workspace: Workspace = Workspace()
    connect: Connect = Connect()
    list: Listing = Listing()
    attic: Attic = Attic()
    ssh: SshSettings = SshSettings()
    docker: DockerSettings = DockerSettings()
    mend: Mend = Mend()
    templates: dict[str, Template] = {}
    types: dict[str, OwnType] = {}
    hosts: dict[
        str, dict[str, Annotated[Any, Meta(description="`provider`, `target`, and what that provider understands")]]
    ] = {}


class Origin(Struct, frozen=True):
    """A setting's value, and who says so."""

    value: Any
    layer: Layer
    file: str = ""  # of `environment`: the variable


def load(project_folder: str | None, overrides: Mapping[str, Any] = {}, *, strict: bool = False) -> Config:
    """The settings in force in that folder; overrides are flags by dotted key, where None is a flag not given.

    `strict` refuses variables that look like settings and are none.
    """
    from muster.core.config import layers

    given = layers.given(project_folder, overrides, strict=strict)
    return layers.built(given) if given else Config()


def origins(
    project_folder: str | None, overrides: Mapping[str, Any] = {}, *, strict: bool = False
) -> dict[str, Origin]:
    """Every setting in force in that folder, by dotted key."""
    from muster.core.config import keys, layers

    found = layers.defaults() | layers.given(project_folder, overrides, strict=strict)
    # An empty table says nothing once it has an entry.
    filled = {path[:-1] for path in found}
    return {keys.dotted(path): one for path, one in sorted(found.items(), key=keys.in_order) if path not in filled}


def keys_table() -> str:
    """Every key as a Markdown table, for docs/configuration.md."""
    from muster.core.config import keys

    rows = ["| key | value | default | |", "|---|---|---|---|"]
    for key in keys.documented():
        cells = [f"`{key.name}`", key.words, f"`{key.default}`" if key.default else "", key.about]
        rows.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(rows)
