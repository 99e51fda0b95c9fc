"""The demo: a small program with faults put into it, agents that do their worst, and what a run has to find of each."""

from __future__ import annotations

# Who gets which test, as `--type PATTERN=TYPE` says it; all others get the mechanic. Each of these types is a scripted
# agent whose script is in the sample's folder `agents`.
TYPES = (
    ("test_convert_to_a_quarter", "careful"),  # sees that the test is wrong, not the program
    ("test_scale_for_three", "cheat"),  # makes its test ask for less
    ("test_time_of_steps", "brisk"),  # these two repair one line in two ways
    ("test_time_in_hours", "thorough"),
)
