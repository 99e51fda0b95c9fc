"""The home of a user who has set Codex up, for the tests that run it."""

from __future__ import annotations

import os
from pathlib import Path

from muster_testkit.model import Model

CONFIG = """\
model = "gpt-5.5"
model_provider = "scripted"

[model_providers.scripted]
name = "scripted"
base_url = "%s/v1"
wire_api = "responses"
env_key = "OPENAI_API_KEY"
request_max_retries = 0
stream_max_retries = 0

[notice.model_migrations]
"gpt-5.5" = "gpt-6-sol"

[tui]
screen_reader_detection_done = true
"""


def set_up(model: Model) -> Path:
    """Their configuration, with the scripted model as the provider."""
    config = Path(os.environ["HOME"]) / ".codex" / "config.toml"
    config.parent.mkdir()
    config.write_text(CONFIG % model.url)
    return config
