"""What a report states where the truth of a detector is not that every image shows a face."""

from small_run import small_spec

from transect.analysis.reporting import truth_notes
from transect.records import Design, Task
from transect.runs.spec import StatedTruth, TargetDescription, TargetEntry

FEMININE = StatedTruth("feminine>0.5", "feminine", ">", 0.5)


def spec(task, truth):
    targets = (TargetEntry("faces", "faces", task, ("error",), TargetDescription({}), truth),)
    return small_spec(Design({"smile": (0.0, 1.0)}, 3), targets=targets)


def test_a_detectors_errors_against_another_truth_than_a_face_are_explained():
    (note,) = truth_notes(spec(Task.DETECTION, FEMININE))
    assert note.startswith("The truth of faces is feminine>0.5. An error is a detection when the truth is no")
    assert note.endswith("for a face detector give --truth 'faces=face'.")
