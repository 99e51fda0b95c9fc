"""Containers, through docker's own command line; the engine may be on another machine that `ssh` reaches."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from hashlib import sha256
from typing import Literal

import msgspec
from msgspec import Struct

from muster.core import duration, proc
from muster.core.proc import Prefix, Result
from muster.errors import Asleep, CommandFailed, HostError, NotFound, Unreachable, UsageError
from muster.hosts import Capability, Condition
from muster.hosts.local import Local
from muster.hosts.ssh import Ssh

BASE, _SNAPSHOT = "muster-base", "muster-snapshot:"
_WORDS: dict[str, Condition] = {"running": "running", "paused": "paused", "restarting": "running"}


class Docker(Struct, frozen=True):
    """A container: one that muster makes, or one that is yours."""

    name: str
    home: str  # muster's folder on this machine
    by: Ssh | None = None  # the machine that the engine is on, where it is not this one
    engine: str = ""  # `ssh://HOST`, or what `docker --host` takes; empty: what `docker` itself would take
    container: str = ""  # one that is yours already; empty: muster makes one
    image: str = BASE
    dockerfile: str = ""
    context: str = ""  # the folder that the Dockerfile is built in; empty: the one it lies in
    cpus: float = 0
    memory: str = ""  # such as `4g`
    mounts: tuple[str, ...] = ()  # `/here:/there[:ro]`
    env: dict[str, str] = {}
    user: str = ""
    network: Literal["none", "allow", "full"] = "full"
    allow: tuple[str, ...] = ()  # of network `allow`: the hosts that can be reached
    read_only: bool = False
    idle_timeout: str = ""
    lifetime: str = ""
    folder: str = "~/.muster"  # muster's folder there
    patience: float = 15.0
    provider: str = "docker"
    capabilities: frozenset[Capability] = frozenset({"snapshot", "stop", "pause", "isolated"})

    # -- commands ------------------------------------------------------------------------------------------------------

    def argv(self, command: Sequence[str], *, tty: bool = False) -> list[str]:
        user = ["--user", self.user] if self.user else []
        words = self.docker("exec", "-i", *(["-t", "-e", "TERM"] if tty else []), *user, self.id, *command)
        return self.by.argv(words, tty=tty) if self.by else words

    def root(self) -> str:
        return self.folder

    def busy(self, said: str) -> bool:
        # So the engine answers when it is too busy to begin anything.
        return "unable to upgrade to tcp" in said or (self.by is not None and self.by.busy(said))

    def unreachable(self, said: str) -> Unreachable:
        why = said.splitlines()[-1].strip() if said else "it gave no answer"
        if "is not running" in said:
            return Asleep(f"`{self.name}` is stopped", hint=f"`muster host start {self.name}`")
        if "is paused" in said:
            return Unreachable(f"`{self.name}` is paused", hint=f"`muster host start {self.name}`")
        if "No such container" in said:
            hint = f"`muster host destroy {self.name} --forget` forgets it, and its agents with it"
            return Unreachable(f"the container of `{self.name}` is gone", hint=hint)
        if self.by and ("Error" not in said and "docker" not in said.lower()):
            return self.by.unreachable(said)
        return Unreachable(f"can't reach `{self.name}`: {why}", hint="`docker info` says whether the engine runs")

    # -- its life ------------------------------------------------------------------------------------------------------

    @property
    def id(self) -> str:
        """What the engine calls it."""
        return self.container or f"muster-{self.name}-{sha256(self.home.encode()).hexdigest()[:8]}"

    def condition(self) -> Condition:
        found = self.call("inspect", "--type", "container", "--format", "{{.State.Status}}", self.id, check=False)
        if found.code == 0:
            return _WORDS.get(found.text, "stopped")
        if "No such container" in found.said:
            return "gone"
        raise self.unreachable(found.said)

    def conditions(self) -> dict[str, Condition]:
        """Of all of muster's on that engine, in one question."""
        listing = self.call("ps", "--all", "--filter", "label=muster=1", "--format", "{{.Names}} {{.State}}")
        rows = (line.partition(" ") for line in listing.text.splitlines())
        return {name: _WORDS.get(state, "stopped") for name, _, state in rows}

    def labelled(self) -> str:
        """The container that says it is this host, whoever made it; empty: there is none."""
        mark = f"label=muster.host={self.name}"
        return self.call("ps", "--all", "--filter", mark, "--format", "{{.Names}}").text.partition("\n")[0]

    def create(self) -> None:
        """Make the container and start it; one that is there already is started."""
        image = self._built() if self.dockerfile else self.image
        # A name of ours asked of a registry could be answered by anybody.
        pull = ("--pull", "never") if image.startswith("muster-") else ()
        words = (*self._flags(), *pull, "--entrypoint", "sh", image, *self._keeper())
        # What is in a variable may be secret, and every user of the machine can read the words of a command.
        given = "".join(f"{key}={value}\n" for key, value in self._variables()).encode()
        argv = ["sh", "-c", 'cat | "$@"', "sh", *self.docker("create", "--env-file", "/dev/stdin", *words)]
        made = proc.run(self.place, argv, stdin=given, check=False, timeout=600)
        if made.code and f'"/{self.id}" is already in use' in made.err.decode(errors="replace"):
            self.start()
            return
        if made.code:
            raise self._not_made(image, made)
        try:
            self.start()
        except HostError:
            self.destroy()
            raise

    def start(self) -> None:
        started = self.call("start", self.id, check=False)
        why = _why(started) if started.code else ""
        if "paused" in why:
            self.call("unpause", self.id)
        elif "No such container" in why:
            raise self.unreachable(why)
        elif started.code:
            raise CommandFailed(f"`{self.name}` can't be started: {why}")
        if self.network == "allow":
            from muster.hosts.fence import fence

            fence(self)

    def stop(self) -> None:
        self.call("stop", "--time", "10", self.id)

    def destroy(self) -> None:
        """Remove it with all that is in it; one that is gone is as good."""
        removed = self.call("rm", "--force", "--volumes", self.id, check=False)
        if removed.code and "No such container" not in removed.said:
            raise CommandFailed(f"can't remove `{self.name}`: {_why(removed)}")
        if self.read_only:
            self.call("volume", "rm", "--force", self.id, check=False)

    def snapshot(self, label: str) -> str:
        """Its file system as an image, by whose name others can be made."""
        image = f"{_SNAPSHOT}{label}"
        self.call("commit", "--change", f"LABEL muster.snapshot={self.name}", self.id, image)
        return image

    # -- the engine ----------------------------------------------------------------------------------------------------

    def call(self, *words: str, stdin: bytes | None = None, check: bool = True, timeout: float = 600) -> Result:
        """Ask the engine."""
        result = proc.run(self.place, self.docker(*words), stdin=stdin, check=False, timeout=timeout)
        if check and result.code:
            raise CommandFailed(f"`docker {words[0]}` failed for `{self.name}`: {_why(result)}")
        return result

    @property
    def place(self) -> Prefix:
        """Where `docker` is run."""
        return self.by or Local(self.home)

    def docker(self, *words: str) -> list[str]:
        """The engine's own command line, on the machine where it is run."""
        engine = [] if self.by or not self.engine else ["--host", self.engine]
        return ["docker", *engine, *words]

    def _flags(self) -> Iterator[str]:
        yield from ("--name", self.id, "--hostname", self.name, "--label", "muster=1")
        yield from ("--label", f"muster.host={self.name}", "--label", f"muster.home={_mark(self.home)}")
        yield from ("--label", f"muster.settings={msgspec.json.encode(self._told()).decode()}")
        yield from (["--cpus", f"{self.cpus:g}"] if self.cpus else [])
        yield from (["--memory", self.memory] if self.memory else [])
        yield from (["--user", self.user] if self.user else [])
        yield from (["--network", "none"] if self.network == "none" else [])
        for mount in self.mounts:
            yield from ("--volume", _mount(mount))
        if self.read_only:
            # Nothing can be written but what is meant to be: a volume for muster's folder, which is the home as well.
            yield from ("--read-only", "--tmpfs", "/tmp", "--tmpfs", "/run", "--volume", f"{self.id}:/muster")
            yield from ("--env", "HOME=/muster")

    def _variables(self) -> Iterator[tuple[str, str]]:
        for key, value in self.env.items():
            if "\n" in value:
                raise UsageError(
                    f"the variable `{key}` of `{self.name}` has more than one line, which docker can't take"
                )
            yield key, value

    def _told(self) -> dict[str, object]:
        """The settings that made it, without what may be secret; another computer that adopts it reads them."""
        return {"network": self.network, "user": self.user, "read_only": self.read_only}

    def _keeper(self) -> list[str]:
        with open(os.path.join(os.path.dirname(__file__), "keep.sh")) as file:
            script = file.read()
        times = [str(_seconds(self.name, text)) for text in (self.idle_timeout, self.lifetime)]
        return ["-c", script, "muster", self.folder, *times]

    def _built(self) -> str:
        """The image of its Dockerfile; what has not changed comes from the engine's cache."""
        file = os.path.realpath(os.path.expanduser(self.dockerfile))
        folder = os.path.realpath(os.path.expanduser(self.context)) if self.context else os.path.dirname(file)
        if not os.path.isfile(file):
            raise NotFound(f"there is no Dockerfile `{file}`")
        tag = f"muster-built:{sha256(repr((file, folder)).encode()).hexdigest()[:12]}"
        if not self.by:
            self.call("build", "--quiet", "--tag", tag, "--file", file, folder, timeout=3600)
            return tag
        packed = proc.run(Local(self.home), ["tar", "-C", folder, "-c", "."]).out
        inside = os.path.relpath(file, folder)
        if inside.startswith("../"):
            raise UsageError(f"`{file}` must be in its context `{folder}`, which goes to another machine")
        self.call("build", "--quiet", "--tag", tag, "--file", inside, "-", stdin=packed, timeout=3600)
        return tag

    def _not_made(self, image: str, made: Result) -> HostError:
        said = _why(made)
        if image == BASE and "No such image" in said:
            hint = "`muster host image` makes it; `--host-set image=NAME` or the setting `docker.image` take another"
            return CommandFailed(f"there is no image `{BASE}` yet", hint=hint)
        if image.startswith(_SNAPSHOT) and "No such image" in said:
            return self._no_snapshot(image.removeprefix(_SNAPSHOT))
        if "Unable to find image" in made.err.decode(errors="replace"):
            return CommandFailed(f"the engine has no image `{image}`, and could not fetch it: {said}")
        return CommandFailed(f"can't make `{self.name}`: {said}")

    def _no_snapshot(self, label: str) -> HostError:
        if os.path.exists(f"{self.home}/snapshots/hosts/{label}.tar"):
            hint = "`muster clone` and `muster snapshot restore` take an agent of that machine to any host"
            why = "it is muster's folder of a machine, not a system"
            return CommandFailed(f"the snapshot `{label}` is one that no container can be made from: {why}", hint=hint)
        hint = f"`muster host snapshot HOST --label {label}` makes one of a container"
        return CommandFailed(f"there is no snapshot `{label}` on this engine", hint=hint)


def _why(done: Result) -> str:
    """What the engine says is wrong; behind it the command line may say more that says less."""
    lines = (done.err or done.out).decode(errors="replace").splitlines()
    telling = [line for line in lines if line.strip() and not line.startswith("See 'docker")]
    return next((line.partition("daemon: ")[2] for line in lines if "daemon: " in line), [done.said, *telling][-1])


def _mark(home: str) -> str:
    return sha256(home.encode()).hexdigest()[:16]


def _mount(mount: str) -> str:
    here, colon, there = mount.partition(":")
    if not colon or not there.startswith("/"):
        raise UsageError(f"{mount!r} is no mount", hint="`/here:/there` or `/here:/there:ro`")
    return f"{os.path.expanduser(here)}:{there}"


def _seconds(name: str, text: str) -> int:
    found = duration.seconds(text) if text else 0.0
    if found is None:
        raise UsageError(f"`{text}` of `{name}` is no duration", hint="`90`, `1.5s`, `5m`, `2h` and `30d` are")
    return max(1, round(found)) if text else 0
