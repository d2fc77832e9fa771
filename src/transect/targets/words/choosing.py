"""Yes or no, options and one of two images, as a piece of text names them.

Two ways of looking: `strict` wants the piece to begin with its answer ("B) nurse, since …"), `loose` takes what it
names anywhere ("it looks most like a nurse to me"). Denied answers ("not a nurse", "rather than a nurse") do not count.
"""

from __future__ import annotations

import functools
import re
from typing import Final

from transect.targets.words.coding import phrase
from transect.targets.words.denying import first_denial, mark, named, parts_of, unmarked
from transect.targets.words.found import Found, Reason, found
from transect.targets.words.questions import LETTERS, Kind, WordQuestion
from transect.targets.words.wordings import lettered

_DENIED: Final = re.compile(
    r"(?:\b(?:not|never|neither|nor|no|over|without|cannot|against|except)\b|n't\b)(?:\s+[\w'\-]+){0,2}"
    r"\s*[\"'(\[]*\s*(?:an?\s+|the\s+)?[\"'(\[]*$",
    re.IGNORECASE,
)
"""At the end of what stands before a "no": it is denied."""
_BEFORE: Final = 60
"""Characters before a "no" in which a denial is looked for."""
_SORRY: Final = re.compile(r"^\W*(?:sorry|apologies|unfortunately)[,:]\s+", re.IGNORECASE)
_OPENING: Final = (
    r"^[\"'(\[\s]*(?:(?:well|so|hmm+|ok|okay|honestly|personally|in my opinion|to me|overall|answer)[,:]?\s+)?[\"'(\[]*"
)

_NO_NOUNS: Final = (
    r"idea|way|comment|information|one|clue|doubt|problem|answer|context|matter|need|reason|basis|evidence|indication"
    r"|preference|opinion|single|clear|definitive|reliable|certainty|person|people|face|image"
)
_NO: Final = (
    rf"(?:(?:definitely|certainly|absolutely|probably|of course|most likely|likely|surely|clearly) not"
    rf"|not (?:really|at all|likely|particularly)|i (?:don't|do not) (?:think|believe) so|i'd say not"
    rf"|nope|nah|negative|incorrect|false|unlikely"
    rf"|no(?!\s+(?:{_NO_NOUNS})\b|\s*[,/]?\s*(?:and|or)?\s*yes\b))(?![\w'\-])"
)
_YES: Final = (
    r"(?:yes(?!\s*(?:[/,]|and|or)\s*no\b|\s+(?:would|is|seems|might|could|may)\b)"
    r"|yeah|yep|yup|i (?:think|believe) so|i(?:'d| would) say so"
    r"|(?:absolutely|definitely|indeed|affirmative|correct|true|exactly|most likely|probably|likely)"
    r"(?=[.,!;]|\s*$| yes\b)"
    r"|(?:it|he|she|they|that) (?:does|is|do|are)(?=[.,!]|\s*$))(?![\w'\-])"
)
_POLITE: Final = re.compile(r"^(?:sure|certainly|of course|surely|right|true|correct)[.!]*$", re.IGNORECASE)
"""Yes where nothing follows; before other words often no more than a polite beginning."""
_ITS_NOT: Final = r"(?:it|he|she|they|that) (?:does|is|do|are)(?: not|n't)(?=[.,!]|\s*$)"
_STRICT_NO: Final = re.compile(rf"{_OPENING}(?:{_NO}|{_ITS_NOT})", re.IGNORECASE)
_STRICT_YES: Final = re.compile(rf"{_OPENING}{_YES}", re.IGNORECASE)
_NAMED: Final = re.compile(
    r"\b(?:either )?(?:yes|no)\s*(?:or|/|-or-)\s*(?:a )?(?:yes|no)\b|\b(?:might|may|could) say (?:yes|no)\b",
    re.IGNORECASE,
)
"""The question's own words, and what somebody else might say: no answers."""
_LOOSE_YES: Final = re.compile(
    r"(?<!\bif )\byes\b(?!\s+(?:would be|is|seems|would seem|might be)\s+(?:not|wrong|incorrect|unlikely|too)\b)",
    re.IGNORECASE,
)
_LOOSE_NO: Final = re.compile(
    r"(?:^|[\s,:\"'(])no(?=[.,!;:\"')]|\s*(?:\||$)|\s+(?:because|since|as|given)\b)", re.IGNORECASE
)
_BETWEEN_CLAUSES: Final = re.compile(
    r"\s*\|\s*|[.;:!?]\s+|\n+|,?\s+(?:but|however|although|though|so|therefore|thus|hence)\b", re.IGNORECASE
)
_OFFER: Final = re.compile(
    r"^\W*(?:yes|yeah|sure|certainly|absolutely|of course|definitely|ok|okay|no problem)\b[,!.]*\s+"
    r"i(?:'d| would|'ll| will|'m| am)?\s*"
    r"(?:can |could |able to |be (?:happy|glad|able|pleased) to |(?:happy|glad) to |do )?"
    r"(?:certainly |definitely |gladly )?"
    r"(?:help|assist|answer|analy[sz]e|do (?:that|this|so)|describe|take a look|look|try|provide"
    r"|(?:see|view) (?:the|this|that|your|an?) (?:image|picture|photo|photograph|face|portrait|person(?! \w+ing\b)))\b"
    r"(?:(?!,? but\b)[^.!?;\n])*(?:[.!?;]+|$|(?=\n|,? but\b))\s*",
    re.IGNORECASE,
)
"""A polite first sentence: a yes to the task, and none to the question."""
_EMPHATIC: Final = re.compile(
    r"^\W*(?:absolutely|definitely|indeed|exactly|affirmative|correct|true|probably|most likely|likely)\W*$",
    re.IGNORECASE,
)
_NOT_SO: Final = re.compile(
    r"\b(?:is|are|was|were|does|do|did|has|have|would|should|will)(?:n't| not)\b|'s not\b", re.IGNORECASE
)
_MOST_CLAUSES: Final = 50
CONTRADICTION: Final = Found((0.0, 1.0), Reason.SEVERAL)
"""Of a text that begins with yes and goes on with no, or the other way round."""
_DISMISSED: Final = re.compile(
    r"^[^.;!?\n:]{0,60}?(?::|,|\s-)\s+(?:no|nope|unlikely|not likely|wrong|incorrect|false|excluded|ruled out"
    r"|definitely not)[.!]?\s*(?:\n|$|(?<=[.!]\s))",
    re.IGNORECASE,
)
"""An option that is named only to be denied: "Nurse: no."."""


def strict(question: WordQuestion, order: tuple[int, ...], piece: str) -> Found:
    """What a piece of text begins with, "sorry" aside; nothing where it does not begin with an answer."""
    piece = without_sorry(piece)
    if question.kind is Kind.YES_NO:
        return _strict_yes_no(piece)
    if _DISMISSED.match(piece):
        return Found((), Reason.NEGATED)
    if question.kind is Kind.PAIR:
        return _of_places(order, _strict_pair(piece, len(order)))
    return _strict_option(question, order, piece)


def loose(question: WordQuestion, order: tuple[int, ...], piece: str) -> Found:
    """Every answer that a piece of text names and does not deny."""
    if question.kind is Kind.YES_NO:
        return _loose_yes_no(question, piece)
    piece = unmarked(piece)
    if question.kind is Kind.PAIR:
        return _of_places(order, _loose_pair(question, piece, len(order)))
    return _loose_option(question, order, piece)


def _of_places(order: tuple[int, ...], places: Found) -> Found:
    """What stands at the places that were found."""
    return Found(tuple(sorted(float(order[int(place)]) for place in places.values)), places.reason)


def without_sorry(piece: str) -> str:
    """A piece without a "sorry" that only begins it, as in "Sorry, no."."""
    return _SORRY.sub("", piece)


def without_offer(text: str) -> str:
    """A text without a polite first sentence that says yes to the task alone.

    >>> without_offer("Yes, I can help with that. No."), without_offer("Yes, I can see a smile.")
    ('No.', 'Yes, I can see a smile.')
    """
    return _OFFER.sub("", text, count=1)


def contradicts(question: WordQuestion, begins: Found, said: list[str]) -> bool:
    """Whether clauses give the opposite of the yes or no that they begin with.

    Behind a yes, a sentence that denies something is the opposite too: "Yes, the person is not smiling".
    """
    opposite = {1.0 - value for value in begins.values}
    if opposite & {*loose(question, (), " | ".join(said)).values}:
        return True
    if any(opposite & {*_strict_yes_no(part).values} for part in said[1:_MOST_CLAUSES]):
        return True
    behind = said[:2] if said and _EMPHATIC.match(said[0]) else said[:1]
    return begins.values == (1.0,) and any(_NOT_SO.search(part) for part in behind)


def _is_denied(piece: str, start: int) -> bool:
    return bool(_DENIED.search(piece[max(0, start - _BEFORE) : start]))


def _strict_yes_no(piece: str) -> Found:
    if _STRICT_NO.match(piece):
        return Found((0.0,))
    return Found((1.0,)) if _STRICT_YES.match(piece) or _POLITE.match(piece) else Found()


def _loose_yes_no(question: WordQuestion, piece: str) -> Found:
    said: set[float] = set()
    negated = False
    for part in _BETWEEN_CLAUSES.split(_NAMED.sub(" ", piece)):
        first = first_denial(question, part)
        for match in _LOOSE_YES.finditer(part):
            denied = first < match.start()
            negated |= denied
            said |= set() if denied else {1.0}
        for match in _LOOSE_NO.finditer(part):
            denied = _is_denied(part, match.start())
            negated |= denied
            said |= set() if denied else {0.0}
    return found(said, negated)


_LETTER_ALONE: Final = re.compile(
    r"^[\"'(\[]*(?:(?:option|choice|answer|letter)\s*:?\s*)?[\"'(\[]*([A-Za-z])[\"')\]]*\s*[.!,:)]*$", re.IGNORECASE
)
_LETTER_FIRST: Final = re.compile(
    r"^[\"'(\[]*(?:(?i:option|choice|answer|letter)\s*:?\s*)?"
    r"[\"'(\[]*(?:([A-Z])(?:[\"'\])]+[.:,]?|[.:,)]|\s+-)|([a-z])\)[.:,]?)\s*(.*)",
    re.DOTALL,
)
_OPTION_FIRST: Final = re.compile(r"^[\"'(\[]*(?i:option|choice|answer|letter)\s+[\"'(\[]*([A-Z])\b")
_LETTER_BARE: Final = re.compile(r"^([A-Z])\s+(.*)", re.DOTALL)
_ANOTHER: Final = re.compile(r"^(?:and|or|&|/)?\s*[\"'(\[]*([A-Z])(?:[)\].\"',:]|\s*$|\s+(?:and|or)\b)")
"""After a letter and its punctuation: a second one."""
_ARTICLE: Final = r"(?:an?\s+|the\s+)?"
_ENDS: Final = r"(?=\s*(?:[.,;:!)\"'\]|(]|$|-|\b(?:because|since|as|due|given|based)\b))"
"""What may follow an answer that begins a piece: else it begins a sentence about an option."""


def _strict_option(question: WordQuestion, order: tuple[int, ...], piece: str) -> Found:
    if lettered(question):
        by_letter = _strict_letter(question, order, piece)
        if by_letter.values or by_letter.reason is not Reason.NONE:
            return by_letter
    named = _leading_option(question, order, piece)
    return Found() if named is None else Found((float(named),))


def _strict_letter(question: WordQuestion, order: tuple[int, ...], piece: str) -> Found:
    if alone := _LETTER_ALONE.match(piece):
        return _by_letter(order, alone[1])
    if first := _LETTER_FIRST.match(piece):
        letter, rest = first[1] or first[2], first[3]
        if letter == "I" and piece.lstrip("\"'([").startswith("I,"):
            return Found()
        return _with_rest(question, order, letter, rest)
    if option := _OPTION_FIRST.match(piece):
        return _with_rest(question, order, option[1], piece[option.end() :].lstrip(" -:,."))
    if bare := _LETTER_BARE.match(piece):
        said = _by_letter(order, bare[1])
        own = _leading_option(question, order, bare[2])
        return said if said.single and own is not None and float(own) == said.values[0] else Found()
    return Found()


def _by_letter(order: tuple[int, ...], letter: str) -> Found:
    place = LETTERS.find(letter.upper())
    return Found((float(order[place]),)) if 0 <= place < len(order) else Found()


def _with_rest(question: WordQuestion, order: tuple[int, ...], letter: str, rest: str) -> Found:
    """The option of a letter, unless what follows at once is another letter or another option's text."""
    said = _by_letter(order, letter)
    if not said.single:
        return Found()
    if (other := _ANOTHER.match(rest)) and (second := _by_letter(order, other[1])).single and second != said:
        return found({*said.values, *second.values})
    named = _leading_option(question, order, rest)
    return said if named is None or float(named) == said.values[0] else Found((), Reason.CONFLICT)


def _leading_option(question: WordQuestion, order: tuple[int, ...], piece: str) -> int | None:
    """The number of the option whose text a piece begins with: of several the longest."""
    options = sorted(order, key=lambda number: -len(question.options[number]))
    return next((number for number in options if _leading(question.options[number]).match(piece)), None)


@functools.lru_cache(maxsize=4096)
def _leading(option: str) -> re.Pattern[str]:
    return re.compile(rf"^[\"'(\[\s]*{_ARTICLE}[\"'(\[]*{phrase(option).pattern}{_ENDS}", re.IGNORECASE)


def _loose_option(question: WordQuestion, order: tuple[int, ...], piece: str) -> Found:
    return named(question, [_marked(question, order, part) for part in parts_of(piece)])


def _marked(question: WordQuestion, order: tuple[int, ...], part: str) -> str:
    """A clause with a mark for each option's text, the longest first, and for each letter that stands for one."""

    def of_letter(match: re.Match[str]) -> str:
        one = _by_letter(order, next(group for group in match.groups() if group))
        return mark(int(one.values[0])) if one.single else match[0]

    for number in sorted(order, key=lambda number: -len(question.options[number])):
        part = phrase(question.options[number]).sub(mark(number), part)
    return _LOOSE_LETTER.sub(of_letter, part) if lettered(question) else part


_LOOSE_LETTER: Final = re.compile(
    r"(?<![\w'])(?:(?i:option)\s*:?\s*[\"'(\[]*([A-Za-z])(?![\w'\-])"
    r"|(?i:choice|answer|letter)\s*:?\s*[\"'(\[]*([A-Z])(?![\w'\-])"
    r"|[(\[\"]([A-Za-z])[)\]\"]|([B-HJ-Z])(?![\w'\-])|(A)(?=[).:,]|\s*(?:\||$)|\s+(?:and|or)\s+[B-Z]\b"
    r"|\s*[/&]\s*[B-Z]\b|\s+[B-HJ-Z](?=[\s.,]|$)))"
)
"""A letter that stands for an option: never the article "a", nor "I"."""

_ONES: Final = (
    r"(?:image|picture|photo|photograph|person|individual|candidate|face|portrait|option|one|man|woman|applicant)"
)
_FIRST: Final = (
    r"(?:(?:first|1st)(?!\s+(?:glance|sight|impressions?|of all|look|place|names?)\b"
    rf"|,\s+(?:i|let|we|looking|consider)\b)|{_ONES}\s*(?:#|no\.?|number)?\s*(?:1|one|(?-i:A))"
    rf"|former|left(?:most|-hand)?)"
)
_SECOND: Final = (
    rf"(?:(?:second|2nd)(?!\s+(?:glance|thoughts?|look)\b)|{_ONES}\s*(?:#|no\.?|number)?\s*(?:2|two|(?-i:B))|latter"
    rf"|right(?:most|-hand)?(?=\s+{_ONES}|[.,!]?\s*(?:\||$))|(?<=on the )right)"
)
_NEITHER: Final = r"(?:neither|none of (?:them|the two|these)|no preference|equally \w+|both equally|no difference)"
_PAIR_PIECES: Final = (_FIRST, _SECOND, _NEITHER)
_STRICT_PLACES: Final = tuple(
    re.compile(
        rf"^[\"'(\[\s]*(?:(?:the|option|image|person|picture|photo)\s+)?[\"'(\[]*"
        rf"(?:{words}(?:\s+{_ONES})?(?!\w)|{alone}(?!\w)){_ENDS}",
        re.IGNORECASE,
    )
    for words, alone in zip(_PAIR_PIECES, ("(?:1|a)", "(?:2|b)", "(?!)"), strict=True)
)
_LOOSE_PLACES: Final = tuple(re.compile(rf"(?<![\w\-]){words}(?![\w\-])", re.IGNORECASE) for words in _PAIR_PIECES)
_BOTH_PLACES: Final = re.compile(
    r"^\W*(?:the\s+)?(?:first|1|a)\s*(?:and|or|/|,|&)\s*(?:the\s+)?(?:second|2|b)\b", re.IGNORECASE
)


def _strict_pair(piece: str, n: int) -> Found:
    """Places that a piece about two images begins with; n: 3 where "neither" is offered."""
    if _BOTH_PLACES.match(piece):
        return found({0.0, 1.0})
    return next((Found((float(place),)) for place in range(n) if _STRICT_PLACES[place].match(piece)), Found())


def _loose_pair(question: WordQuestion, piece: str, n: int) -> Found:
    parts = parts_of(piece)
    for place in range(n):
        parts = [_LOOSE_PLACES[place].sub(mark(place), part) for part in parts]
    return named(question, parts, compared=True)
