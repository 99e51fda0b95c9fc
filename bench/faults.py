"""Faults for the mechanic to find: each is a small change that a person could have made by mistake.

Written by hand before the mechanic was first run on them. A fault is a file, what stands there, and what was typed.
"""

from __future__ import annotations

from typing import NamedTuple


class Fault(NamedTuple):
    """One slip."""

    kind: str
    file: str
    right: str
    wrong: str


LEDGER = [
    ("format", 'self.day.month:02d}"', 'self.day.month}"'),
    ("comparison", "if amount == 0:", "if amount <= 0:"),
    ("boundary", "day < self.entries[-1].day", "day <= self.entries[-1].day"),
    ("missing call", "category.strip().lower(), note)", "category.strip(), note)"),
    ("missing call", "category.strip().lower(), note)", "category.lower(), note)"),
    (
        "missing return",
        "        self.entries.append(entry)\n        return entry\n",
        "        self.entries.append(entry)\n",
    ),
    (
        "wrong name",
        "total = self.opening\n        for entry in self.entries:\n            if",
        "total = 0\n        for entry in self.entries:\n            if",
    ),
    ("boundary", "entry.day > until", "entry.day >= until"),
    ("condition", "if until is not None and entry.day", "if until is not None or entry.day"),
    (
        "operator",
        "            total += entry.amount\n        return total",
        "            total -= entry.amount\n        return total",
    ),
    ("and/or", "if month is None or entry.month == month", "if month is None and entry.month == month"),
    ("missing call", "= abs(amount)", "= amount"),
    ("sign", "if -spent.get(category, 0) > limit", "if spent.get(category, 0) > limit"),
    ("lookup", "spent.get(category, 0)", "spent[category]"),
    ("missing call", "in sorted(self.limits.items())", "in self.limits.items()"),
    ("wrong argument", "spent = self.by_category(month)", "spent = self.by_category()"),
    ("comparison", "if entry.amount < 0]", "if entry.amount > 0]"),
    (
        "extra argument",
        "key=lambda entry: entry.amount)[:count]",
        "key=lambda entry: entry.amount, reverse=True)[:count]",
    ),
    ("default", "def largest(self, count=3)", "def largest(self, count=2)"),
    ("missing guard", "        if not self.entries:\n            return 0\n", ""),
    ("operator", "for entry in self.entries) / len(", "for entry in self.entries) // len("),
    ("negation", "if entry.month not in seen", "if entry.month in seen"),
    (
        "statement moved",
        '            total += entry.amount\n            lines.append(f"{entry.day}  {entry.category:<10}{entry.amount:>8}{total:>8}")',
        '            lines.append(f"{entry.day}  {entry.category:<10}{entry.amount:>8}{total:>8}")\n            total += entry.amount',
    ),
    ("constant", '"\\n".join(lines)', '" ".join(lines)'),
    ("off by one", "if len(parts) < 3:", "if len(parts) < 2:"),
    ("constant", "line.split(None, 3)", "line.split(None, 2)"),
    ("missing call", "Entry(day, int(parts[1]), parts[2], note)", "Entry(day, parts[1], parts[2], note)"),
    (
        "swapped arguments",
        "ledger.book(entry.day, entry.amount, entry.category, entry.note)",
        "ledger.book(entry.day, entry.amount, entry.note, entry.category)",
    ),
    ("jump", 'startswith("#"):\n            continue', 'startswith("#"):\n            break'),
    ("method", 'line.startswith("#")', 'line.endswith("#")'),
    ("wrong exception", 'raise LedgerError("out of order")', 'raise ValueError("out of order")'),
]
PHRASES = [
    ("boundary", "if len(longer) > limit", "if len(longer) >= limit"),
    ("missing call", "plain.lower())", "plain)"),
    ("text", 'f"{text}-{word}"', 'f"{text}_{word}"'),
    ("default", "limit=30", "limit=50"),
    ("constant", "    if count == 1:", "    if count == 0:"),
    ("and/or", "many or noun + 's'", "many and noun + 's'"),
    ("table constant", '"h": 3600', '"h": 360'),
    ("operator", "int(number) * UNITS", "int(number) + UNITS"),
    ("missing call", "total += int(number)", "total += number"),
    ("pattern", r'r"(\d+)\s*([smhd])"', r'r"(\d)\s*([smhd])"'),
    ("missing guard", '    if total < 0:\n        raise ValueError("time doesn\'t run backwards")\n', ""),
    ("swapped targets", "count, total = divmod", "total, count = divmod"),
    ("fallback", '" ".join(parts) or "0s"', '" ".join(parts)'),
    ("text", '" ".join(parts) or', '"".join(parts) or'),
    ("off by one", "len(line) + 1 + len(word) > width", "len(line) + len(word) > width"),
    ("condition dropped", "if line and len(line)", "if len(line)"),
    ("missing statement", "            lines.append(line)\n            line = word\n", "            line = word\n"),
    ("wrong name", "            line = word\n        else", "            line = text\n        else"),
    (
        "wrong level",
        "    if line:\n        lines.append(line)\n    return lines",
        "        if line:\n            lines.append(line)\n    return lines",
    ),
    ("and/or", "place == 0 or word not in SMALL", "place == 0 and word not in SMALL"),
    ("method", "word = word.capitalize()", "word = word.upper()"),
    ("function", "max(len(str(cell))", "min(len(str(cell))"),
    ("method", "str(cell).ljust(width)", "str(cell).rjust(width)"),
    ("missing call", ".join(cells).rstrip())", ".join(cells))"),
    ("boundary", "if len(words) < 2:", "if len(words) <= 2:"),
    ("slice", "words[:-1]", "words[1:]"),
    ("negation", "if letter.isalnum()", "if not letter.isalnum()"),
    ("slice", "letters[::-1]", "letters[:-1]"),
    ("and/or", "place >= len(last) or last", "place >= len(last) and last"),
    (
        "wrong result",
        "            return first[:place]\n    return first",
        "            return first[:place]\n    return last",
    ),
    ("sign", "(-pair[1], pair[0])", "(pair[1], pair[0])"),
    ("default value", "counts.get(word, 0) + 1", "counts.get(word, 1) + 1"),
    ("negation", "if word not in ignore", "if word in ignore"),
    ("missing argument", 'r"\\w+", text.lower()', 'r"\\w+", text'),
]
CHORES = [
    (
        "negation",
        "        if name in self.needs:\n            raise",
        "        if name not in self.needs:\n            raise",
    ),
    ("container", "self.needs[name] = set(needs)", "self.needs[name] = list(needs)"),
    ("operator", "needs <= done)", "needs >= done)"),
    ("and/or", "if name not in done and needs <= done", "if name not in done or needs <= done"),
    ("missing call", "return sorted(name for name, needs in", "return list(name for name, needs in"),
    ("method", "done.extend(found)", "done.append(found)"),
    ("condition dropped", "            if one in seen:\n                continue\n", ""),
    ("wrong attribute", "queue.extend(self.needs.get(one, ()))", "queue.extend(self.cost.get(one, ()))"),
    ("wrong name", "queue = deque(self.needs[name])", "queue = deque(self.needs)"),
    ("wrong name", "if name in needs)", "if other in needs)"),
    ("operator", "self.cost[name] + sum(", "self.cost[name] - sum("),
    ("wrong name", "sum(self.cost[one] for", "sum(self.cost[name] for"),
    ("missing argument", "max(before, default=0)", "max(before)"),
    ("function", "max(before, default=0)", "min(before, default=0)"),
    (
        "wrong index",
        "before = [self.longest(one) for one in self.needs[name]]",
        "before = [self.total(one) for one in self.needs[name]]",
    ),
    ("method", "needs.discard(name)", "needs.remove(name)"),
    ("missing statement", "        self.cost.pop(name)\n", ""),
    (
        "wrong level",
        "        for needs in self.needs.values():\n            needs.discard(name)",
        "        for needs in self.needs.values():\n            pass\n        needs.discard(name)",
    ),
    ("operator", "done += now", "done = now"),
    ("method", "found.append(now)", "found.extend(now)"),
    ("key", 'spec.get("needs", [])', 'spec.get("need", [])'),
    ("default value", 'spec.get("cost", 1)', 'spec.get("cost", 0)'),
    ("missing argument", 'spec.get("needs", []), spec.get("cost", 1))', 'spec.get("needs", []))'),
    ("comparison", "if len(argv) != 2:", "if len(argv) > 2:"),
    (
        "constant",
        '        print("usage: chores FILE order|cost", file=sys.stderr)\n        return 2',
        '        print("usage: chores FILE order|cost", file=sys.stderr)\n        return 1',
    ),
    ("swapped targets", "path, command = argv", "command, path = argv"),
    ("wrong exception", "except FileNotFoundError", "except KeyError"),
    ("text", '" -> ".join', '" - ".join'),
    ("method", "chores.total(name)}", "chores.longest(name) + 1}"),
    (
        "missing return",
        '        print(f"what is {command}?", file=sys.stderr)\n        return 2',
        '        print(f"what is {command}?", file=sys.stderr)',
    ),
    ("branch", '    if command == "order":', '    if command != "order":'),
    ("missing call", "sys.exit(main(sys.argv[1:]))", "main(sys.argv[1:])"),
    ("slice", "sys.exit(main(sys.argv[1:]))", "sys.exit(main(sys.argv))"),
]
FAULTS = [
    Fault(kind, f"{name}.py", right, wrong)
    for name, rows in (("ledger", LEDGER), ("phrases", PHRASES), ("chores", CHORES))
    for kind, right, wrong in rows
]
