"""The image of new containers, made of Debian's packages alone."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from muster.core import proc
from muster.core.proc import Prefix
from muster.errors import CommandFailed

PACKAGES = "git tmux ca-certificates curl iptables less openssh-client procps python3".split()


def build(engine: tuple[Prefix, Sequence[str]], name: str, suite: str) -> str:
    """Make it on that machine, for the engine that this `docker` speaks to."""
    place, docker = engine
    words = shlex.join(docker)
    if proc.run(place, ["sh", "-c", "command -v mmdebstrap"], check=False).code == 0:
        script = (
            "folder=$(mktemp -d) && trap 'rm -rf \"$folder\"' EXIT && "
            f'mmdebstrap --variant=apt --include={",".join(PACKAGES)} "$1" "$folder/root.tar" && '
            f'{words} import --change \'CMD ["/bin/sh"]\' - "$2" <"$folder/root.tar"'
        )
    else:
        script = (
            f'printf "FROM debian:$1-slim\\nRUN apt-get update && apt-get install -y --no-install-recommends '
            f'{" ".join(PACKAGES)} && rm -rf /var/lib/apt/lists/*\\n" | {words} build --quiet --tag "$2" -'
        )
    done = proc.run(place, ["sh", "-c", script, "sh", suite, name], check=False, timeout=3600)
    if done.code:
        raise CommandFailed(f"the image `{name}` could not be made: {done.said}")
    return name
