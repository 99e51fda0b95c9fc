"""What happened: the conversations of agents in one form, kept, searchable, with what they took."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from muster.agents import Role, Tokens

# What reading a log brought; `anew`: what was read of it before has changed; `failed`: it could not be read.
News = Literal["new", "more", "same", "anew", "missing", "failed"]


class Source(Struct, frozen=True):
    """A log that can be read: where it is, and whose it is."""

    path: str
    type: str
    host: str = "local"
    agent: str = ""  # the id of the agent; empty for a session from outside of muster
    name: str = ""  # what people call it


class Trace(Struct, frozen=True):
    """A conversation in the store, and what it took."""

    id: int
    name: str
    type: str
    agent: str
    host: str
    path: str
    events: int
    began: float | None
    ended: float | None
    model: str  # the last one
    requests: int
    tokens: Tokens
    cost: float | None  # in US dollars; None: nobody knows the price of any of it
    unpriced: int  # tokens, in and out, of models without a known price


class Taken(Struct, frozen=True):
    """What reading a log brought."""

    source: Source
    news: News
    events: int = 0
    bytes: int = 0
    why: str = ""


class Hit(Struct, frozen=True):
    """An event in which words were found."""

    trace: int
    name: str
    agent: str
    number: int
    role: Role
    at: float | None
    tool: str
    text: str  # what stands around them


class Spent(Struct, frozen=True):
    """What the requests of one group took."""

    key: str
    requests: int
    tokens: Tokens
    cost: float | None
    unpriced: int
