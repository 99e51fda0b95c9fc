"""The local fleet's tests again with only the address changed: every agent lives on a machine behind sshd."""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING

import pytest

import test_commands
import test_messages
import test_wait
import test_workspaces
from test_commands import fix as fix
from test_wait import in_a_repository as in_a_repository

if TYPE_CHECKING:
    from machines import Box

pytest_plugins = ["machines"]

AGAIN: dict[ModuleType, str] = {
    test_commands: """
        ids_from_standard_input_and_expressions_choose_agents
        a_message_arrives_and_has_a_receipt
        each_agent_has_its_own_receipt
        start_revives_before_it_says
        exec_streams_and_passes_the_exit_code_on
        exec_leaves_the_words_of_the_command_alone
        exec_in_many_prefixes_each_line
        exec_ends_the_whole_tree_when_the_time_is_up
        an_interrupted_exec_ends_its_commands
        exec_in_a_folder_of_the_workspace
        pull_brings_commits_by_fast_forward
        pull_that_is_no_fast_forward_changes_nothing_here
        pull_brings_files_and_overwrites_none_unforced
        pull_to_a_reference_touches_no_checkout
        artifacts_and_the_outcome_are_brought
        a_variable_may_name_the_workspace
        push_sends_commits_and_files
        push_that_is_no_fast_forward_leaves_the_agent_alone
        stop_start_and_restart_say_what_is_then
        archive_stops_and_hides_until_undone
        clone_has_the_work_and_a_branch_of_its_own
        rename_keeps_all_but_the_name
        labels_are_set_shown_and_removed
        a_snapshot_is_made_listed_restored_and_destroyed
        destroy_says_what_it_kept_and_restore_brings_it_back
        logs_outlive_the_program_and_the_session
        capture_shows_the_screen_and_starts_nothing
        transcript_follows_what_is_said
        events_are_told_with_names_and_can_be_chosen
        events_are_followed_from_the_last_on
        why_names_the_evidence
    """,
    test_messages: """
        any_text_arrives_exactly_once
        two_senders_do_not_interleave
        a_dialog_is_named_and_not_answered
        a_stopped_agent_gets_it_later
        a_line_that_the_terminal_would_cut_is_refused
        a_conversation_goes_on_after_stop_kill_and_clone
    """,
    test_wait: """
        it_ends_when_all_have_reached_it
        any_is_enough
        what_can_not_come_any_more_is_said
        the_time_is_up
        an_agent_that_is_stopped_meanwhile_ends_the_wait
        a_wait_leaves_nothing_behind
    """,
    test_workspaces: """
        a_repository_inside_the_workspace_is_kept
        a_detached_head_is_a_start_like_any
        a_copy_is_kept_as_a_tar
        a_clone_is_independent
        hooks_of_git_that_call_muster
    """,
}
globals().update(
    {f"test_{name}": getattr(module, f"test_{name}") for module, names in AGAIN.items() for name in names.split()}
)


@pytest.fixture(autouse=True)
def elsewhere(box: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing but this is different."""
    monkeypatch.setenv("MUSTER_CREATE_HOST", box.name)
