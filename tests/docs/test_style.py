"""Texts that users see have none of the phrases that docs/research/style.md replaces."""

import ast
import re

import pytest
from places import ROOT

GUIDE = ROOT / "docs" / "research" / "style.md"
PHRASES = {
    "honest uncertainty": r"honest uncertainty",
    "how many subjects would tell": r"how many subjects would tell",
    "other things about": r"\bsay other things about",
    "exchanges it for yours": r"exchanges? it for yours",
    "what nobody stated": r"what nobody stated",
    "labels are the truth": r"[Ll]abels are the truth where",
    "what came": r"\| what came \|",
    "of them far apart": r"\d+ of them far apart",
    "is held of the budget": r"\bheld of the budget",
    "judge a finished run": r"[Jj]udge a finished run",
    "in the way in --out": r"in the way in --out",
    "leave out up to": r"[Ll]eave out up to N",
    "network that ships": r"network that ships",
    "a set that ships": r"\b[Ss]ets? that ships?\b",
    "what onlookers see": r"what onlookers see, not who",
    "a difference this large": r"to confirm a difference this large, had",
    "too few subjects to tell": r"[Tt]oo few subjects to tell",
    "it rests on": r"\bIt rests on \d",
    "hardly follow the truth": r"hardly follow the truth",
    "measured were": r"\bMeasured were\b",
    "as far as they lie": r"spread as far as they lie",
    "that several worlds share": r"effects that several worlds share: ",
    "for what is none": r"\bfor what is none\b",
    "far apart (of failures)": r"[Ff]ailures far apart by",
    "each of another subject": r"each of another subject",
    "an onlooker": r"appearances as an onlooker sees them, never",
    "things that ship": r"\b(rules|words|sets) that ship\b",
    "an empty remedy": r"got [^;]*; (change|fix|correct) (it|them)(?=$|[ |]+\w* ?got)",
    "got others": r"\bgot others\b",
    "is of (for what an option applies to)": r"--[a-z-]+ is of\b",
    "once, got it again": r"\bonce, got it (again|twice)\b",
    "another for different": r"\b(got|found) another\b(?! way)|\bwith other settings\b",
    "of for from": r"\b([Aa]nswers|[Ss]hares|[Cc]ounts|[Ee]ffects|[Bb]ounds|[Ff]igures) are of\b",
    "as for such as": r", as ('[a-z]|s3://|https://|[a-z]+:[a-z]+\?)",
    "cannot be told": r"\b([Ww]hether|by which) [^.]*\bcannot be told\b(?! apart)",
    "whether it is open": r"\b[Ww]hether [^.:]* is (open|inconclusive)\b",
    "damaged or hostile": r"\bis (damaged or )?hostile\b",
    "the other way round": r"\bThe other way round\b",
    "an interval without 0": r"\binterval (holds|leaves out) (0|zero)\b",
}
"""The constructions of the guide's last table, as patterns."""
WORDS = (
    r"\bin silence\b|\bafresh\b|\bof its own\b|\bmend(s|ed|ing)?\b|\bgoes on\b|\bso many\b|\bas it has it\b|\bbeside\b"
    r"|\bthat ships?\b|\bon the picture\b|\bturned round\b|\bnear to\b|\bof which are\b|\b[Ww]hoever\b"
)
"""Words that read translated, which the pages for users do without."""
FOR_USERS = sorted(
    {
        ROOT / "README.md",
        *(page for part in ("how-to", "tutorials", "concepts") for page in ROOT.glob(f"docs/{part}/*.md")),
        *(
            ROOT / "docs" / "reference" / f"{name}.md"
            for name in ("python", "tables", "question-and-chat-files", "glossary")
        ),
    }
    - {ROOT / "docs" / "concepts" / "architecture.md"}
)
PAGES = sorted({*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")} - {GUIDE, ROOT / "CHANGELOG.md"})


def strings_of(text):
    """The strings of a module, docstrings too, with adjacent parts and line ends joined; 7 for a value in them."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.JoinedStr):
            parts = [part.value if isinstance(part, ast.Constant) else "7" for part in node.values]
            yield " ".join("".join(parts).split())
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield " ".join(node.value.split())


def faults(name, texts):
    found = {phrase for phrase, pattern in PHRASES.items() for text in texts if re.search(pattern, text)}
    return {(name, phrase) for phrase in found}


@pytest.mark.integration
def test_strings_of_the_package_are_in_plain_english():
    found = set()
    for path in sorted((ROOT / "src" / "transect").rglob("*.py")):
        found |= faults(path.relative_to(ROOT).as_posix(), list(strings_of(path.read_text())))
    for path in sorted((ROOT / "src" / "transect").rglob("*.html")):
        found |= faults(path.relative_to(ROOT).as_posix(), [" ".join(path.read_text().split())])
    assert sorted(found) == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_pages_are_in_plain_english(page):
    text = " ".join(re.sub(r"```text\n.*?```", "", page.read_text(), flags=re.S).split())
    assert faults(page.name, [text]) == set()


@pytest.mark.parametrize("page", FOR_USERS, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_pages_for_users_have_no_word_that_reads_translated(page):
    text = re.sub(r"```.*?```|`[^`\n]*`", "", page.read_text(), flags=re.S)
    assert [found[0] for found in re.finditer(WORDS, text)] == []


def test_the_site_has_few_pages_and_words_for_users():
    """But for what is generated: the command line, kinds of target, question files, and every Python name."""
    assert len(FOR_USERS) <= 43
    assert sum(len(page.read_text().split()) for page in FOR_USERS) < 44_000


def test_every_phrase_stands_in_the_guide():
    """The table of the guide and the patterns are one list: a row is caught by a pattern."""
    rows = re.findall(r"^\| ([^|]+) \| [^|]+ \|$", GUIDE.read_text().split("## Now and better")[1], re.M)[2:]
    assert len(rows) > 20
    assert [row for row in rows if not faults("", [row])] == []
