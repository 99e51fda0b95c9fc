"""The front door: finds a command, runs it, turns every failure into one line and an exit code."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import NoReturn

import click
from click.shell_completion import CompletionItem

from muster.cli import ALIASES, TABLE
from muster.core import out
from muster.errors import MusterError, UsageError


class App(click.Group):
    """A group whose commands are imported when they are used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(TABLE)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        name = ALIASES.get(cmd_name, cmd_name)
        if name not in TABLE:
            return None
        command = import_module(f"muster.cli.{TABLE[name][0]}").command
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        known = name in TABLE or name in ALIASES
        if not known and not name.startswith("-") and not ctx.resilient_parsing:
            from muster.core.names import nearest

            hint = nearest(name, [*TABLE, *ALIASES], "command", "muster --help")
            raise UsageError(f"there is no command `{name}`", hint=hint)
        return super().resolve_command(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        # click's own would import every command that begins so, to ask it for its help.
        lines = {name: line for name, (_, line) in TABLE.items()}
        lines.update({alias: lines[name] for alias, name in ALIASES.items()})
        return [CompletionItem(name, help=line) for name, line in lines.items() if name.startswith(incomplete)]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        aliases = {name: alias for alias, name in ALIASES.items()}
        with formatter.section("Commands"):
            formatter.write_dl(
                [(f"{name} ({aliases[name]})" if name in aliases else name, line) for name, (_, line) in TABLE.items()]
            )


@click.group(cls=App, invoke_without_command=False, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="pass-muster", prog_name="muster", message="%(prog)s %(version)s")
def app() -> None:
    """Run coding agents side by side, and trust what comes back.

    `muster COMMAND --help` has examples for each command.
    """


def run(argv: Sequence[str]) -> NoReturn:
    """Run one command line and end the process."""
    # What is loaded by now stays: a later collection need not look at it.
    gc.freeze()
    gc.enable()
    code = outcome(argv)
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except BrokenPipeError:
        pass  # the reader has seen enough
    # Taking the interpreter apart costs 7 ms and frees what the process' end frees anyway.
    os._exit(code)


def outcome(argv: Sequence[str]) -> int:
    """The exit code of one command line."""
    try:
        result = app.main(list(argv), prog_name="muster", standalone_mode=False)
        return result if isinstance(result, int) else 0
    except MusterError as error:
        return out.failure(str(error), error.hint, error.exit_code)
    except click.exceptions.NoArgsIsHelpError as error:
        out.talk(error.format_message())
        return 2
    except click.ClickException as error:
        return out.failure(_plain(error), _hint(error), 2)
    except (click.Abort, KeyboardInterrupt):
        return out.failure("interrupted", "", 130)
    except BrokenPipeError:
        return 141  # as a program that SIGPIPE ended
    except OSError as error:
        where = f"`{error.filename}`: " if error.filename else ""
        return out.failure(f"{where}{error.strerror or error}", "", 1)


def _plain(error: click.ClickException) -> str:
    message = error.format_message().rstrip(".")
    return message[:1].lower() + message[1:]


def _hint(error: click.ClickException) -> str:
    context = getattr(error, "ctx", None)
    return f"`{context.command_path} --help`" if context else "`muster --help`"
