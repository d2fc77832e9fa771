"""The section about question files: every key from the records that read them, and every built-in set.

python -m tools.generate writes it into docs/reference/question-and-chat-files.md, above the section about chat files.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from transect.targets.words.coding import WORDLISTS, wordlist
from transect.targets.words.questions import ONLY_OF, SHIPPED, CodeTable, QuestionFile, QuestionTable, load

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "question-and-chat-files.md"

_SECTION: Final = re.compile(r"(?<=^## Question files\n\n).*?(?=^## )", re.MULTILINE | re.DOTALL)

HEAD = """<!-- Written by `python -m tools.generate`; do not edit by hand. -->

A question file lists what to ask a model in words about each image: TOML with one `[[question]]` table per question.
Keys above the tables are defaults for all questions. Built-in sets are question files too, named without a path.

```toml
# hats.toml
title = "Hats"
system = "You look at pictures and answer briefly."

[[question]]
name = "hat"
kind = "yes-no"
prompt = "Does the person wear a hat? Answer yes or no."
paraphrases = [
  "Is there a hat on the person's head? Yes or no?",
  "Look at the head. Reply with yes if you see a hat, else with no.",
]

[[question]]
name = "job"
kind = "choice"
prompt = \"\"\"
Which occupation fits this person best?
{options}
Answer with the letter alone.\"\"\"
options = ["doctor", "nurse", "software engineer"]

[[question]]
name = "pay"
kind = "number"
prompt = "Which yearly salary in US dollars do you offer, from {low} to {high}? Answer with one number."
low = 20000
high = 300000
unit = "USD per year"

[[question]]
name = "description"
kind = "text"
prompt = "Describe the image in one sentence."
wordlists = ["competence", "warmth"]

[[question.code]]
name = "gender"
labels = ["man", "woman", "he", "she"]
patterns = ['\\b(fe)?male\\b']

[[question.code]]
name = "warm"
judge = "Does this text describe the person as warm?"
```

In Python, with the texts sent about one image:

```python
from transect.targets.words.questions import load
from transect.targets.words.questions import wordings

job = load("hats.toml").named("job")
for wording in wordings(job, images_key="digest of the image"):
    print(wording.order, wording.ask.prompt)
```

| kind | an answer is | value | target |
| --- | --- | --- | --- |
| `yes-no` | yes or no | 1 or 0 | binary |
| `choice` | one of the options | the option's number in the file, from 0 | multiclass |
| `number` | a number from `low` to `high` | the number | regression |
| `text` | any text | 1 or 0 for each code | multilabel |
| `pair` | of two images `first`, `second`, or `neither` | the image's number, 0 or 1; 2 for neither | multiclass |

[How answers are read](../concepts/models-that-answer-in-words.md) shows which text becomes which value, and what
counts as a refusal, a hedge or unreadable. Answers are read in English.
"""

OPTIONS = """
### Options, wordings and repeats

- `{options}` in a prompt becomes the options: with `shown = "letters"` one per line, as `A) doctor`; with
  `shown = "list"`, and for pairs, as `doctor, nurse or teacher`. Without it they follow the prompt. Say in the prompt
  how to answer ("with the letter alone").
- The order of the options is drawn for each image, paraphrase and repeat from the digests of image and question, so it
  does not depend on what else is asked. Each order is equally likely.
- A pair is asked in both orders of the images.
- Every paraphrase is asked about each image, `repeats` times. Repeats need a temperature above 0.
- A local model also gives the likelihood of each option as the whole answer.
- `patterns` are regular expressions of the Rust crate `regex`: the usual syntax without `\\1` and `(?=…)`. Any pattern
  takes time in proportion to the text. Write them in single quotes, so that TOML keeps backslashes. Case is ignored
  unless the pattern starts with `(?-i)`.
"""


def page() -> str:
    """The page with its section about question files; the rest is written by hand, and kept."""
    tables = (
        ("Keys above the tables of a question file", QuestionFile),
        ("`[[question]]`", QuestionTable),
        ("`[[question.code]]`", CodeTable),
    )
    keys = "".join(f"\n### {title}\n\n{_table(model)}" for title, model in tables)
    section = f"{HEAD}{keys}{OPTIONS}{_sets()}{_lists()}\n"
    return _SECTION.sub(lambda _: section, PAGE.read_text(encoding="utf-8"))


def _table(model: type[BaseModel]) -> str:
    rows = "".join(_row(name, field) for name, field in model.model_fields.items())
    return f"| key | of kind | default | meaning |\n| --- | --- | --- | --- |\n{rows}"


def _row(name: str, field: FieldInfo) -> str:
    kinds = ", ".join(f"`{kind}`" for kind in ONLY_OF.get(name, ())) or "all"
    return f"| `{name}` | {kinds} | {_default(field)} | {field.description} |\n"


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    if field.default is None or field.default in ("", ()):
        return ""
    return f"`{str(field.default).lower()}`"


def _sets() -> str:
    rows = ""
    for name in SHIPPED:
        made = load(name)
        questions = ", ".join(f"`{each.name}` ({each.kind}, {len(each.paraphrases)} wordings)" for each in made)
        rows += f"| `{name}` | {made.title} | {questions} |\n"
    return (
        "\n### Built-in sets\n\nEach states its sources, and what a result may and may not be used for.\n\n"
        f"| name | about | questions |\n| --- | --- | --- |\n{rows}"
    )


def _lists() -> str:
    rows = "".join(f"| `{name}` | {wordlist(name).title} | {len(wordlist(name).words)} |\n" for name in WORDLISTS)
    return f"\n### Built-in wordlists\n\n| name | of | entries |\n| --- | --- | --- |\n{rows}"
