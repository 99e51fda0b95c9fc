"""The command line: one file per command, found through one table."""

from __future__ import annotations

import gc
import sys

# name: (module, one line). `muster --help` reads this and imports no command.
TABLE: dict[str, tuple[str, str]] = {
    "create": ("create", "Make an agent and start it"),
    "list": ("list", "Show agents and what each is doing"),
    "connect": ("connect", "Put your terminal on an agent's"),
    "message": ("message", "Say something to agents, with a receipt"),
    "answer": ("answer", "Answer the dialog that an agent shows"),
    "interrupt": ("interrupt", "End what agents do now"),
    "wait": ("wait", "Wait until agents reach a state"),
    "exec": ("exec", "Run a command in agents' workspaces"),
    "pull": ("pull", "Bring an agent's commits or files here"),
    "push": ("push", "Send commits or files to an agent"),
    "map": ("map", "One agent per line of input, as many at once as you say"),
    "mend": ("mend", "One agent per test, every claim checked, one branch to review"),
    "demo": ("demo", "Run `mend` on a sample project with faults in it"),
    "runs": ("runs", "Show the runs of `mend`"),
    "report": ("report", "Open the report of a run of `mend`"),
    "stop": ("stop", "End agents' programs, keep all else"),
    "start": ("start", "Start stopped agents again"),
    "restart": ("restart", "Stop and start agents"),
    "archive": ("archive", "Stop agents and leave them out of listings"),
    "clone": ("clone", "Make an agent from another, work included"),
    "migrate": ("migrate", "Let an agent go on on another host"),
    "rename": ("rename", "Give an agent another name"),
    "label": ("label", "Show, set and remove labels"),
    "snapshot": ("snapshot", "Keep an agent as it is now, and go back to it"),
    "destroy": ("destroy", "Remove agents; their work goes to the attic"),
    "restore": ("restore", "Bring a destroyed agent back from the attic"),
    "gc": ("gc", "Expire the attic and clear what crashes left"),
    "logs": ("logs", "What an agent's terminal showed, also after its death"),
    "capture": ("capture", "An agent's screen as it is now"),
    "transcript": ("transcript", "An agent's conversation, in one form for all types"),
    "traces": ("traces", "Conversations kept, searched, and what they cost"),
    "events": ("events", "What happened in the fleet"),
    "why": ("why", "Explain an agent's state by its evidence"),
    "artifacts": ("artifacts", "A page of what a run of the tests has left"),
    "host": ("host", "Show hosts; make, stop, start and remove containers"),
    "doctor": ("doctor", "Check this machine and the fleet's health"),
    "config": ("config", "Read and change settings"),
    "tutorial": ("tutorial", "Keep a tutorial and the tests that cite it in step"),
    "skill": ("skill", "Teach agent programs to use muster"),
    "plugin": ("plugin", "Show agent types and hosts, and where each comes from"),
    "completion": ("completion", "Print a shell's completion script"),
    "version": ("version", "Print versions"),
}
ALIASES = {"c": "create", "ls": "list", "attach": "connect", "msg": "message", "x": "exec", "rm": "destroy"}


def main() -> None:
    """The `muster` program."""
    if sys.argv[1:] == ["--version"]:
        from muster import __version__

        sys.stdout.write(f"muster {__version__}\n")
        return
    # Collecting while importing finds nothing and costs a tenth of a short command's time.
    gc.disable()
    from muster.cli.app import run

    run(sys.argv[1:])
