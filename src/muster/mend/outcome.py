"""Outcomes as agents write them: read with care, since an agent may write anything."""

from __future__ import annotations

import msgspec

from muster.core import wire
from muster.mend import Outcome

_decoder = wire.decoder(Outcome)


def read(data: bytes | None) -> tuple[Outcome | None, str]:
    """The outcome, or why there is none."""
    if data is None:
        return None, "it wrote no outcome"
    if not data.strip():
        return None, "its outcome is empty"
    try:
        return _decoder.decode(data), ""
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        return None, f"its outcome can't be read: {error}"
    except RecursionError:
        return None, "its outcome can't be read: it is nested too deep"
