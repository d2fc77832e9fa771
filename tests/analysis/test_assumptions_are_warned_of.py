"""A warning of what a model does not state: its preprocessing."""

import auditing
import page_files

SMALL = {"vary": ["glasses=0,1"], "subjects": 4, "image_size": 32, "control": False, "quiet": True}


def test_preprocessing_that_a_model_does_not_state(tmp_path):
    page_files.onnx_model(str(tmp_path / "model.onnx"))
    result = auditing.audit(str(tmp_path / "model.onnx"), out=tmp_path / "run", **SMALL)
    (line,) = [line for line in result.results["warnings"] if "assumed" in line]
    assert line.startswith("model.onnx: the ")
    assert line.endswith("with --preprocess.")
