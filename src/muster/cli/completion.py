"""`muster completion`: teach your shell muster's words."""

from __future__ import annotations

import click

from muster.core import out


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> None:
    """Print a shell's completion script.

    Commands, options and the names of agents are completed.

    \b
    Examples:
      eval "$(muster completion bash)"         # in ~/.bashrc
      eval "$(muster completion zsh)"          # in ~/.zshrc, after compinit
      muster completion fish >~/.config/fish/completions/muster.fish
    """
    from click.shell_completion import get_completion_class

    from muster.cli.app import app

    kind = get_completion_class(shell)
    assert kind is not None
    script = kind(app, {}, "muster", "_MUSTER_COMPLETE")
    # Its `source` would first ask the local bash for its version; the script may be meant for another machine.
    out.say((script.source_template % script.source_vars()).strip())
