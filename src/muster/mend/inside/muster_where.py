"""Ask an interpreter what it is and where it would import packages from: `python muster_where.py [PACKAGE...]` prints JSON."""

from __future__ import annotations

import importlib.util
import json
import os
import site
import sys
import sysconfig


def origins(names: list[str]) -> dict[str, list[str]]:
    """The file that each package would be imported from, or the folders of one without an `__init__`."""
    found: dict[str, list[str]] = {}
    for name in names:
        try:
            spec = importlib.util.find_spec(name)
        except (ImportError, ValueError, AttributeError):
            spec = None
        if spec is None:
            found[name] = []
        elif spec.has_location and spec.origin:
            found[name] = [spec.origin]
        else:
            found[name] = [str(one) for one in spec.submodule_search_locations or []] or [str(spec.origin)]
    return found


def sites() -> list[str]:
    """Folders whose `.pth` files count, in order."""
    # An interpreter that muster laid over another one knows that one's folders by this module.
    below = getattr(sys.modules.get("_muster_overlay"), "SITES", [])
    own = [site.getusersitepackages()] if site.ENABLE_USER_SITE else []
    return [one for one in dict.fromkeys([*own, *site.getsitepackages(), *below]) if os.path.isdir(one)]


def version(package: str) -> str:
    """What version is installed; empty if it can't be imported."""
    from importlib import metadata

    try:
        return metadata.version(package) if importlib.util.find_spec(package) else ""
    except metadata.PackageNotFoundError:
        return ""


def main() -> None:
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [one for one in sys.path if os.path.abspath(one) != here]
    scheme = "venv" if "venv" in sysconfig.get_scheme_names() else "posix_prefix"
    answer = {
        "python": sys.executable,
        "base": getattr(sys, "_base_executable", None) or sys.executable,
        "version": ".".join(map(str, sys.version_info[:3])),
        "prefix": sys.prefix,
        "venv": sys.prefix != sys.base_prefix,
        "pytest": version("pytest"),
        "sites": sites(),
        "library": os.path.relpath(sysconfig.get_path("purelib", scheme, {"base": sys.prefix}), sys.prefix),
        "scripts": sysconfig.get_path("scripts"),
        "standard": sorted(getattr(sys, "stdlib_module_names", sys.builtin_module_names)),
        "origins": origins(sys.argv[1:]),
    }
    json.dump(answer, sys.stdout)


if __name__ == "__main__":
    main()
