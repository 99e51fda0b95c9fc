"""What a request costs, by the price list of `genai-prices`, which comes with `pass-muster[cost]`; nothing is fetched."""

from __future__ import annotations

import time
from bisect import bisect_left
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

from msgspec import Struct

from muster.agents import Tokens

# Some prices hold at some hours only: so many seconds have the same.
_SPAN = 900


class Rates(Struct, frozen=True):
    """US dollars a token, for requests with an input of about that size."""

    input: float
    output: float
    cached: float
    written: float
    hour: float

    def price(self, tokens: Tokens) -> float:
        plain = tokens.input - tokens.cached - tokens.written
        brief = tokens.written - tokens.hour
        return (
            plain * self.input
            + tokens.cached * self.cached
            + brief * self.written
            + tokens.hour * self.hour
            + tokens.output * self.output
        )


class Prices:
    """Asked for prices; the list is loaded when it is asked first.

    The list's own answer takes 0.1 ms. Within a tier it is a sum of products, so it is asked for the rates of each tier once.
    """

    def __init__(self) -> None:
        self._lists: dict[tuple[str, int], Any] = {}  # by model and time, the list in force; None: not known
        self._rates: dict[tuple[int, int], Rates] = {}  # by list and tier

    @cached_property
    def known(self) -> bool:
        """Whether there is a list."""
        return self._library is not None

    @cached_property
    def _library(self) -> Any:
        try:
            import genai_prices
        except ImportError:
            return None
        return genai_prices

    def price(self, model: str, tokens: Tokens, at: float | None) -> float | None:
        """Of one request, in US dollars of its day; None for a model that is not in the list."""
        if not model or not self.known or tokens.cached + tokens.written > tokens.input or tokens.hour > tokens.written:
            return None
        at = time.time() if at is None else at
        key = (model, int(at // _SPAN))
        if key not in self._lists:
            self._lists[key] = self._list(model, at)
        in_force = self._lists[key]
        if in_force is None:
            return None
        place = (id(in_force), bisect_left(_starts(in_force), tokens.input))
        if place not in self._rates:
            self._rates[place] = self._ask_rates(model, at, tokens.input)
        return self._rates[place].price(tokens)

    def _list(self, model: str, at: float) -> Any:
        try:
            return self._ask(model, Tokens(1), at).model_price
        except LookupError:
            return None

    def _ask_rates(self, model: str, at: float, size: int) -> Rates:
        size = max(size, 1)

        def ask(tokens: Tokens) -> float:
            return float(self._ask(model, tokens, at).total_price) / size

        plain = ask(Tokens(size))
        return Rates(
            plain,
            ask(Tokens(size, output=size)) - plain,
            ask(Tokens(size, cached=size)),
            ask(Tokens(size, written=size)),
            ask(Tokens(size, written=size, hour=size)),
        )

    def _ask(self, model: str, tokens: Tokens, at: float) -> Any:
        # A model behind a provider of the user's own has that one's price, whatever its name.
        provider, slash, name = model.partition("/")
        usage = self._library.Usage(
            input_tokens=tokens.input,
            output_tokens=tokens.output,
            cache_read_tokens=tokens.cached,
            cache_write_tokens=tokens.written,
            **({"cache_write_1h_tokens": tokens.hour} if tokens.hour else {}),
        )
        return self._library.calc_price(
            usage,
            name if slash else model,
            provider_id=provider if slash else None,
            genai_request_timestamp=datetime.fromtimestamp(at, UTC),
        )


def _starts(in_force: Any) -> list[int]:
    """The sizes of input above which other prices hold, ascending."""
    return sorted({tier.start for price in vars(in_force).values() for tier in getattr(price, "tiers", ())})
