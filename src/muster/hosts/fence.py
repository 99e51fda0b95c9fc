"""A container that reaches a few hosts and nothing else: rules in its network, set from outside, which it can't undo."""

from __future__ import annotations

from typing import TYPE_CHECKING

from muster.errors import CommandFailed, Refused

if TYPE_CHECKING:
    from muster.hosts.docker import Docker

# Names are looked up once, before the fence is up: to ask for a name is a way out, too.
_FENCE = """
set -e
command -v iptables >/dev/null || { echo "its image has no iptables" >&2; exit 1; }
for name in "$@"; do
  found=$(getent ahostsv4 "$name" | while read -r address _; do echo "$address"; done | sort -u)
  [ -n "$found" ] || { echo "there is no host $name" >&2; exit 1; }
  for address in $found; do
    iptables -A OUTPUT -d "$address" -j ACCEPT
    echo "$address $name"
  done
done
iptables -I OUTPUT -o lo ! -d 127.0.0.11 -j ACCEPT
iptables -P OUTPUT DROP
iptables -P FORWARD DROP
if [ -e /proc/net/if_inet6 ]; then ip6tables -P OUTPUT DROP; ip6tables -A OUTPUT -o lo -j ACCEPT; fi
"""


def fence(host: Docker) -> None:
    """Put it up around a container that has just been started; if that fails the container does not go on running."""
    if not host.allow:
        raise Refused(f"`{host.name}` is to reach some hosts, and none is named", hint='`allow = ["HOST"]`')
    rights = ("--cap-drop", "ALL", "--cap-add", "NET_ADMIN", "--cap-add", "NET_RAW", "--user", "0")
    mounts = [word for mount in host.mounts for word in ("--volume", mount)]
    words = ("--rm", "--network", f"container:{host.id}", *rights, *mounts, "--entrypoint", "sh")
    done = host.call("run", *words, host.image, "-c", _FENCE, "fence", *host.allow, check=False)
    if done.code:
        host.call("kill", host.id, check=False)
        raise CommandFailed(f"`{host.name}` can't be kept from the network: {done.said}")
    # The container can't ask for names any more, so it is told them.
    host.call("exec", "-i", "--user", "0", host.id, "sh", "-c", "cat >>/etc/hosts", stdin=done.out)
