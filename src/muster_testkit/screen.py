"""What a terminal shows: pyte keeps the screen, and this reads what programs of today write to it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import groupby
from typing import NamedTuple
from unicodedata import combining

import pyte
from pyte.screens import Char
from wcwidth import wcwidth

_TOKEN = re.compile(
    r"\x1b\[(?P<mark>[<=>?]?)(?P<words>[0-9:;]*)(?P<between>[ -/]*)(?P<final>[@-~])"
    r"|\x1b\](?P<title>[^\x07\x1b]*)(?:\x07|\x1b\\)"
    r"|\x1b[PX^_][^\x1b]*\x1b\\"
    r"|\x1b(?P<set>[ -/]+)(?P<code>[0-~])"
    r"|\x1b(?P<escape>[0-OQ-WYZ\\`-~])"
    r"|(?P<control>[\x00-\x1a\x1c-\x1f\x7f-\x9f])"
    r"|(?P<text>[^\x00-\x1f\x7f-\x9f]+)"
)
_UNFINISHED = re.compile(r"\x1b(?:\[[<=>?]?[0-9:;]*[ -/]*|\][^\x07\x1b]*\x1b?|[PX^_][^\x1b]*\x1b?|[ -/]*)?\Z")
# A sequence that is longer has lost its end.
_LONGEST = 65_536
_ALTERNATE = {47, 1047, 1049}
# 132 columns, which is the terminal's own business today; lines counted from the margin, which pyte can't without one.
_IGNORED = {3, 6}
# By final letter: the method, and how many numbers it takes.
_CSI: dict[str, tuple[str, int]] = {
    "@": ("insert_characters", 1),
    "A": ("cursor_up", 1),
    "B": ("cursor_down", 1),
    "C": ("cursor_forward", 1),
    "D": ("cursor_back", 1),
    "E": ("cursor_down1", 1),
    "F": ("cursor_up1", 1),
    "G": ("cursor_to_column", 1),
    "H": ("cursor_position", 2),
    "I": ("tabs", 1),
    "J": ("erase_in_display", 1),
    "K": ("erase_in_line", 1),
    "L": ("insert_lines", 1),
    "M": ("delete_lines", 1),
    "P": ("delete_characters", 1),
    "S": ("scroll_up", 1),
    "T": ("scroll_down", 1),
    "X": ("erase_characters", 1),
    "Z": ("tabs_back", 1),
    "`": ("cursor_to_column", 1),
    "a": ("cursor_forward", 1),
    "b": ("repeat", 1),
    "c": ("report_device_attributes", 1),
    "d": ("cursor_to_line", 1),
    "e": ("cursor_down", 1),
    "f": ("cursor_position", 2),
    "g": ("clear_tab_stop", 1),
    "h": ("set_mode", 99),
    "l": ("reset_mode", 99),
    "m": ("select_graphic_rendition", 99),
    "n": ("report_device_status", 1),
    "r": ("set_margins", 2),
    "s": ("save_cursor", 0),
    "u": ("restore_cursor", 0),
}
_ESCAPES = {
    "7": "save_cursor",
    "8": "restore_cursor",
    "D": "index",
    "E": "linefeed",
    "H": "set_tab_stop",
    "M": "reverse_index",
    "c": "reset",
}
_CONTROLS = {
    "\b": "backspace",
    "\t": "tab",
    "\n": "linefeed",
    "\v": "linefeed",
    "\f": "linefeed",
    "\r": "carriage_return",
    "\x0e": "shift_out",
    "\x0f": "shift_in",
}


class Cell(NamedTuple):
    """One character on the screen; colours are names, or six hexadecimal digits."""

    text: str
    foreground: str = "default"
    background: str = "default"
    bold: bool = False
    italic: bool = False
    underline: bool = False
    strike: bool = False
    reverse: bool = False


class Screen(pyte.Screen):
    """A screen of that size; what the terminal answers goes to `answer`."""

    def __init__(self, columns: int, rows: int, answer: Callable[[str], None]) -> None:
        super().__init__(columns, rows)
        self._answer = answer
        self._rest = ""
        self._drawn = " "
        self._other: tuple[dict[int, dict[int, Char]], pyte.screens.Cursor] | None = None

    # --- reading what a program writes

    def feed(self, text: str) -> None:
        text = self._rest + text
        self._rest = ""
        place = 0
        while place < len(text):
            if found := _TOKEN.match(text, place):
                place = found.end()
                self._take(found)
            elif len(text) - place < _LONGEST and _UNFINISHED.match(text, place):
                self._rest = text[place:]
                return
            else:
                place += 1

    def _take(self, found: re.Match[str]) -> None:
        kind = found.lastgroup
        if kind == "text":
            self._text(found["text"])
        elif kind == "control":
            if name := _CONTROLS.get(found["control"]):
                getattr(self, name)()
        elif kind == "final":
            self._sequence(found["mark"], found["words"], found["between"], found["final"])
        elif kind == "escape":
            if name := _ESCAPES.get(found["escape"]):
                getattr(self, name)()
        elif kind == "code":
            self._set(found["set"], found["code"])
        elif kind == "title" and found["title"][:2] in ("0;", "2;"):
            self.set_title(found["title"][2:])

    def _text(self, text: str) -> None:
        if not text.isascii():
            # pyte stops at a character that has no width and joins no other.
            text = "".join(one for one in text if wcwidth(one) > 0 or combining(one))
        if text:
            self._drawn = text[-1]
            self.draw(text)

    def _sequence(self, mark: str, words: str, between: str, final: str) -> None:
        if between or final not in _CSI or mark not in ("", "?"):
            return
        name, most = _CSI[final]
        numbers = _colours(words) if final == "m" else [_number(word) for word in words.split(";")]
        if final == "m" and not numbers:
            return
        if mark and final in "hl":
            self._modes([one for one in numbers if one], final == "h")
        elif not mark or final in "JK":
            getattr(self, name)(*(numbers[:most] if words or final == "m" else []))

    def _modes(self, numbers: list[int], on: bool) -> None:
        if _ALTERNATE & {*numbers}:
            self._alternate(on)
        if known := [one for one in numbers if one not in _ALTERNATE | _IGNORED]:
            (self.set_mode if on else self.reset_mode)(*known, private=True)

    def _alternate(self, on: bool) -> None:
        if on and self._other is None:
            kept: dict[int, dict[int, Char]] = {y: {**line} for y, line in self.buffer.items()}
            self._other = kept, self.cursor
            self.save_cursor()
            self.buffer.clear()
        elif not on and self._other is not None:
            kept, self.cursor = self._other
            self._other = None
            self.buffer.clear()
            for y, line in kept.items():
                self.buffer[y].update(line)
            self.restore_cursor()
            self.ensure_hbounds()
            self.ensure_vbounds()

    def _set(self, between: str, code: str) -> None:
        if between in ("(", ")"):
            self.define_charset(code, mode=between)
        elif between == "#" and code == "8":
            self.alignment_display()

    # --- what pyte lacks

    def tabs(self, count: int = 1) -> None:
        for _ in range(min(count or 1, self.columns)):
            self.tab()

    def tabs_back(self, count: int = 1) -> None:
        for _ in range(min(count or 1, self.columns)):
            self.cursor.x = max((stop for stop in self.tabstops if stop < self.cursor.x), default=0)

    def repeat(self, count: int = 1) -> None:
        self.draw(self._drawn * min(count or 1, self.columns * self.lines))

    def scroll_up(self, count: int = 1) -> None:
        self._at_top(self.delete_lines, count)

    def scroll_down(self, count: int = 1) -> None:
        self._at_top(self.insert_lines, count)

    def _at_top(self, change: Callable[[int], None], count: int) -> None:
        x, y = self.cursor.x, self.cursor.y
        self.cursor.y = self.margins.top if self.margins else 0
        change(count or 1)
        self.cursor.x, self.cursor.y = x, y

    def erase_in_display(self, how: int = 0, *arguments: object, **options: object) -> None:
        if how in (0, 1, 2, 3):
            super().erase_in_display(how)

    def erase_in_line(self, how: int = 0, private: bool = False) -> None:
        if how in (0, 1, 2):
            super().erase_in_line(how)

    def report_device_status(self, mode: int = 0) -> None:
        if mode == 5:
            self._answer("\x1b[0n")
        elif mode == 6:
            self._answer(f"\x1b[{self.cursor.y + 1};{min(self.cursor.x, self.columns - 1) + 1}R")

    def write_process_input(self, data: str) -> None:
        self._answer(data)

    # --- looking at it

    @property
    def text(self) -> str:
        """All lines, without the empty ends of lines and of the screen."""
        return "\n".join("".join(cell.text for cell in row).rstrip() for row in self.rows()).rstrip("\n")

    def rows(self) -> list[list[Cell]]:
        return [[_cell(self.buffer[y][x]) for x in range(self.columns)] for y in range(self.lines)]

    def painted(self) -> str:
        """As text, with the sequences that colour it."""
        lines = ["".join(_sgr(style) + text for style, text, _ in runs(row)) + "\x1b[0m" for row in self.rows()]
        return "\n".join(lines)


def _number(word: str) -> int:
    return min(int(word.partition(":")[0] or 0), 9_999)


def _colours(words: str) -> list[int]:
    """The numbers of a sequence that colours, with colons made semicolons; the colour of underlines is left out."""
    numbers: list[int] = []
    given = iter(words.split(";"))
    for word in given:
        parts = word.split(":")
        if word == "58":
            for _ in range({"5": 1, "2": 3}.get(next(given, ""), 0)):
                next(given, "")
        elif len(parts) > 1 and parts[0] in ("38", "48"):
            # `38:2::R:G:B` has a colour space that nobody gives.
            rest = parts[1:2] + parts[3:] if parts[1] == "2" and len(parts) > 5 else parts[1:]
            numbers += [min(_number(one), 255) for one in [parts[0], *rest]]
        elif parts[0] != "58":
            numbers.append(24 if parts == ["4", "0"] else _number(word))
    return numbers


def _cell(char: Char) -> Cell:
    return Cell(char.data, char.fg, char.bg, char.bold, char.italics, char.underscore, char.strikethrough, char.reverse)


def runs(row: list[Cell]) -> Iterator[tuple[Cell, str, int]]:
    """Neighbours that look alike: their style, their text, and how many columns they take."""
    for style, cells in groupby(row, lambda cell: cell._replace(text="")):
        found = list(cells)
        yield style, "".join(cell.text for cell in found), len(found)


_NAMES = ["black", "red", "green", "brown", "blue", "magenta", "cyan", "white"]


def _sgr(style: Cell) -> str:
    flags = [style.bold, False, style.italic, style.underline, False, False, style.reverse, False, style.strike]
    numbers = ["0", *(str(number) for number, on in enumerate(flags, 1) if on)]
    for colour, base in ((style.foreground, 30), (style.background, 40)):
        plain = colour.removeprefix("bright").removeprefix("bfight")
        if plain in _NAMES:
            numbers.append(str(base + _NAMES.index(plain) + (60 if plain != colour else 0)))
        elif colour != "default":
            numbers.append(f"{base + 8};2;" + ";".join(str(int(colour[i : i + 2], 16)) for i in (0, 2, 4)))
    return f"\x1b[{';'.join(numbers)}m"


_PALETTE = dict(
    zip(
        [*_NAMES, *(f"bright{name}" for name in _NAMES)],
        "000000 cd3131 0dbc79 c5c500 3b78ff bc3fbc 11a8cd e5e5e5 666666 f14c4c 23d18b f5f543 6aa0ff d670d6 29b8db ffffff".split(),
        strict=True,
    )
)
_ILLEGAL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_WIDE, _HIGH = 8.4, 18


def svg(rows: list[list[Cell]]) -> str:
    """A picture of those rows."""
    columns = max((len(row) for row in rows), default=0)
    width, height = columns * _WIDE + 20, len(rows) * _HIGH + 20
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.1f} {height}" width="{width:.0f}" height="{height}"'
        ' font-family="ui-monospace,Menlo,Consolas,monospace" font-size="14" xml:space="preserve">',
        '<rect width="100%" height="100%" rx="6" fill="#1e1e1e"/>',
    ]
    for y, row in enumerate(rows):
        x = 0
        for style, text, count in runs(row):
            parts.append(_drawn(style, text, 10 + x * _WIDE, 10 + y * _HIGH, count * _WIDE))
            x += count
    return "\n".join([*(part for part in parts if part), "</svg>", ""])


def _drawn(style: Cell, text: str, x: float, y: float, width: float) -> str:
    from html import escape

    front, back = _hex(style.foreground, "d4d4d4"), _hex(style.background, "")
    if style.reverse:
        front, back = back or "1e1e1e", front
    box = f'<rect x="{x:.1f}" y="{y}" width="{width:.1f}" height="{_HIGH}" fill="#{back}"/>' if back else ""
    if not text.strip():
        return box
    look = ' font-weight="bold"' if style.bold else ""
    look += ' font-style="italic"' if style.italic else ""
    lines = " ".join(word for word, on in (("underline", style.underline), ("line-through", style.strike)) if on)
    look += f' text-decoration="{lines}"' if lines else ""
    words = escape(_ILLEGAL.sub("\ufffd", text))
    return f'{box}<text x="{x:.1f}" y="{y + 14}" fill="#{front}" textLength="{width:.1f}"{look}>{words}</text>'


def _hex(colour: str, default: str) -> str:
    if colour == "default":
        return default
    return _PALETTE.get(colour.replace("bfight", "bright"), colour)
