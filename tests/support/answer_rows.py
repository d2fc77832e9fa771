"""What a table of answers says, as texts to compare."""

from transect.annotation.exchange.outgoing import answers_table

FULL = ("id", "second", "question", "answer", "follow_up")


def plain(project, *columns):
    names = columns or ("id", "second", "question", "rater", "answer", "level", "seconds", "given")
    return sorted(map(str, answers_table(project).select(names).to_pylist()))
