"""Questions to a model that answers in words, and TOML files of them: `--questions FILE`, or a built-in set.

A question has a kind, which says what an answer is:

| kind | answer | value |
| --- | --- | --- |
| yes-no | yes or no | 1 or 0 |
| choice | one of the options | the option's number in the file, from 0 |
| number | a number between `low` and `high` | the number |
| text | any text | none; 1 or 0 for each code |
| pair | of two images the first or the second, or neither | 0 or 1 as the caller numbers the images; 2 neither |

A file has one `[[question]]` table per question, and above them what counts for all: `title`, `version`, `system`,
`sources`, `may_be_used_for` and `may_not_be_used_for`. See docs/reference/question-and-chat-files.md for every key.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import itertools
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final, Literal, final

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from transect.errors import BadInput, UnknownName
from transect.records import Task
from transect.runs import toml_files
from transect.runs.folder import spec_hash
from transect.spoken_answers import Ask
from transect.targets.words.coding import WORDLISTS, matcher

PAIR: Final = ("first", "second", "neither")
"""Options of a question about two images; the third only where the question offers it."""
LETTERS: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
Shown = Literal["letters", "list"]


class Kind(StrEnum):
    """What an answer to a question is."""

    YES_NO = "yes-no"
    CHOICE = "choice"
    NUMBER = "number"
    TEXT = "text"
    PAIR = "pair"


@final
@dataclass(frozen=True, slots=True)
class Code:
    """What is looked for in a free text: any of the labels as whole words or of the patterns; or what a judge says.

    labels: words or phrases; capitals do not count. patterns: regular expressions in the syntax of the Rust crate
    regex, which needs time in proportion to the text's length whatever the pattern. judge: a yes-or-no question about
    the text that a judge model answers, in place of labels and patterns.
    """

    name: str
    labels: tuple[str, ...] = ()
    patterns: tuple[str, ...] = ()
    judge: str = ""


@final
@dataclass(frozen=True, slots=True)
class WordQuestion:
    """One question.

    paraphrases: prompts that ask the same, of which the first is `prompt`. options: of a choice or a pair. shown: how
    the prompt shows options, see `wordings`. positive: number of the option whose probability is the outcome, None
    for each option in turn. low, high: the range of a number, both included. unit: of a number, such as "USD per year".
    codes, wordlists: what is measured in a free text. repeats: how often each wording is asked. max_tokens: the
    longest answer. meaning: of the value, in words.
    """

    name: str
    kind: Kind
    paraphrases: tuple[str, ...]
    system: str = ""
    options: tuple[str, ...] = ()
    shown: Shown = "letters"
    positive: int | None = None
    low: float = 0.0
    high: float = 0.0
    unit: str = ""
    codes: tuple[Code, ...] = ()
    wordlists: tuple[str, ...] = ()
    repeats: int = 1
    temperature: float = 0.0
    max_tokens: int = 64
    meaning: str = ""
    sources: tuple[str, ...] = ()
    may_be_used_for: str = ""
    may_not_be_used_for: str = ""

    @property
    def prompt(self) -> str:
        """The first paraphrase."""
        return self.paraphrases[0]

    @property
    def task(self) -> Task:
        """The task of a target that asks this question."""
        return _TASKS[self.kind]

    @property
    def labels(self) -> tuple[str, ...]:
        """What each of the value's numbers is of: options, or codes; () where there is one number."""
        return tuple(code.name for code in self.codes) if self.kind is Kind.TEXT else self.options

    @property
    def judged(self) -> tuple[Code, ...]:
        """The codes that a judge model gives."""
        return tuple(code for code in self.codes if code.judge)

    def facts(self) -> dict[str, object]:
        """Every field as plain values, as run.json holds it; a code that rules give says nothing of a judge."""
        stated = {**dataclasses.asdict(self), "kind": str(self.kind)}
        for code in stated["codes"]:
            if not code["judge"]:
                del code["judge"]
        return stated

    @property
    def images(self) -> int:
        """How many images are shown with it: 1, or 2."""
        return 2 if self.kind is Kind.PAIR else 1

    @property
    def digest(self) -> str:
        """SHA-256 of what is asked and how it is read, as 64 hexadecimal digits; notes and sources do not count."""
        return _digest(self)


@final
@dataclass(frozen=True, slots=True)
class QuestionSet:
    """The questions of one file. version: as the file states it, for people; the digest is what counts."""

    name: str
    questions: tuple[WordQuestion, ...]
    title: str = ""
    version: str = "1"

    def __len__(self) -> int:
        """How many questions there are."""
        return len(self.questions)

    def __iter__(self) -> Iterator[WordQuestion]:
        """Each question, in the file's order."""
        return iter(self.questions)

    def named(self, name: str) -> WordQuestion:
        """The question of that name. Raises UnknownName."""
        for question in self.questions:
            if question.name == name:
                return question
        raise UnknownName("question", name, [question.name for question in self.questions])

    @property
    def digest(self) -> str:
        """SHA-256 of all that the records hold, notes and sources too, but not of the file's layout."""
        return spec_hash([self.version, self.title, *(question.facts() for question in self.questions)])


_TASKS: Final = {
    Kind.YES_NO: Task.BINARY,
    Kind.CHOICE: Task.MULTICLASS,
    Kind.NUMBER: Task.REGRESSION,
    Kind.TEXT: Task.MULTILABEL,
    Kind.PAIR: Task.MULTICLASS,
}
_NOTES: Final = ("meaning", "sources", "may_be_used_for", "may_not_be_used_for")


@functools.lru_cache(maxsize=256)
def _digest(question: WordQuestion) -> str:
    return spec_hash({key: value for key, value in question.facts().items() if key not in _NOTES})


PLACEHOLDER: Final = re.compile(r"\{([A-Za-z_]+)\}")
OPTIONS: Final = "{options}"


@final
@dataclass(frozen=True, slots=True)
class Wording:
    """One text about one image, or two.

    order: the option's number in the file at each place; of two images the caller's number of each image as shown,
    and 2 for "neither" where it is offered; () without options.
    """

    paraphrase: int
    repeat: int
    order: tuple[int, ...]
    ask: Ask


def wordings(question: WordQuestion, images_key: str) -> tuple[Wording, ...]:
    """Every wording of a question about some images, paraphrase by paraphrase, then repeat; of a pair in both orders.

    images_key: the digest of the images shown, or any text that is the same for the same images and no others.
    """
    places = itertools.product(range(len(question.paraphrases)), range(question.repeats))
    return tuple(
        Wording(paraphrase, repeat, order, _ask(question, paraphrase, repeat, order))
        for paraphrase, repeat in places
        for order in _orders(question, images_key, paraphrase, repeat)
    )


def prompt_of(question: WordQuestion, paraphrase: int, order: Sequence[int]) -> str:
    """The prompt that is sent: a paraphrase with its placeholders filled in.

    {options} becomes the options in that order, one a line behind the letters A), B), … (`shown` "letters") or as
    "nurse, pilot or judge" ("list", and of every pair). A prompt of a choice or a pair without it gets them at its
    end. {low}, {high} and {unit} are a number's.
    """
    text = question.paraphrases[paraphrase]
    if question.options and OPTIONS not in text:
        text = f"{text}\n{OPTIONS}"
    fills = {
        "options": options_text(question, order),
        "low": f"{question.low:.15g}",
        "high": f"{question.high:.15g}",
        "unit": question.unit,
    }
    return PLACEHOLDER.sub(lambda found: fills.get(found[1], found[0]), text)


def options_text(question: WordQuestion, order: Sequence[int]) -> str:
    """The options as a prompt shows them; "" without options.

    >>> job = WordQuestion("job", Kind.CHOICE, ("Which?",), options=("nurse", "pilot", "judge"), shown="list")
    >>> options_text(job, (2, 0, 1))
    'judge, nurse or pilot'
    """
    texts = texts_in_place(question, order)
    if lettered(question):
        return "\n".join(f"{letter}) {text}" for letter, text in zip(LETTERS, texts, strict=False))
    return " or ".join(filter(None, [", ".join(texts[:-1]), *texts[-1:]]))


def texts_in_place(question: WordQuestion, order: Sequence[int]) -> tuple[str, ...]:
    """The option at each place; of a pair "first", "second" always, since it is the images that change places."""
    if question.kind is Kind.PAIR:
        return PAIR[: len(order)]
    return tuple(question.options[number] for number in order)


def lettered(question: WordQuestion) -> bool:
    """Whether the options stand behind letters."""
    return question.kind is Kind.CHOICE and question.shown == "letters"


def _ask(question: WordQuestion, paraphrase: int, repeat: int, order: tuple[int, ...]) -> Ask:
    prompt = prompt_of(question, paraphrase, order)
    scored = _scored(question, order)
    return Ask(
        question.system, prompt, repeat, question.temperature, question.max_tokens, scored, question.kind is Kind.NUMBER
    )


def _scored(question: WordQuestion, order: tuple[int, ...]) -> tuple[str, ...]:
    """The answers whose likelihood is wanted: no and yes, the letters shown, or the options' texts by place."""
    if question.kind is Kind.YES_NO:
        return ("No", "Yes")
    return tuple(LETTERS[: len(order)]) if lettered(question) else texts_in_place(question, order)


def _orders(question: WordQuestion, images_key: str, paraphrase: int, repeat: int) -> Iterator[tuple[int, ...]]:
    if question.kind is Kind.PAIR:
        rest = tuple(range(2, len(question.options)))
        yield from ((0, 1, *rest), (1, 0, *rest))
        return
    text = f"{images_key}\0{question.digest}\0{paraphrase}\0{repeat}".encode(errors="surrogatepass")
    number = int.from_bytes(hashlib.sha256(text).digest(), "big")
    yield _permutation(number, len(question.options))


def _permutation(number: int, n: int) -> tuple[int, ...]:
    """The permutation of 0 … n - 1 of that number, counted from 0 and modulo n!, in the order of a dictionary.

    Of the 2²⁵⁶ numbers of a digest each permutation of up to 26 options has the same share, to 1 part in 2¹⁶⁷.
    """
    left = list(range(n))
    number %= math.factorial(n)
    chosen = []
    for rest in range(n - 1, -1, -1):
        place, number = divmod(number, math.factorial(rest))
        chosen.append(left.pop(place))
    return tuple(chosen)


SHIPPED: Final = ("hiring", "occupation", "traits", "pairs", "alt-text", "appearance")
"""Sets by name, in `shipped/`: question files like any other."""
Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,62}$")]
_Text = Annotated[str, StringConstraints(min_length=1, max_length=20_000, strip_whitespace=True)]
_Line = Annotated[str, StringConstraints(min_length=1, max_length=200, strip_whitespace=True)]
_TOKENS: Final = {Kind.TEXT: 256}
"""The longest answer where the file says nothing; of other kinds 64."""
ONLY_OF: Final = {
    "options": (Kind.CHOICE,),
    "shown": (Kind.CHOICE,),
    "positive": (Kind.CHOICE, Kind.PAIR),
    "neither": (Kind.PAIR,),
    "low": (Kind.NUMBER,),
    "high": (Kind.NUMBER,),
    "unit": (Kind.NUMBER,),
    "code": (Kind.TEXT,),
    "wordlists": (Kind.TEXT,),
}
"""Keys that only questions of some kinds have."""
_PLACEHOLDERS: Final = {Kind.CHOICE: ("options",), Kind.PAIR: ("options",), Kind.NUMBER: ("low", "high", "unit")}
_Fault = tuple[str, str]
"""A key of a question, and what is wrong with it."""


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


@final
class CodeTable(_Table):
    """A code of a free text: 1 where a label (whole words) or a pattern occurs, or a judge model says yes; else 0."""

    name: Name = Field(description="its name in tables")
    labels: tuple[_Line, ...] = Field(default=(), description="words or phrases, matched as whole words, ignoring case")
    patterns: tuple[_Line, ...] = Field(
        default=(), description="regular expressions of the Rust crate `regex`, ignoring case"
    )
    judge: str = Field(
        default="",
        max_length=2000,
        description="instead of both: a yes-or-no question about the text, for the model of `--judge`",
    )


@final
class QuestionTable(_Table):
    """One question as a file states it."""

    name: Name = Field(description="its name in tables; the target is `model/name`")
    kind: Kind = Field(description="what an answer is: `yes-no`, `choice`, `number`, `text`, or `pair` of two images")
    prompt: _Text = Field(description="the text sent with the image")
    paraphrases: tuple[_Text, ...] = Field(
        default=(), max_length=99, description="other texts with the same question; each is asked about every image"
    )
    system: str | None = Field(default=None, max_length=20_000, description="the system prompt; default the file's")
    options: tuple[_Line, ...] = Field(
        default=(), max_length=26, description="2 to 26 options, none the beginning of another; required"
    )
    shown: Shown = Field(
        default="letters",
        description='how `{options}` shows them: behind `letters`, one per line, or as a `list`, "a, b or c"',
    )
    positive: str = Field(default="", description="the option whose probability is the outcome; default each in turn")
    neither: bool = Field(default=False, description='whether "neither" is offered next to "first" and "second"')
    low: float | None = Field(default=None, description="the lowest valid number; required")
    high: float | None = Field(default=None, description="the highest; required")
    unit: str = Field(
        default="",
        max_length=60,
        description='unit of the number: "years", "%", "USD per year"; an answer in a different unit is unreadable',
    )
    code: tuple[CodeTable, ...] = Field(
        default=(), description="what to look for in the text, one table or more; required"
    )
    wordlists: tuple[str, ...] = Field(default=(), description="built-in lists whose share of the words is measured")
    repeats: int = Field(
        default=1, ge=1, le=100, description="how often each wording is asked; above 1 only with a temperature"
    )
    temperature: float = Field(default=0.0, ge=0, le=2, description="sampling temperature; 0 takes the likeliest word")
    max_tokens: int | None = Field(
        default=None, ge=1, le=32_768, description="the longest answer; 256 for `text`, 64 for the others"
    )
    meaning: str = Field(default="", max_length=2000, description="what the value means, for the report")
    sources: tuple[_Text, ...] = Field(default=(), description="where the question comes from; default the file's")
    may_be_used_for: str = Field(default="", max_length=4000, description="what a result can show; default the file's")
    may_not_be_used_for: str = Field(default="", max_length=4000, description="what it cannot show; default the file's")


@final
class QuestionFile(_Table):
    """A whole file."""

    title: str = Field(default="", max_length=200, description="title of the report's section")
    version: str = Field(
        default="1",
        max_length=60,
        description="version of the file, for readers; Transect identifies its content by a digest",
    )
    system: str = Field(default="", max_length=20_000, description="system prompt of questions without one")
    sources: tuple[_Text, ...] = Field(default=(), description="default for questions without one")
    may_be_used_for: str = Field(default="", max_length=4000, description="default for questions without one")
    may_not_be_used_for: str = Field(default="", max_length=4000, description="default for questions without one")
    question: tuple[QuestionTable, ...] = Field(
        min_length=1, max_length=1000, description="the questions, one table each"
    )


def load(name: str | Path) -> QuestionSet:
    """The questions of a built-in set, by its name, or of a TOML file.

    Raises UnknownName (neither built-in nor a file) and BadInput, in one line with file, line and key.
    """
    text, where = toml_files.shipped_or_file(name, SHIPPED, "questions", "shipped", __package__)
    called = str(name) if str(name) in SHIPPED else Path(name).stem
    return parse(text, where, called)


def parse(text: str, where: str, name: str = "questions") -> QuestionSet:
    """Questions from their TOML. where: what messages call it. Raises BadInput in one line, with line and key."""
    file = toml_files.checked(QuestionFile, toml_files.parse(text, where), where, text)
    for number, table in enumerate(file.question):
        names = [other.name for other in file.question[:number]]
        for key, message in _faults(table, names):
            line = toml_files.line_words(text, ("question", number, *key.split(".")))
            raise BadInput(f"{where}{line}: question {number + 1}.{key}: {message}")
    return QuestionSet(name, tuple(_record(table, file) for table in file.question), file.title, file.version)


def _record(table: QuestionTable, file: QuestionFile) -> WordQuestion:
    options = _options(table)
    return WordQuestion(
        name=table.name,
        kind=table.kind,
        paraphrases=(table.prompt, *table.paraphrases),
        system=file.system if table.system is None else table.system,
        options=options,
        shown=table.shown if table.kind is Kind.CHOICE else "list",
        positive=options.index(table.positive) if table.positive else None,
        low=table.low or 0.0,
        high=table.high or 0.0,
        unit=table.unit.strip(),
        codes=tuple(Code(code.name, code.labels, code.patterns, code.judge.strip()) for code in table.code),
        wordlists=table.wordlists,
        repeats=table.repeats,
        temperature=table.temperature,
        max_tokens=table.max_tokens or _TOKENS.get(table.kind, 64),
        meaning=table.meaning,
        sources=table.sources or file.sources,
        may_be_used_for=table.may_be_used_for or file.may_be_used_for,
        may_not_be_used_for=table.may_not_be_used_for or file.may_not_be_used_for,
    )


def _options(table: QuestionTable) -> tuple[str, ...]:
    if table.kind is Kind.PAIR:
        return PAIR if table.neither else PAIR[:2]
    return table.options


def _faults(table: QuestionTable, names: Sequence[str]) -> Iterator[_Fault]:
    """What is wrong between the keys of a question; the first is reported. names: of the questions before it."""
    if table.name in names:
        yield "name", f"expected unique question names, got {table.name!r} twice: rename one"
    for key in ONLY_OF:
        if key in table.model_fields_set and table.kind not in ONLY_OF[key]:
            kinds = " or ".join(ONLY_OF[key])
            yield key, f"expected only in kind {kinds}, got kind {table.kind}: leave it out, or change the kind"
    yield from _prompt_faults(table)
    if table.kind is Kind.CHOICE:
        yield from _option_faults(table)
    elif table.kind is Kind.NUMBER:
        yield from _number_faults(table)
    elif table.kind is Kind.TEXT:
        yield from _text_faults(table)
    if table.positive and table.positive not in _options(table):
        yield "positive", f"expected one of {', '.join(_options(table))}, got {table.positive!r}"
    if table.repeats > 1 and not table.temperature:
        yield (
            "repeats",
            f"expected 1 at temperature 0, where all answers are the same, got {table.repeats}: set temperature",
        )


def _prompt_faults(table: QuestionTable) -> Iterator[_Fault]:
    prompts = (table.prompt, *table.paraphrases)
    known = _PLACEHOLDERS.get(table.kind, ())
    for number, prompt in enumerate(prompts):
        key = "paraphrases" if number else "prompt"
        if prompt in prompts[:number]:
            yield key, f"expected wordings that differ, got {_cut(prompt)!r} twice: leave one out"
        for name in PLACEHOLDER.findall(prompt):
            if name not in known:
                allowed = " or ".join(f"{{{each}}}" for each in known) or "no placeholder"
                yield key, f"expected {allowed} in a prompt of kind {table.kind}, got {{{name}}}: remove its braces"


def _option_faults(table: QuestionTable) -> Iterator[_Fault]:
    options = table.options
    if len(options) < 2:
        yield "options", f"expected at least 2 options of kind choice, got {len(options)}: add some"
    folded = [" ".join(option.casefold().split()) for option in options]
    for number, option in enumerate(folded):
        for other, text in enumerate(folded):
            if number != other and text.startswith(option):
                pair = f"{options[number]!r} and {options[other]!r}"
                yield "options", f"expected options that do not begin with each other, got {pair}: reword one"
    if table.shown == "letters":
        for option in options:
            if option.upper() in LETTERS and len(option) == 1:
                yield (
                    "options",
                    f"expected words after the letters A, B, …, got {option!r}: reword it, or shown = 'list'",
                )
    if broken := next((option for option in options if "\n" in option), None):
        yield "options", f"expected each option in one line, got {_cut(broken)!r}: join its lines"


def _number_faults(table: QuestionTable) -> Iterator[_Fault]:
    for key in ("low", "high"):
        if getattr(table, key) is None:
            yield key, "required for kind number: add low = … and high = …"
            return
    if table.low is not None and table.high is not None and not table.low < table.high:
        yield "high", f"expected more than low = {table.low:g}, got {table.high:g}: swap them"


def _text_faults(table: QuestionTable) -> Iterator[_Fault]:
    names = [code.name for code in table.code]
    if not names:
        yield "code", "nothing to look for in a free text: add a [[question.code]] table"
    for number, code in enumerate(table.code):
        if code.name in names[:number]:
            yield "code", f"expected unique code names, got {code.name!r} twice: rename one"
        yield from _code_faults(code)
    for name in table.wordlists:
        if name not in WORDLISTS:
            yield "wordlists", f"expected {' or '.join(WORDLISTS)}, got {name!r}"


def _code_faults(code: CodeTable) -> Iterator[_Fault]:
    rules = bool(code.labels or code.patterns)
    if rules and code.judge.strip():
        yield "code", f"expected rules or a judge for the code {code.name}, got both: leave one out"
    if not rules and not code.judge.strip():
        yield "code", f"no labels, patterns or judge for the code {code.name}: add one"
    for pattern in code.patterns:
        try:
            matcher(pattern)
        except BadInput as error:
            yield "code", str(error)


def _cut(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:59]}…"
