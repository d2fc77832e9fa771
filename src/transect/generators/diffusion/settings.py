"""The TOML file of a diffusion generator: which pipeline, and which words stand for an attribute's levels."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from transect.errors import BadInput
from transect.records import Attribute, Kind
from transect.runs import toml_files

_SLOT: Final = re.compile(r"\{([^{}]*)\}")
SMALLEST, LARGEST = 8, 4096
AS_IT_IS: Final = "as it is"
"""The first level of what is painted: the photograph itself."""
_MASKS: Final = '"ellipse:0.5,0.5,0.3,0.4" or "folder:masks"'


class AttributeSettings(BaseModel):
    """One attribute. levels: what each level is called, and the words that stand for it in the prompt (mode text).

    prompt: what an edit asks for; strongest: the level at which the edit is at its full strength (modes edit and
    instruct), as a share of noise or of guidance. In mode inpaint levels are prompts, beside the level "as it is";
    mask: where they are painted, if not where the file says; reads: what a model that reads the attribute should read
    at a level, in that model's unit.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)
    levels: dict[str, str] = Field(default_factory=dict)
    prompt: str = ""
    strongest: float = Field(default=0.8, gt=0, le=1)
    mask: str = ""
    reads: dict[str, float] = Field(default_factory=dict)
    meaning: str = ""

    @property
    def readings(self) -> dict[float, float]:
        """By level of mode inpaint, as its number: what a model should read."""
        return {float(place): self.reads[name] for place, name in enumerate(self.levels, 1) if name in self.reads}


class Settings(BaseModel):
    """A diffusion generator.

    pipeline: a folder as diffusers saves it, next to this file. mode: text (prompts), edit (image to image, from noised
    photographs), instruct (editing by instruction) or inpaint (painting inside a mask). prompt: with a slot {name} for
    each attribute of mode text. guidance: how strongly the prompt pulls; image_guidance: how strongly the photograph
    does (instruct). image_size: default the pipeline's own. source: READER:PATH of the photographs to edit. mask: where
    is painted, as `masks.open_mask` reads it; strength: share of noise inside it (inpaint). half: half precision, on a
    GPU.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)
    pipeline: str
    mode: Literal["text", "edit", "instruct", "inpaint"] = "text"
    prompt: str = ""
    negative_prompt: str = ""
    steps: int = Field(default=30, ge=1, le=1000)
    guidance: float = Field(default=7.5, ge=1)
    image_guidance: float = Field(default=1.5, ge=1)
    image_size: int | None = Field(default=None, ge=SMALLEST, le=LARGEST)
    source: str = ""
    mask: str = ""
    strength: float = Field(default=1.0, gt=0, le=1)
    half: bool = False
    attributes: dict[str, AttributeSettings] = Field(min_length=1)

    @property
    def shown(self) -> tuple[Attribute, ...]:
        """The attributes as audits know them: levels of the prompt, or strength of the edit from 0 (unchanged)."""
        return tuple(_attribute(name, entry, self) for name, entry in self.attributes.items())

    def described(self) -> dict[str, object]:
        """The settings for a run's spec: without the masks' texts, which can hold paths, and keys of another mode."""
        described = self.model_dump(exclude={"mask"})
        own = {"mask", "reads"} if self.mode != "inpaint" else {"mask"}
        described["attributes"] = {name: entry.model_dump(exclude=own) for name, entry in self.attributes.items()}
        if self.mode != "inpaint":
            del described["strength"]
        return described

    def prompt_of(self, values: dict[str, float]) -> str:
        """The prompt with the words of each attribute's level (mode text)."""
        words = {name: list(entry.levels.values())[int(values[name])] for name, entry in self.attributes.items()}
        return " ".join(_SLOT.sub(lambda slot: words[slot[1].strip()], self.prompt).split())

    def every_prompt(self) -> list[str]:
        """Each possible prompt: every level of each attribute, the others at their first; or every edit."""
        if self.mode == "inpaint":
            painted = [prompt for entry in self.attributes.values() for prompt in entry.levels.values()]
            return [*painted, self.negative_prompt]
        if self.mode != "text":
            return [entry.prompt for entry in self.attributes.values()]
        first = dict.fromkeys(self.attributes, 0.0)
        prompts = [
            self.prompt_of({**first, name: float(level)})
            for name, entry in self.attributes.items()
            for level in range(len(entry.levels))
        ]
        return [*prompts, self.negative_prompt]


def read_settings(path: str | Path) -> Settings:
    """The settings of a TOML file. Raises BadInput naming file and key."""
    text = toml_files.read_text(Path(path))
    settings = toml_files.checked(Settings, toml_files.parse(text, str(path)), str(path), text)
    if fault := _fault(settings):
        raise BadInput(f"{path}: {fault}")
    return settings


def _fault(settings: Settings) -> str:
    """What is contradictory, naming the key; "" where nothing is."""
    if settings.mode == "text":
        return _text_fault(settings)
    if not settings.source:
        return f'source: no READER:PATH of the photographs to {settings.mode}; add source = "folder:faces"'
    if settings.mode == "inpaint":
        return _inpaint_fault(settings)
    for name, entry in settings.attributes.items():
        if not entry.prompt.strip() or entry.levels:
            return f"attributes.{name}: expected a prompt and no levels in mode {settings.mode}; describe the edit"
    return _mask_fault(settings)


def _inpaint_fault(settings: Settings) -> str:
    least = 1 / settings.steps
    if settings.strength < least:
        return f"strength: expected at least {least:.3g}, one of the steps, got {settings.strength:g}; raise it"
    for name, entry in settings.attributes.items():
        if not entry.levels or entry.prompt or not all(prompt.strip() for prompt in entry.levels.values()):
            return f"attributes.{name}: expected levels with a prompt each in mode inpaint, and no prompt"
        if AS_IT_IS in entry.levels:
            return f"attributes.{name}: every photograph has the level {AS_IT_IS!r}; remove it from the levels"
        if len(set(entry.levels.values())) < len(entry.levels):
            return f"attributes.{name}: expected different words for each level, got the same twice"
        if stray := next((level for level in entry.reads if level not in entry.levels), None):
            return f"attributes.{name}.reads: expected levels {', '.join(entry.levels)}, got {stray}"
        if not (entry.mask or settings.mask):
            return f"attributes.{name}: mode inpaint needs a mask; add mask = {_MASKS}"
    return ""


def _mask_fault(settings: Settings) -> str:
    """A mask where nothing is painted would be ignored without a word."""
    if settings.mask or any(entry.mask or entry.reads for entry in settings.attributes.values()):
        return f"mask: mode {settings.mode} redraws the whole picture; remove mask, or use mode inpaint"
    return ""


def _text_fault(settings: Settings) -> str:
    slots = [slot.strip() for slot in _SLOT.findall(settings.prompt)]
    if stray := next((slot for slot in slots if slot not in settings.attributes), None):
        return f"prompt: expected slots {_names(settings)}, got {{{stray}}}; add [attributes.{stray}] or remove it"
    if "" in slots or re.search(r"[{}]", _SLOT.sub("", settings.prompt)):
        return f"prompt: expected slots {_names(settings)}, got a brace without a name"
    for name, entry in settings.attributes.items():
        if name not in slots:
            return f"prompt: no slot {{{name}}} for [attributes.{name}]; add it"
        if len(entry.levels) < 2 or entry.prompt:
            return f"attributes.{name}: expected two levels or more and no prompt in mode text; name levels and words"
        if len(set(entry.levels.values())) < len(entry.levels):
            return f"attributes.{name}: expected different words for each level, got the same twice"
    if settings.source:
        return "source: mode text makes its own images; remove source, or change the mode"
    return _mask_fault(settings)


def _names(settings: Settings) -> str:
    return ", ".join(f"{{{name}}}" for name in settings.attributes)


def _attribute(name: str, entry: AttributeSettings, settings: Settings) -> Attribute:
    if settings.mode in ("text", "inpaint"):
        painted = settings.mode == "inpaint"
        levels = (AS_IT_IS, *entry.levels) if painted else tuple(entry.levels)
        words = " / ".join(words or "nothing" for words in entry.levels.values())
        meaning = entry.meaning or f"{'painted inside a mask' if painted else 'prompted'}: {words}"
        kind: Kind = "binary" if len(levels) == 2 else "categorical"
        return Attribute(name, kind, meaning, levels=levels, source="the prompt")
    unit = "share of noise" if settings.mode == "edit" else "share of guidance"
    meaning = entry.meaning or f"edited: {entry.prompt}"
    return Attribute(name, "continuous", meaning, unit, 0.0, entry.strongest, source="the edit's prompt")
