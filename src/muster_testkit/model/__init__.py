"""A scripted stand-in for a model's API on loopback: test what drives a coding agent offline, with the real program.

It speaks the Anthropic Messages, OpenAI Responses, OpenAI Chat Completions and Gemini generateContent APIs, streaming
and not, and answers each request with the next step of a script; docs/testkit.md has the words of a script.
"""

from muster_testkit.model.model import BadScript, Model, Request
from muster_testkit.model.server import serve

__all__ = ["BadScript", "Model", "Request", "serve"]
