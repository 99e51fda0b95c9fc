"""tmux on a host: one server of our own, exact targets, no key bindings."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from msgspec import Struct

from muster.core import proc
from muster.core.proc import Prefix, Result

# The pane's program may be gone while its screen is still wanted; everything else is tmux's default.
CONFIG = """\
set -g remain-on-exit on
set -g remain-on-exit-format ""
set -g history-limit 50000
set -g default-terminal tmux-256color
set -g window-size latest
set -g escape-time 10
set -g focus-events on
set -g allow-rename off
set -g update-environment ""
set -g set-titles on
set -g set-titles-string "#{@muster_name}"
set -g status-left "#[bold] #{@muster_name} #[default]"
set -g status-left-length 70
set -g status-right "#{?pane_dead,ended · ,}leave: #{prefix} d "
set -g status-right-length 40
set -g @muster_script %s
set-hook -g pane-died 'run-shell -b "sh \\"#{@muster_script}\\" ended #{session_name} #{window_index} =#{pane_dead_status} =#{pane_dead_signal} #{pane_pid}"'
"""
# Of a session whose program says by its terminal's title what it does: the hook that tells, so nobody has to ask.
TITLED = 'run-shell -b "sh \\"#{@muster_script}\\" titled #{session_name}"'
WIDTH, HEIGHT = 160, 48


class Server(Struct, frozen=True):
    """muster's own tmux server on a host."""

    place: Prefix
    socket: str
    config: str

    def argv(self, *command: str) -> list[str]:
        # Elsewhere there is no locale of the user's, and without one tmux shows only ASCII.
        unicode = ["-u"] if self.place.name != "local" else []
        return ["tmux", *unicode, "-S", self.socket, "-f", self.config, *command]

    def run(
        self, *command: str, stdin: bytes | None = None, check: bool = True, env: dict[str, str] | None = None
    ) -> Result:
        # The server that a client may start lives on, so it must hold nothing of ours open.
        return proc.run(self.place, self.argv(*command), stdin=stdin, check=check, env=env, hold=False)

    def attach(self, session: str) -> list[str]:
        """The local argv that puts this terminal on that session."""
        return self.place.argv(["env", "-u", "TMUX", *self.argv("attach-session", "-t", f"={session}")], tty=True)


def pane(session: str) -> str:
    """The exact target of the agent's own pane."""
    return f"={session}:0.0"


def chain(commands: Sequence[Sequence[str]]) -> list[str]:
    """Several commands in one call; an argument that ends in `;` would end the command, so it is escaped."""
    out: list[str] = []
    for command in commands:
        if out:
            out.append(";")
        out += [word[:-1] + "\\;" if word.endswith(";") else word for word in command]
    return out


def config(script: str, more: str = "") -> bytes:
    """The configuration of muster's server on a host where its script lies there."""
    text = CONFIG % shlex.quote(script)
    if more:
        text += f"source-file -q {shlex.quote(more)}\n"
    return text.encode()


def session(name: str) -> str:
    """The exact target of a session, for commands that take any target: without the colon a prefix of a name would do."""
    return f"={name}:"
