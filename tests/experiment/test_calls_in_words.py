"""How many calls are announced: one for each text that a question sends, and one for each image of other targets."""

from audited import brightness
from stub_speaker import StubSpeaker

from transect.experiment.costs import calls_of
from transect.targets import as_target
from transect.targets.words.asked import ask
from transect.targets.words.questions import Kind, WordQuestion
from transect.targets.words.speakers import shared_object


def test_calls_multiply_wordings():
    """Two paraphrases send two texts about an image, a third target none but the image: 10 × (2 + 1)."""
    question = WordQuestion("smile", Kind.YES_NO, ("Smiling?", "Is there a smile?"))
    asked = ask(shared_object(StubSpeaker()), question)
    assert calls_of([asked, as_target(brightness)], 10) == 30
