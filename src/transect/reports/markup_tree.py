"""Reads the HTML of a page as a tree. The page may be another's: nothing of it is run or fetched."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Final, final

_BLOCKS: Final = frozenset(
    {"figcaption", "p", "td", "th", "li", "caption", "h2", "h3", "h4", "div", "figure", "b", "strong", "data"}
)
"""Elements whose words stand in one line."""
_VOID: Final = frozenset({"br", "hr", "img", "input", "link", "meta", "wbr"})


@final
@dataclass(slots=True)
class Node:
    """An element: its name and attributes, as the parser gives them in lower case, and what it holds."""

    name: str
    attributes: dict[str, str] = field(default_factory=dict)
    children: list[Node | str] = field(default_factory=list)

    @property
    def classes(self) -> list[str]:
        """The names of its class attribute."""
        return self.attributes.get("class", "").split()

    @property
    def elements(self) -> list[Node]:
        """The elements directly in it."""
        return [child for child in self.children if isinstance(child, Node)]

    def text(self, without: tuple[str, ...] = ()) -> str:
        """All its words in one line. without: names of elements whose words do not count."""
        parts = [
            child if isinstance(child, str) else "" if child.name in without else child.text(without)
            for child in self.children
        ]
        return " ".join("".join(parts).split()) if self.name in _BLOCKS else "".join(parts)

    def walk(self) -> Iterator[Node]:
        """It and every element within, in the order of the page."""
        pending = [self]
        while pending:
            node = pending.pop()
            yield node
            pending += reversed(node.elements)

    def find(self, *, name: str = "", css: str = "") -> list[Node]:
        """The elements within of this name and class."""
        return [
            node
            for node in self.walk()
            if node is not self and name in ("", node.name) and (not css or css in node.classes)
        ]


@final
class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.root = Node("")
        self._open = [self.root]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_startendtag(tag, attrs)
        if tag not in _VOID:
            last = self._open[-1].children[-1]
            if isinstance(last, Node):
                self._open.append(last)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._open[-1].children.append(Node(tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        for place in range(len(self._open) - 1, 0, -1):
            if self._open[place].name == tag:
                del self._open[place:]
                return

    def handle_data(self, data: str) -> None:
        self._open[-1].children.append(data)


def read(html: str) -> Node:
    """The tree of a text of HTML, below a nameless root."""
    reader = _Reader()
    reader.feed(str(html))  # a slice of `Markup` is `Markup` again, which takes half of the time
    reader.close()
    return reader.root
