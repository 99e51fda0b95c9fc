"""Steps that work on files and commits."""

from __future__ import annotations

import json
import os
from typing import Any

from . import aside
from .endings import Failed
from .script import Step
from .session import Session


def edit(session: Session, step: Step) -> None:
    path = step["edit"]
    session.say("tool", path, "edit")
    if folder := os.path.dirname(path):
        os.makedirs(folder, exist_ok=True)
    if "find" in step:
        text, mode = _replaced(path, step["find"], step["replace"]), "w"
    else:
        text, mode = (step["content"], "w") if "content" in step else (step["append"], "a")
    with open(path, mode, encoding="utf-8", newline="") as file:
        file.write(text)


def _replaced(path: str, find: str, replace: str) -> str:
    with open(path, encoding="utf-8", newline="") as file:
        old = file.read()
    if find not in old:
        raise Failed(f"{path}: there is no {json.dumps(find, ensure_ascii=False)}")
    return old.replace(find, replace, 1)


def delete(session: Session, step: Step) -> None:
    session.say("tool", step["delete"], "delete")
    os.unlink(step["delete"])


def run(session: Session, step: Step) -> None:
    session.say("tool", step["run"], "run")
    code, text = session.command(["sh", "-c", step["run"]])
    session.say("result", text + (f"(exit code {code})" if code else ""), "run")
    if code != step.get("expect", code):
        raise Failed(f"exit code {code}, and {step['expect']} was expected")


def commit(session: Session, step: Step) -> None:
    session.say("tool", step["commit"], "commit")
    identity: list[str] = []
    for whose in ("GIT_AUTHOR_IDENT", "GIT_COMMITTER_IDENT"):
        if session.command(["git", "-c", "user.useConfigOnly=true", "var", whose])[0]:
            identity = ["-c", "user.name=scripted", "-c", "user.email=scripted@muster.invalid"]
    _git(session, "add", "-A")
    # A script is followed unattended: nobody could type a key's passphrase.
    _git(session, *identity, "commit", "--quiet", "--no-gpg-sign", "-m", step["commit"])
    session.say("result", _git(session, "rev-parse", "HEAD"), "commit")


def _git(session: Session, *words: str) -> str:
    code, text = session.command(["git", *words])
    if code:
        raise Failed(text.strip() or f"git ended with {code}")
    return text.strip()


def outcome(session: Session, step: Step) -> None:
    text = step["outcome"]
    if isinstance(text, dict):
        _name_commits(session, text.get("changes"))
        text = json.dumps({"schema": 1, **text}, ensure_ascii=False, indent=1, default=str) + "\n"
    session.say("tool", text, "outcome")
    if path := os.environ.get("MUSTER_OUTCOME"):
        aside.write(path, text)


def _name_commits(session: Session, changes: Any) -> None:
    for change in changes if isinstance(changes, list) else []:
        if isinstance(change, dict) and change.get("commit") == "HEAD":
            change["commit"] = _git(session, "rev-parse", "HEAD")


def artifact(session: Session, step: Step) -> None:
    session.say("tool", step["artifact"], "artifact")
    if not (root := os.environ.get("MUSTER_ARTIFACTS")):
        return session.say("result", "not kept: there is no $MUSTER_ARTIFACTS", "artifact")
    path = os.path.normpath(os.path.join(root, step["artifact"]))
    if not path.startswith(os.path.normpath(root) + os.sep):
        raise Failed(f"`{step['artifact']}` is outside of $MUSTER_ARTIFACTS")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    aside.write(path, step["content"])
    return None
