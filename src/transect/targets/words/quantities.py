"""Numbers as models write them: "$95k", "between 30 and 35 years", "mid-40s", "seven out of ten".

A range is read as its middle where it is at most a quarter of the question's range wide, and else as a hedge. A decade
is its ten years, "early" the first four of them, "mid" the middle three, "late" the last three. Commas, spaces and
apostrophes group thousands; a point is a decimal point.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, final

from transect.targets.words.found import Found, Reason
from transect.targets.words.questions import WordQuestion

WIDEST: Final = 0.25
"""Of the question's range: the widest range of numbers that is read as its middle."""
_ONES: Final = {
    word: number
    for number, word in enumerate(
        [
            "zero",
            "one",
            "two",
            "three",
            "four",
            "five",
            "six",
            "seven",
            "eight",
            "nine",
            "ten",
            "eleven",
            "twelve",
            "thirteen",
            "fourteen",
            "fifteen",
            "sixteen",
            "seventeen",
            "eighteen",
            "nineteen",
        ]
    )
}
_TENS: Final = {
    word: 10 * number
    for number, word in enumerate(
        ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"], start=2
    )
}
_MULTIPLES: Final = {"hundred": 100, "thousand": 1000, "million": 1_000_000}
_NUMBER_WORD: Final = "|".join([*_ONES, *_TENS, *_MULTIPLES])
_SPELLED: Final = re.compile(
    rf"\b(?:a\s+(?=(?:hundred|thousand|million)\b))?(?:{_NUMBER_WORD})"
    rf"(?:(?:[\s\-]+|(?<=dred)\s+and\s+|(?<=sand)\s+and\s+|(?<=lion)\s+and\s+)(?:{_NUMBER_WORD}))*\b",
    re.IGNORECASE,
)
_DECADES: Final = re.compile(r"\b(twent|thirt|fort|fift|sixt|sevent|eight|ninet)ies\b", re.IGNORECASE)
_DECADE_STEMS: Final = ("twent", "thirt", "fort", "fift", "sixt", "sevent", "eight", "ninet")

_CURRENCIES: Final = {
    "usd": ("$", "us$", "usd", "dollar", "dollars", "us dollars", "u.s. dollars"),
    "eur": ("€", "eur", "euro", "euros"),
    "gbp": ("£", "gbp", "pound", "pounds"),
    "inr": ("₹", "inr", "rupee", "rupees"),
    "jpy": ("¥", "jpy", "yen"),
}
_CURRENCY_OF: Final = {sign: code for code, signs in _CURRENCIES.items() for sign in signs}
_PERIODS: Final = {
    "hour": ("hour", "hr", "hourly"),
    "day": ("day", "daily"),
    "week": ("week", "weekly"),
    "month": ("month", "monthly"),
    "year": ("year", "annum", "yr", "annually", "yearly", "annual"),
}
_PERIOD_OF: Final = {word: period for period, words in _PERIODS.items() for word in words}
_SIGN: Final = r"(?:US\$|U\.S\.\$|\$|€|£|₹|¥|USD|EUR|GBP|INR|JPY)"
_NUM: Final = r"(?:\d{1,3}(?:[,' ]\d{3})+|\d+)(?:\.\d+)?(?![.,]?\d)"
_MULT: Final = r"(?:\s?(?:[kK](?!\w)|K(?!\w)|M(?!\w)|[Tt]housand\b|[Gg]rand\b|[Mm]illion\b))"
_SPAN: Final = r"(?:\s*(?:-|~|to|or|and|up to)\s*)"
_QUANTITY: Final = re.compile(
    rf"(?<![\w.,])(?P<sign>{_SIGN}\s?)?(?P<minus>(?<![\w)])-)?(?P<low>{_NUM})(?P<lowmult>{_MULT})?(?:(?P<span>{_SPAN})"
    rf"(?:{_SIGN}\s?)?(?P<high>{_NUM})(?P<highmult>{_MULT})?(?![\w.,]*\d))?(?P<tail>[^.;\n,]{{0,40}})"
)
_DECADE: Final = re.compile(
    r"\b(?:(?P<part>early|mid(?:dle)?|late)(?:[\s-]+(?:to|or|-)?[\s-]*(?P<second>mid|late))?[\s-]+)?"
    r"(?P<decade>[1-9]0)'?s\b",
    re.IGNORECASE,
)
_PARTS: Final = {"early": (0, 3), "mid": (4, 6), "middle": (4, 6), "late": (7, 9), "": (0, 9)}
_BOUND_BEFORE: Final = re.compile(
    r"\b(?:at least|at most|over|above|more than|greater than|less than|under|below|up to|older than|younger than"
    r"|no more than|no less than|minimum of|maximum of|exceeding)\s*(?:the age of\s*)?$",
    re.IGNORECASE,
)
_BOUND_AFTER: Final = re.compile(
    r"^\s*(?:\+|(?:or|and) (?:more|above|older|over|less|under|below|younger|higher|up)\b)", re.IGNORECASE
)
_BETWEEN: Final = re.compile(r"\bbetween(?: the ages? of| about| around| roughly)?\s*$", re.IGNORECASE)
_BEFORE: Final = 40
"""Characters before a number in which words that belong to it are looked for."""
_APPROXIMATELY: Final = re.compile(
    r"^[\"'(\[\s]*(?:(?:about|around|approximately|approx\.?|roughly|nearly|almost|maybe|perhaps|probably|likely"
    r"|close to|between|from|in|his|her|their|the|age|aged|a|an|range|of|is|it's|they are|he is|she is|somewhere"
    r"|circa|ca\.?|say|i'd say|i would say|≈|~)"
    r"[:,]?\s*){0,6}[\"'(\[]*$",
    re.IGNORECASE,
)
_NOISE: Final = re.compile(
    r"\bscale\s*(?:of|from|between)?\s*\d+\s*(?:to|-|and|through)\s*\d+"
    r"|\b\d+\s*(?:to|-)\s*\d+\s*scale\b|\b\d+\s*-\s*point\b|\b\d+[\s\-]*figures?\b"
    r"|\b\d+\s*(?:=|is|means|being)\s*(?:the\s+)?(?:not|least|lowest|low|very|most|highest|high|extremely|completely)\b"
    r"|(?:,?\s*(?:give or take|plus or minus|within)|\s*(?:±|\+/-))"
    r"\s*(?:about|a|around)?\s*\d+(?:\.\d+)?(?:\s*years?)?",
    re.IGNORECASE,
)
"""Numbers that are no answers: the scale itself, and a margin of error."""
_CONTRAST: Final = re.compile(
    rf"(?:\b(?:not|rather than|instead of|(?:others|some|people|one) (?:might|may|could|would) say)"
    rf"|(?<!older )(?<!younger )(?<!more )(?<!less )(?<!greater )(?<!higher )(?<!lower )\bthan)"
    rf"\s+(?:in\s+|an?\s+|the\s+|about\s+){{0,2}}{_SIGN}?\s?{_NUM}{_MULT}?"
    rf"(?:\s*(?:,|or|nor|and|to|-)\s*{_SIGN}?\s?{_NUM}{_MULT}?)*",
    re.IGNORECASE,
)
"""Numbers that are said not to be the answer: "not 40", "rather than 40"."""
_DENIES: Final = re.compile(
    r"\b(?:not|never|cannot|hardly|unlikely|doubt|rather than|instead of)\b|n't\b", re.IGNORECASE
)
_SENTENCE: Final = re.compile(r"[.!?;][\"')\]]*\s|\n")
_ITEM: Final = re.compile(r"^\s*\d{1,2}[.)]\s")
_BARE: Final = re.compile(r"^\s*[)\"'\]]*\s*(?:\||$)")
_OUT_OF: Final = re.compile(r"^\s*(?:/|out of|of)\s*(?P<most>\d+(?:\.\d+)?)\b", re.IGNORECASE)
_TAIL_UNIT: Final = re.compile(
    r"^[\s\-]*(?:(?P<percent>%|percent\b|per cent\b)|(?P<years>years?\b|yrs?\b|y/?o\b)|(?P<months>months?\s+old\b)"
    r"|(?P<money>US dollars|dollars?|euros?|pounds?|rupees|yen|USD|EUR|GBP|INR|JPY|[$€£])(?!\w))?"
    r"[\s\-]*(?:old\b)?\s*(?:(?:/|per|an?|each|p\.?)\s*(?P<period>hour|hr|day|week|month|year|annum|yr)\b"
    r"|(?P<adverb>hourly|daily|weekly|monthly|annually|yearly)\b)?",
    re.IGNORECASE,
)
_CLAUSES: Final = re.compile(
    r"\s*\|\s*|[.;:!?]\s+|\n+|,?\s+(?:but|however|although|though|so|therefore|thus|hence)\b", re.IGNORECASE
)
_LISTED: Final = re.compile(r"^\s*\d{1,2}[.)]\s+(?=\D)", re.MULTILINE)


@final
@dataclass(frozen=True, slots=True)
class Quantity:
    """A number or a range in a text.

    clash: in another unit. bound: only a bound. marked: with the unit, or a sign. bare: no word stands behind it.
    torn: a range whose ends do not fit, such as "50 to 900,000".
    """

    low: float
    high: float
    start: int
    clash: bool = False
    bound: bool = False
    marked: bool = False
    bare: bool = False
    torn: bool = False


def strict(question: WordQuestion, piece: str) -> Found:
    """The number that a piece begins with, words such as "about" aside, where its sentence has no other answer."""
    piece = _prepared(piece)
    every = quantities(question, piece)
    if not every or not _APPROXIMATELY.match(_without_bound(piece[: every[0].start])):
        return Found()
    first, others = every[0], every[1:]
    end = _SENTENCE.search(piece, first.start)
    within = [other for other in others if end is None or other.start < end.start()]
    listed = others if _ITEM.match(piece) else within  # "1. $80,000" is no answer of 1
    if not first.marked and not first.clash and any(other.marked and not other.clash for other in listed):
        return Found()
    return _several(every) if _rivals(question, first, within) else value_of(question, first)


def loose(question: WordQuestion, piece: str) -> Found:
    """The only number of a piece, or the only one with the question's unit; not in clauses that deny."""
    by_clause = [(quantities(question, part), bool(_DENIES.search(part))) for part in _CLAUSES.split(_prepared(piece))]
    every = [each for of_clause, denied in by_clause for each in of_clause if not denied or each.bound or each.clash]
    for each in (every, [quantity for quantity in every if quantity.marked]):
        if len({(quantity.low, quantity.high) for quantity in each}) == 1:
            return _several(every) if _rivals(question, each[0], every) else value_of(question, each[0])
    if not every and any(of_clause for of_clause, _ in by_clause):
        return Found((), Reason.NEGATED)
    return _several(every) if every else Found()


def _several(every: Sequence[Quantity]) -> Found:
    return Found(tuple(sorted({quantity.low for quantity in every})), Reason.SEVERAL)


def _is_within(question: WordQuestion, quantity: Quantity) -> bool:
    return question.low <= quantity.low and quantity.high <= question.high


def _rivals(question: WordQuestion, first: Quantity, others: Sequence[Quantity]) -> bool:
    """Whether another number could be the answer as well: one with the unit, or in range and without words behind it.

    Where the first has no unit, any number in range could be.
    """
    if first.clash:
        return False
    different = [other for other in others if (other.low, other.high) != (first.low, first.high) and not other.clash]
    possible = [other for other in different if _is_within(question, other) and (other.bare or not first.marked)]
    return bool(possible) or any(other.marked for other in different)


def value_of(question: WordQuestion, quantity: Quantity) -> Found:
    """The value that a quantity stands for, or why it stands for none."""
    if quantity.clash:
        return Found((), Reason.UNIT)
    if quantity.bound:
        return Found((), Reason.BOUND)
    if quantity.torn:
        return Found((quantity.low, quantity.high), Reason.SEVERAL)
    width, middle = quantity.high - quantity.low, quantity.low + (quantity.high - quantity.low) / 2
    if width > WIDEST * (question.high - question.low):
        return Found((), Reason.WIDE)
    return Found((middle,)) if question.low <= middle <= question.high else Found((), Reason.RANGE)


def quantities(question: WordQuestion, piece: str) -> list[Quantity]:
    """Every number and range of a piece, in the order in which they stand there.

    >>> from transect.targets.words.questions import Kind
    >>> salary = WordQuestion("s", Kind.NUMBER, ("?",), low=0, high=500_000, unit="USD per year")
    >>> [(each.low, each.high) for each in quantities(salary, "$80k-90k, not 1.2 million")]
    [(80000.0, 90000.0), (1200000.0, 1200000.0)]
    """
    decades = list(_DECADE.finditer(piece)) if _is_years(question) else []
    within = [range(*match.span()) for match in decades]
    plain = [match for match in _matches(piece) if not any(match.start() in span for span in within)]
    every = [*(_decade(match) for match in decades), *(_quantity(question, piece, match) for match in plain)]
    return sorted(every, key=lambda quantity: quantity.start)


def in_digits(text: str) -> str:
    """A text with numbers in words as digits, where it has no digits; a lone "one" only at the start of two words.

    >>> in_digits("about ninety-five thousand"), in_digits("one hundred and twenty"), in_digits("no one here knows")
    ('about 95000', '120', 'no one here knows')
    """
    if any(letter.isdigit() for letter in text):
        return text
    text = _DECADES.sub(lambda match: f"{20 + 10 * _DECADE_STEMS.index(match[1].lower())}s", text)
    short = len(text.split()) <= 2 and text.lower().startswith("one")
    return _SPELLED.sub(lambda match: match[0] if match[0].lower() == "one" and not short else _digits(match[0]), text)


def _digits(words: str) -> str:
    """A run of number words as digits: hundreds multiply what stands before them, thousands all of it."""
    total = part = 0
    for word in re.split(r"[\s\-]+", words.lower()):
        if word in _ONES or word in _TENS:
            part += _ONES.get(word, 0) + _TENS.get(word, 0)
        elif word == "hundred":
            part = min(max(part, 1) * 100, 10**15)
        elif word in _MULTIPLES:
            total, part = total + max(part, 1) * _MULTIPLES[word], 0
    return str(total + part)


def _prepared(piece: str) -> str:
    """A piece with digits for words, without numbers of lists, of scales and of margins of error."""
    piece = _CONTRAST.sub(" ", _NOISE.sub(" ", in_digits(piece)))
    return _LISTED.sub("", piece) if len(_LISTED.findall(piece)) > 1 else piece


def _without_bound(before: str) -> str:
    return _BOUND_BEFORE.sub("", before)


def _matches(piece: str) -> list[re.Match[str]]:
    """Matches of numbers, each of which begins where the one before ends, its unit aside.

    "40 and 50" are two numbers, and a range only behind "between"; the 7 of "5 out of 7" is none.
    """
    matches, place = [], 0
    while match := _QUANTITY.search(piece, place):
        if _is_two(piece, match):
            match = _QUANTITY.fullmatch(piece, match.start(), match.start("span")) or match
            place = max(match.end(), match.start() + 1)
        else:
            scale = _OUT_OF.match(match["tail"])
            place = match.start("tail") + (scale.end() if scale else 0)
        matches.append(match)
    return matches


def _is_two(piece: str, match: re.Match[str]) -> bool:
    before = piece[max(0, match.start() - _BEFORE) : match.start()]
    return (match["span"] or "").strip() == "and" and not _BETWEEN.search(before)


def _quantity(question: WordQuestion, piece: str, match: re.Match[str]) -> Quantity:
    tail = match["tail"]
    low, high, torn = _ends(match)
    if match["minus"]:
        low, high = -low, high if match["high"] else -low
    clash, marked = _unit(question, match["sign"] or "", tail)
    before = piece[max(0, match.start() - _BEFORE) : match.start()]
    bound = low == high and bool(_BOUND_BEFORE.search(before) or _BOUND_AFTER.match(tail))
    bare = bool(_BARE.match(tail))
    return Quantity(min(low, high), max(low, high), match.start(), clash, bound, marked, bare, torn)


def _ends(match: re.Match[str]) -> tuple[float, float, bool]:
    """The two ends of a range, or one number twice, and whether they do not fit.

    "$50-55,000", "$50-55k" and "70,000 to 75" give the thousands of both ends once.
    """
    low = _number(match["low"], match["lowmult"])
    if not match["high"]:
        return low, low, False
    high = _number(match["high"], match["highmult"])
    if low < _THOUSAND <= high and not match["lowmult"]:
        factor = _number("1", match["highmult"]) if match["highmult"] else _THOUSAND
        low, torn = _scaled(low, factor, high, high)
        return low, high, torn and low > 0
    if high < _THOUSAND <= low and not match["highmult"]:
        factor = _number("1", match["lowmult"]) if match["lowmult"] else _THOUSAND
        high, torn = _scaled(high, factor, low * _FAR, low * _FAR)
        return low, high, torn or high < low
    return low, high, False


_THOUSAND: Final = 1000
_FAR: Final = 10
"""How many times an end of a range may be the other one, where thousands are filled in."""


def _scaled(end: float, factor: float, most: float, high: float) -> tuple[float, bool]:
    """An end of a range with its thousands, and whether it does not fit; as it stands where that is too much."""
    scaled = end * factor
    if scaled > most:
        return end, False
    return (scaled, False) if scaled * _FAR >= high else (end, True)


def _number(digits: str, multiple: str | None) -> float:
    word = (multiple or "").strip().lower()
    factor = {"k": 1000, "m": 1_000_000, "thousand": 1000, "grand": 1000, "million": 1_000_000}.get(word, 1)
    return float(re.sub(r"[,' ]", "", digits)) * factor


def _decade(match: re.Match[str]) -> Quantity:
    decade = int(match["decade"])
    first = _PARTS[(match["part"] or "").lower()]
    last = _PARTS[match["second"].lower()] if match["second"] else first
    return Quantity(decade + first[0], decade + last[1], match.start(), marked=True)


def _is_years(question: WordQuestion) -> bool:
    return bool(re.match(r"(?:years?|yrs?)\b", question.unit, re.IGNORECASE))


def _unit(question: WordQuestion, sign: str, tail: str) -> tuple[bool, bool]:
    """Whether what stands around a number is another unit than the question's, and whether it is the question's."""
    unit = question.unit.lower()
    found = _TAIL_UNIT.match(tail)
    stated = found.groupdict() if found else {}
    own_money = next((_CURRENCY_OF[word] for word in re.split(r"[\s/]+", unit) if word in _CURRENCY_OF), "")
    own_period = next((_PERIOD_OF[word] for word in re.split(r"[\s/]+", unit) if word in _PERIOD_OF), "")
    money = _CURRENCY_OF.get((sign.strip() or stated.get("money") or "").lower(), "")
    period = _PERIOD_OF.get((stated.get("period") or stated.get("adverb") or "").lower(), "")
    most = _OUT_OF.match(tail)
    clashes = (
        bool(money and own_money and money != own_money),
        bool(own_money and period and own_period and period != own_period),
        bool(stated.get("percent")) and unit not in ("%", "percent"),
        bool(stated.get("months")) and _is_years(question),
        bool(most) and float(most["most"] if most else 0) != question.high,
    )
    marked = bool(
        (money and money == own_money)
        or (stated.get("percent") and unit in ("%", "percent"))
        or (stated.get("years") and _is_years(question))
        or most
    )
    return any(clashes), marked
