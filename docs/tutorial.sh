# muster runs coding agents side by side, and turns what they did into work that you can review.
#
# Type along from top to bottom. It takes git and tmux, but no coding agent, no key and no network: the agents here
# follow a script, or search by themselves. Where you have a coding agent, put its type in the place of `scripted`.

# === Before you begin

# is all there that muster needs?
muster doctor

# or see the other commands--list, destroy, message, connect, push, pull, clone, and more!
muster --help

# what does one of them take? `man muster-create` has the same text
muster create --help

# which versions are these? (for a report of a fault)
muster version

# a small project with a fault in it; any other git repository will do
mkdir calc && cd calc && git init --quiet
printf 'def add(a, b):\n    return a - b\n' >calc.py
printf 'from calc import add\n\n\ndef test_add():\n    assert add(2, 2) == 4\n' >test_calc.py
mkdir docs && echo 'It adds.' >docs/index.md
printf '__pycache__/\n.pytest_cache/\n.muster/\n.venv/\n*.log\n' >.gitignore
git add . && git commit --quiet -m 'A calculator'

# a script for the agent to follow, so that you know what it will do (docs/scripted.md has all that a script can say)
cat >../fix.toml <<'END'
[[step]]
say = "A sign is wrong."
[[step]]
edit = "calc.py"
find = "a - b"
replace = "a + b"
[[step]]
commit = "Add instead of subtracting"
[[step]]
edit = "notes.txt"
content = "not committed\n"
[[step]]
artifact = "notes.md"
content = "It was the sign.\n"
[[step]]
outcome = { status = "done", summary = "A wrong sign", changes = [{ kind = "impl", commit = "HEAD" }] }
[[step]]
wait = true
[[step]]
say = "You are welcome."
END

# === Your first agents

# make an agent; it works in a git worktree of its own, on a branch `muster/fix`, and never in your checkout
muster create fix scripted -- --script ../fix.toml

# one that has something said to it at once
muster create hello scripted -m 'Hello there'

# what is everybody doing?
muster list

# wait until it wants something from you
muster wait fix

# look at its screen, without touching it
muster capture fix

# read the whole conversation
muster transcript fix

# say something; the receipt tells you that it has arrived
muster message fix -m 'Thank you!'

# sit down at its terminal, and leave it with C-b d: the agent goes on
muster connect hello

# look at the change where it was made
muster exec fix -- git show --stat

# take it over: your branch is fast-forwarded to what the agent has committed
muster pull fix

# what came in is a commit like any other: this takes it back, so that there is something to mend again
git reset --quiet --hard HEAD~1

# send the agents away; what they did is kept in the attic
muster destroy fix hello

# === What an agent can be

# any program can be one; it has the type `command`
muster create tests -- python3 -m pytest -q

# how did it end? its exit status is the state, `done` or `failed`
muster wait tests --for done,failed

# which types are there, and where does each come from?
muster plugin list

# the name goes to standard output, so a script can have one made up
name=$(muster create -- sleep 1000)
muster destroy "$name"

# all that is known of a new agent, for programs
muster create quick --format json -- true

# from another commit, to a branch that you name
muster create again scripted --branch main:try-again

# a clone has a repository of its own; a copy is the folder as it is, with all that git ignores
muster create far scripted --mode clone
muster create copied scripted --mode copy

# in your own checkout, for once
muster create here --mode in-place -- sh -c 'echo seen >seen.log'

# take along what you have not committed yet (otherwise muster refuses, so that nothing is forgotten)
muster create draft scripted --dirty carry

# variables: given, from a file, and from your own environment
echo 'GREETING=hello there' >../.env
muster create vars --env LEVEL=3 --env-file ../.env --pass-env 'GH_*' -- sh -c 'env >env.log'

# link what git ignores and is slow to make, and prepare the workspace before the agent begins
mkdir -p .venv
muster create ready scripted --share .venv --setup 'echo prepared | tee setup.log'

# what did the preparation print?
muster logs ready --setup

# one more window in its terminal
muster create pair scripted --window 'clock=sh -c "while :; do date; sleep 5; done"'

# keep all that its terminal shows, not only the last screen
muster create noisy --log -- sh -c 'seq 3000; exec sleep 1000'

# the task from a file, or from standard input
echo 'Mend the sign' >../task.md
muster create task scripted --message-file ../task.md
echo 'Look at the parser' | muster create piped scripted --message-file -

# the task from your editor, while the agent starts
muster create letter scripted --edit-message

# begin where another agent is now
muster create second scripted --from task

# in a script that runs every night: take the one that is there
muster create nightly scripted --reuse

# three at once: try-1, try-2, try-3
muster create try scripted -n 3 -m 'Find the fault'

# and sit down at it at once
muster create now scripted --connect

# === Finding your way

# one with a label, beside those that are there
muster create lead scripted -m 'Hello' --label team=core
muster wait lead

# only those that wait for somebody, the longest first
muster list --state waiting,blocked --sort -idle

# an expression over all fields
muster list --where 'type == "scripted" and labels.team == "core"'

# labels are yours to use
muster label lead team=core prio=1
muster label lead --unset prio

# only this project, with the columns that you want
muster list --project . --fields name,state,labels.team

# the same for programs: json, or a line for each
muster list --format json

# ids for another command
muster list --state waiting --ids | muster message - -m 'Commit what you have'

# as it changes, until ^C
muster list --watch

# why does muster think so? all the evidence
muster why lead

# the last lines of its terminal, also after its death
muster logs lead -n 5

# its last word
muster transcript lead --role assistant --tail 1

# the conversation as it goes on, until ^C
muster transcript lead --follow

# keep the conversations of all agents, also of those that are no more
muster traces ingest

# which are there?
muster traces list

# read one of them
muster traces show lead

# find words, whoever said them
muster traces search hello

# what did the requests to models take? (one that follows a script asks none)
muster traces cost --by agent

# what happened in the fleet
muster events --limit 20

# what happens next: a line for each agent that ends
muster events --follow --limit 0 --format jsonl | grep --line-buffered '"event":"ended"'

# === Talking and waiting

# send all agents away that were made so far, and make two to talk to
muster destroy --all
muster create one scripted
muster create two scripted

# the same to several
muster message one two -m 'Also cover the empty list'

# to all of which something holds
muster message --where 'state == "waiting"' -m 'Go on'

# something long: from a file, or what another program prints
muster message one --file ../task.md
git log -1 --stat | muster message one

# from your editor
muster message one --edit

# a stopped agent gets it when it is started, or now
muster stop two
muster message two -m 'Later'
muster message two --start -m 'Now'

# an agent that asks before it does something
printf '[[step]]\nask = "May I?"\n[[step]]\nsay = "I did it."\n[[step]]\nhang = true\n' >../ask.toml
muster create careful scripted -- --script ../ask.toml
muster wait careful --for blocked

# answer what it asks, without sitting down at its terminal
muster answer careful yes

# end what it is doing; it waits for a message then
muster interrupt careful

# two programs, of which one takes its time
muster create fast -- true
muster create slow -- sleep 3

# until the first of them is done, for a minute at most
muster wait fast slow --any --for done --timeout 1m

# until all of this project have settled
muster list --project . --ids | muster wait - --timeout 1m

# === Bringing work home

# one that mends the project, and one that waits to be told something
muster create fix scripted -- --script ../fix.toml
muster create other scripted
muster wait fix other

# run a command where an agent works, beside it; its exit code is passed on
muster exec fix python3 -m pytest -q

# in many workspaces at once, each line with its agent's name
muster exec fix other -- git log --oneline -1

# everywhere, but not for ever
muster exec --all --timeout 1m -- sh -c 'git status --short | wc -l'

# below a folder of the workspace
muster exec fix --cwd docs pwd

# its files as they are now, committed or not
muster pull fix notes.txt docs/index.md

# to another folder
muster pull fix calc.py docs --to ../look

# its commits under a name, without touching your checkout
muster pull fix --ref refs/heads/look-at-this

# what it left for you to look at
muster pull fix --artifacts --to ../artifacts

# what differs here is not overwritten unless you say so
muster pull fix calc.py --force

# give your newest commits to the other one
git add . && git commit --quiet -m 'Take over the repair'
muster push other

# give it files that are not committed
echo 'Think of large numbers' >todo.log
muster push other todo.log --to docs

# === Pausing and keeping

# end its program and keep all else
muster stop fix

# go on where it was, with its conversation
muster start fix

# both in one
muster restart fix

# out of the listings, but not gone
muster archive fix
muster list --archived

# and back
muster archive fix --undo

# another name; id, workspace and branch stay
muster rename fix parser

# a second one like it, work and conversation included
muster clone parser parser-b -m 'Try it another way'

# keep it as it is before something daring
muster snapshot create parser --label before

# what is kept?
muster snapshot list

# go back to it, as a new agent
muster snapshot restore before parser-again
muster start parser-again

# throw it away
muster snapshot destroy before

# what would be removed, and what kept?
muster destroy parser --dry-run

# send it away with its branch; its commits and files go to the attic
muster destroy parser --branch

# what is in the attic?
muster restore --list

# bring it back, work and conversation included
muster restore parser
muster start parser

# under another name, where its own is taken by now
muster destroy parser-b
muster create parser-b scripted
muster restore parser-b --as parser-c

# expire what is older than the setting `attic.days`, and clear up what crashes left
muster gc

# empty the attic, for good
muster gc --days 0

# === Many at once

# one agent per line of input, two at a time; each is printed as it settles
printf '%s\n' red green blue | muster map 'Paint it {}' --type scripted --jobs 2

# any program, with names made of the input
printf '%s\n' 1 2 3 | muster map --name 'square-{}' -- sh -c 'echo $(({} * {})) >result.log'

# bring the results together
for name in square-1 square-2 square-3; do muster exec "$name" cat result.log; done | sort -n

# records instead of lines, as a run that can be gone on with: what is there is not made again
printf '%s\n' '{"number": 7, "title": "Crash"}' |
    muster map 'Solve #{number}: {title}' --json --type scripted --run issues

# remove all of them
muster destroy --where 'like(name, "square-*")' --branch

# === Other machines

# an agent on a machine that your ssh reaches as `box`; it has sh, tar, git and tmux, and nothing of muster
muster create distant@box scripted -m 'Hello over there'

# all that you have learned works from here
muster message distant -m 'What is new?'
muster exec distant -- git log --oneline -1

# let it go on here, with its work and its conversation
muster migrate distant @local

# an agent in a container of its own, which can reach nothing
muster create boxed@.docker --network none -- sleep 1000

# one container for several agents
muster host create shared.docker
muster create inside@shared -- sleep 1000

# which hosts are there, and how is each?
muster host list

# a command on a host, outside of any workspace
muster host exec shared -- uname

# stop it, and go on later with all that was on it
muster host stop shared
muster host start shared --agents

# take it away; the work of its agents goes to the attic
muster host destroy shared --agents

# === An agent per test

# first watch all of it on a sample project with faults: some are mended, one agent cheats, two are in each other's way
muster demo ladle

# remove the sample, its agents and its run
muster demo --clean

# your last commit taken back, so that there is something to mend again
git revert --no-edit HEAD

# which tests fail, and which have one cause? nothing is changed yet
muster mend --plan

# give each to an agent, check what they claim, and put what holds on one branch (the mechanic needs no model and no key)
muster mend --name first

# which runs were there?
muster runs

# what was claimed, and what was found?
muster report first

# the same as the text of a pull request, and for programs
muster report first --format markdown
muster report first --format json

# take the branch over; every fix is a commit of its own that can be reverted
git merge --quiet muster/mend/first

# go on with a run that was cut short
muster mend --resume last

# an agent type of your choice, for some of the tests, with what it takes behind `--`
muster mend test_calc.py --name second --only failing --type scripted -- --script ../fix.toml

# === Tests that show

# a tutorial for another program, and a test that shows its only block
mkdir tests
printf '# Sums\n\n# add two numbers\nexpr 2 + 2\n' >tutorial.sh
cat >tests/test_sums.py <<'END'
def test_two(e2e):
    block = e2e.write_tutorial_block("# add two numbers\nexpr 2 + 2")
    assert e2e.run(block).stdout == "4\n"
END
git add . && git commit --quiet -m 'A tutorial'

# a tutorial such as this one is made of blocks
muster tutorial blocks tutorial.sh

# is every block shown by a test, and every citation in the tests still a block? no test is run
muster tutorial check tutorial.sh tests

# jump from one problem to the next in an editor, or read them in a program
muster tutorial check tutorial.sh tests --format jsonl

# a heading without an example, and what the agent will do that is to find one
printf '\n# take one number away from another\n' >>tutorial.sh
git commit --quiet --all -m 'Subtract'
cat >../draft.toml <<'END'
[[step]]
wait = true
[[step]]
edit = "tutorial.sh"
append = "expr 3 - 2\n"
[[step]]
commit = "Show how to subtract"
END

# have it found; you see the difference, and pull it if you like it
muster tutorial draft tutorial.sh --name author --type scripted -- --script ../draft.toml
muster pull author

# what another agent will do, which is to write the test
cat >../sync.toml <<'END'
[[step]]
wait = true
[[step]]
edit = "tests/test_sums.py"
append = """
def test_minus(e2e):
    block = e2e.write_tutorial_block("# take one number away from another\\nexpr 3 - 2")
    assert e2e.run(block).stdout == "1\\n"
"""
[[step]]
commit = "Test subtraction"
END

# have the missing tests written; what an agent says is not believed, the check is run again
muster tutorial sync tutorial.sh tests --name tester --type scripted -- --script ../sync.toml
muster pull tester

# run the tests: each leaves a transcript and its recordings in `.muster/artifacts`
python3 -m pytest -q tests

# a page of what they have left: transcripts, recordings, and the tutorial's coverage
muster artifacts --tutorial tutorial.sh

# the same, live, while tests run, until ^C
muster artifacts --tutorial tutorial.sh --serve

# === Teaching your agents

# teach coding agents that work on this project how to drive a fleet, and how to keep a tutorial and its tests in step
muster skill install
git add . && git commit --quiet -m 'Skills'

# which are where?
muster skill list

# one of them, for all your projects, and for one program alone
muster skill install muster-fleet --user --for claude

# === Settings

# what is set, and by whom?
muster config list --origin

# one of them
muster config get create.mode

# set it, for yourself
muster config set create.mode clone

# set it for everybody who works on this project, in `muster.toml`
muster config set workspace.setup 'echo prepared' --layer project
git add muster.toml && git commit --quiet -m 'Prepare workspaces'

# remove it
muster config unset create.mode

# where is the file?
muster config path

# open it in your editor; a text that can't be is not taken over
muster config edit

# a template, and an agent made from it
muster config set templates.review.type scripted
muster config set templates.review.message 'Review the last commit'
muster create check --template review

# an agent type of your own
muster config set types.timer.args 'sleep,1000'
muster create tick timer

# record every session that you connect to
muster config set connect.command 'python3 -m muster_testkit record --into ~/recordings --'

# complete commands, options and names of agents in your shell
eval "$(muster completion bash)"

# === In Python

# the same verbs are a library: docs/library.md
python3 -c 'from muster import Fleet; print(*(agent.name for agent in Fleet.open().agents()))'

# === The end

# send everybody away
muster destroy --all
