"""Machines that your own `ssh` reaches, over one shared connection each."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from hashlib import sha256

from msgspec import Struct

from muster.core import paths, proc
from muster.errors import Silent, Unreachable
from muster.hosts import Capability

# What we rely on comes before the user's settings, for the first word counts; what is theirs to say comes after.
_CONFIG = """\
# Written by muster: its own terms, then your configuration, then what holds where that is silent.
ControlMaster auto
ControlPersist 60
BatchMode yes
ClearAllForwardings yes
ConnectTimeout {patience}
LogLevel INFO
PermitLocalCommand no
RemoteCommand none
ServerAliveCountMax 3
ServerAliveInterval {beat}
{includes}
Host *
StrictHostKeyChecking accept-new
"""
_BUSY = ("kex_exchange_identification", "Connection reset by peer", "mux_client_", "Session open refused")
# Of a machine that is off, or that is on its way up.
_SILENT = ("Connection refused", "No route to host", "timed out", "System is booting up")
_HINTS = {
    "IDENTIFICATION HAS CHANGED": "it may be another machine; if it is right, forget the old key: `ssh-keygen -R HOST`",
    "Host key verification failed": "connect once with `ssh`, and look at its key",
    "Permission denied": "muster can't answer questions: is the key in your agent (`ssh-add -l`), or named in `IdentityFile`?",
    "Could not resolve hostname": "an alias of `~/.ssh/config`, a machine's name, or `[hosts.NAME]` will do; `HOST.docker` is a container",
}


class Ssh(Struct, frozen=True):
    """A machine by its alias or address; keys, agents and jump hosts come from your ssh configuration."""

    name: str
    home: str  # muster's folder on this machine
    target: str = ""  # `[user@]machine`, or an alias of the ssh configuration; empty: the name
    port: int = 0
    identity: str = ""
    config: str = ""  # the ssh configuration; empty: yours and this machine's
    folder: str = "~/.muster"  # muster's folder there
    patience: float = 15.0
    boot_timeout: float = 60.0  # so many seconds may it take to boot while an agent is made there
    provider: str = "ssh"
    capabilities: frozenset[Capability] = frozenset()

    def argv(self, command: Sequence[str], *, tty: bool = False) -> list[str]:
        # sshd hands the remote shell one string, so the command is quoted here, once.
        # On a person's terminal it need not say that it goes.
        return [
            *self.door(),
            *(["-tt", "-o", "LogLevel=ERROR"] if tty else ["-T"]),
            "--",
            self.target or self.name,
            _quoted(command),
        ]

    def door(self) -> list[str]:
        """The `ssh` that every command goes through."""
        flags = ["-F", self._settings, "-S", self._socket]
        flags += ["-p", str(self.port)] if self.port else []
        return ["ssh", *flags, *(["-i", os.path.expanduser(self.identity)] if self.identity else [])]

    def root(self) -> str:
        return self.folder

    @property
    def vigilant(self) -> bool:
        """Whether its argv ends by itself when there is no sign of life from there."""
        return True

    def prepare(self) -> None:
        """Write the configuration that its argv names."""
        files = [self.config] if self.config else ["~/.ssh/config", "/etc/ssh/ssh_config"]
        # ssh itself asks the password file where `~` is, not $HOME.
        includes = "".join(f'Include "{os.path.expanduser(file)}"\n' for file in files)
        beat, patience = max(1, round(self.patience / 3)), max(1, round(self.patience))
        text = _CONFIG.format(includes=includes, beat=beat, patience=patience).encode()
        paths.folder(os.path.dirname(self._settings))
        paths.private(os.path.dirname(self._socket))
        if _read(self._settings) != text:
            paths.write(self._settings, text)

    def close(self) -> None:
        """End the shared connection, if there is one."""
        self._here(*self.door(), "-O", "exit")

    def busy(self, said: str) -> bool:
        said = self._heard(said)
        return any(word in said for word in _BUSY) and "stdio forwarding failed" not in said

    def unreachable(self, said: str) -> Unreachable:
        said = self._heard(said)
        lines = [line for line in said.splitlines() if line.strip(" @") and not line.startswith("Warning: Permanently")]
        if "REMOTE HOST IDENTIFICATION HAS CHANGED" in said:
            lines = [f"the host key of `{self.target or self.name}` is not the one that is known"]
        hint = next((hint for word, hint in _HINTS.items() if word in said), "")
        # A jump host says why before ssh says that it failed.
        silent = [line for line in lines if any(word in line for word in _SILENT)]
        why = [*silent, *lines[-1:], "it gave no answer"][0].strip()
        kind = Silent if silent else Unreachable
        return kind(f"can't reach `{self.name}`: {why}", hint=hint)

    def _heard(self, said: str) -> str:
        """The same with what a jump host said, which ssh keeps to itself where a connection is to be shared."""
        if "UNKNOWN port" not in said:
            return said
        alone = self._here(*self.door(), "-S", "none", "-o", "ControlMaster=no", "-T")
        return alone.err.decode(errors="replace") or said

    def _here(self, *words: str) -> proc.Result:
        from muster.hosts.local import Local

        return proc.run(Local(self.home), [*words, "--", self.target or self.name, "true"], check=False)

    @property
    def _settings(self) -> str:
        return f"{self.home}/ssh/{self._key}.config"

    @property
    def _socket(self) -> str:
        # ssh makes it under a longer name first: 17 characters more.
        return paths.short(f"{self.home}/ssh/{self._key}", 17)

    @property
    def _key(self) -> str:
        words = (self.target or self.name, self.port, self.identity, self.config, self.patience)
        return sha256(repr(words).encode()).hexdigest()[:16]


def _quoted(command: Sequence[str]) -> str:
    text = shlex.join(command)
    if not any(char in text for char in "\\\n!"):
        return text
    # Only these mean something in the quotes of some login shells (csh, fish).
    for char in "\\\n!":
        text = text.replace(char, f"\\0{ord(char):03o}")
    return f'sh -c \'eval "$(printf %b "$1")"\' sh {shlex.quote(text)}'


def _read(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError:
        return b""
