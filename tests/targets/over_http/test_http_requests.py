"""What is sent, and how answers of other shapes are read: bodies, presets, tasks."""

import base64
import io
import json

import numpy as np
import pytest
from hostile_server import picture, pictures, serving
from numpy.testing import assert_allclose
from PIL import Image

from transect.records import Images
from transect.targets.http.target import load

HEAD = 'task = "{task}"\n{top}\n[request]\nurl = "{url}"\n{request}\n[response]\n{response}\n'


def ask(folder, answer, *, task="binary", top="", request='body = "bytes"', response='score = "score"', images=None):
    """The predictions of one file on some images, and the requests that the server saw."""
    with serving(lambda number, body: {"body": answer(body) if callable(answer) else answer}) as server:
        path = folder / "other.toml"
        path.write_text(HEAD.format(task=task, top=top, url=server.url, request=request, response=response))
        target = load(path)
        try:
            made = target.predict(images or Images(pictures(1)))
        finally:
            target.close()
    return made, server.requests


def pixels_of(content):
    with Image.open(io.BytesIO(content)) as image:
        return np.asarray(image)


class TestBodies:
    def test_json_with_placeholders(self, tmp_path):
        template = (
            """json = { a = "{image_base64}", b = ["{width}", "{height} px"], c = 1, d = "data:x,{image_base64}" }"""
        )
        wide = np.zeros((1, 4, 6, 3), np.uint8)
        _, ((_, _, body),) = ask(tmp_path, {"score": 1}, request=template, images=Images(wide))
        sent = json.loads(body)
        assert (sent["b"], sent["c"], sent["d"]) == ([6, "4 px"], 1, "data:x," + sent["a"])
        assert np.array_equal(pixels_of(base64.b64decode(sent["a"])), wide[0])

    def test_a_form(self, tmp_path):
        request = 'body = "multipart"\nfield = "photo"\nfields = { model = "v2" }\nimage_format = "jpeg"'
        _, ((_, headers, body),) = ask(tmp_path, {"score": 1}, request=request)
        assert headers["Content-Type"].startswith("multipart/form-data; boundary=")
        assert b'name="photo"; filename="image.jpeg"\r\nContent-Type: image/jpeg\r\n\r\n\xff\xd8' in body
        assert b'name="model"\r\n\r\nv2\r\n' in body

    def test_an_address_on_loopback_while_it_is_asked_about(self, tmp_path):
        import httpx2

        fetched = []

        def answer(body):
            address = json.loads(body)["url"]
            with httpx2.Client(trust_env=False) as client:
                reply = client.get(address)
                fetched.append((address, reply.headers["content-type"], reply.content))
                assert client.get(address.rsplit("/", 1)[0] + "/other").status_code == 404
            return {"score": 1}

        made, _ = ask(tmp_path, answer, request='json = { url = "{image_url}" }')
        ((address, kind, content),) = fetched
        assert made.failures == ("",)
        assert (kind, np.array_equal(pixels_of(content), picture(0))) == ("image/png", True)
        with httpx2.Client(trust_env=False) as client, pytest.raises(httpx2.ConnectError):
            client.get(address)

    def test_query_and_idempotency_key(self, tmp_path):
        request = """body = "bytes"\nquery = { v = "2" }\nheaders = { Idempotency-Key = "{idempotency_key}" }"""
        _, requests = ask(tmp_path, {"score": 1}, request=request, images=Images(pictures(2)))
        assert {path for path, _, _ in requests} == {"/detect?v=2"}
        keys = {headers["Idempotency-Key"] for _, headers, _ in requests}
        assert [len(key) for key in keys] == [64, 64]


class TestTasks:
    def test_boxes_as_shares_with_percent(self, tmp_path):
        """A face over the right half of an 8x4 image: x from 4 to 8, y from 1 to 3; 90 % and 40 % with threshold .5."""
        faces = [
            {"at": {"l": 0.5, "t": 0.25, "w": 0.5, "h": 0.5}, "p": 90},
            {"at": {"l": 0, "t": 0, "w": 1, "h": 1}, "p": 40},
        ]
        response = """boxes = "faces"\nbox = "at.[l, t, w, h]"\nbox_format = "xywh"\nbox_units = "relative"
score = "p"\nscore_scale = 100"""
        wide = Images(np.zeros((1, 4, 8, 3), np.uint8))
        made, _ = ask(tmp_path, {"faces": faces}, task="detection", response=response, images=wide)
        assert_allclose(made.boxes[0], [[4, 1, 8, 3, 0.9]])
        assert made.scores.tolist() == [[0.9]]

    def test_no_face_is_an_answer_of_a_detector_and_a_failure_elsewhere(self, tmp_path):
        answer, path = {"error": "NO_FACE"}, """no_face = "error == 'NO_FACE'"\n"""
        made, _ = ask(tmp_path, answer, task="detection", response=path + 'boxes = "faces"')
        assert (made.failures, made.scores.tolist(), len(made.boxes[0])) == (("",), [[0.0]], 0)
        (tmp_path / "other.answers.sqlite").unlink()
        made, _ = ask(tmp_path, answer, response=path + 'score = "p"')
        assert made.failures == ("no face: as the answer says",)

    def test_refusals_are_outcomes_by_name(self, tmp_path):
        response = 'score = "p"\noutcomes = { unsafe = "flags.unsafe", refused = "policy" }'
        made, _ = ask(tmp_path, {"p": 0.5, "flags": {"unsafe": True}}, response=response)
        assert made.failures == ("unsafe: as the answer says",)

    @pytest.mark.parametrize(
        "answer",
        [
            {"e": [0.25, 0.75]},
            {"e": {"sad": 0.75, "happy": 0.25, "other": 0}},
            {"e": [{"label": "sad", "score": 0.75}, {"label": "happy", "score": 0.25}]},
        ],
    )
    def test_classes_in_three_shapes(self, tmp_path, answer):
        response = 'scores = "e"\nscore = "score"'
        top = 'labels = ["happy", "sad"]\npositive = "sad"'
        made, _ = ask(tmp_path, answer, task="multiclass", top=top, response=response)
        assert (made.scores.tolist(), made.labels, made.failures) == ([[0.25, 0.75]], ("happy", "sad"), ("",))


class TestPresets:
    def test_open_inference_protocol(self, tmp_path):
        """A 4x4 image of value 51 becomes 51/255 = 0.2 in [1, 3, 4, 4]; logits 0 and 0 are half and half."""
        answer = {"outputs": [{"name": "o", "shape": [1, 2], "datatype": "FP32", "data": [0.0, 0.0]}]}
        top = 'preset = "kserve-v2"\nlabels = ["a", "b"]\noutput = "logit"'
        images = Images(picture(51)[None])
        made, ((_, _, body),) = ask(
            tmp_path, answer, task="multiclass", top=top, request="", response="", images=images
        )
        (tensor,) = json.loads(body)["inputs"]
        assert (tensor["shape"], tensor["datatype"], len(tensor["data"])) == ([1, 3, 4, 4], "FP32", 48)
        assert_allclose(tensor["data"], 0.2, rtol=1e-6)
        assert made.scores.tolist() == [[0.5, 0.5]]

    def test_rekognition(self, tmp_path, monkeypatch):
        """boto3 itself, against a server that speaks as Rekognition does."""
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIAEXAMPLEEXAMPLE")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "example-secret-access-key")
        answer = {
            "FaceDetails": [
                {"BoundingBox": {"Left": 0.25, "Top": 0.5, "Width": 0.5, "Height": 0.5}, "Confidence": 80.0}
            ]
        }
        request = 'region = "eu-west-1"'
        top = 'preset = "rekognition-detect-faces"'
        made, ((_, headers, body),) = ask(tmp_path, answer, task="detection", top=top, request=request, response="")
        assert headers["X-Amz-Target"] == "RekognitionService.DetectFaces"
        assert np.array_equal(pixels_of(base64.b64decode(json.loads(body)["Image"]["Bytes"])), picture(0))
        # Shares of a 4x4 image: x from 1 to 3, y from 2 to 4.
        assert_allclose(made.boxes[0], [[1, 2, 3, 4, 0.8]])
