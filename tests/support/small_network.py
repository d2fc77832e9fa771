"""A small StyleGAN2 with random weights, and files of it in every layout that people have."""

import math
import pickle
import sys
import types
from collections import OrderedDict

import numpy as np
import torch

from transect.generators.stylegan2.network import Configuration, Network, make_filter

SMALL = Configuration(z_dim=8, w_dim=8, classes=0, mapping_layers=2, channels={4: 6, 8: 4, 16: 4})


def weights(shape=SMALL, seed=0):
    """Tensors by official name; noise strengths and averages are not zero, so that each counts."""
    torch.manual_seed(seed)
    tensors = {name: value.detach().clone() for name, value in Network(shape).state_dict().items()}
    for name, value in tensors.items():
        if name.endswith(("noise_strength", "bias", "w_avg")):
            tensors[name] = value + 0.3 * torch.randn(value.shape)
    return tensors


class EasyDict(dict):
    """What the official training script keeps options in; a dictionary whose keys are attributes too."""

    def __getattr__(self, name):
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None

    def __setattr__(self, name, value):
        self[name] = value


EasyDict.__module__ = "dnnlib.util"


class Persistent:
    """Pickles as an object of the official code does: by the name of a function that runs the source it holds."""

    def __init__(self, class_name, parts=(), parameters=(), buffers=(), **attributes):
        self.class_name = class_name
        self.state = {
            # As the official layers have them: gains from NumPy, and what the training script called the class with.
            "weight_gain": 1 / np.sqrt(512),
            "act_gain": np.sqrt(2),
            "_init_args": (),
            "_init_kwargs": EasyDict(w_dim=8, mapping_kwargs=EasyDict(num_layers=2)),
            "_backward_hooks": OrderedDict(),
            "_non_persistent_buffers_set": set(),
            "training": False,
            "_parameters": dict(parameters),
            "_buffers": dict(buffers),
            "_modules": dict(parts),
            **attributes,
        }

    def __reduce__(self):
        meta = {
            "type": "class",
            "version": 6,
            "module_src": "raise SystemExit('the source text was run')",
            "class_name": self.class_name,
            "state": self.state,
        }
        return sys.modules["torch_utils.persistence"]._reconstruct_persistent_obj, (meta,)


def install_official_names(monkeypatch):
    """Modules with the official names, as pickling looks them up. Reading must not need them."""
    package, module = types.ModuleType("torch_utils"), types.ModuleType("torch_utils.persistence")

    def _reconstruct_persistent_obj(meta):
        raise AssertionError("the official loader was called")

    _reconstruct_persistent_obj.__module__ = "torch_utils.persistence"
    _reconstruct_persistent_obj.__qualname__ = "_reconstruct_persistent_obj"
    module._reconstruct_persistent_obj = _reconstruct_persistent_obj
    library, utilities = types.ModuleType("dnnlib"), types.ModuleType("dnnlib.util")
    utilities.EasyDict = EasyDict
    monkeypatch.setitem(sys.modules, "dnnlib", library)
    monkeypatch.setitem(sys.modules, "dnnlib.util", utilities)
    monkeypatch.setitem(sys.modules, "torch_utils", package)
    monkeypatch.setitem(sys.modules, "torch_utils.persistence", module)


def as_persistent(tensors, class_name="Generator", clamp=None):
    """The tree of objects that an official network is."""
    here = {name: value for name, value in tensors.items() if "." not in name}
    below = {}
    for name, value in tensors.items():
        first, dot, rest = name.partition(".")
        if dot:
            below.setdefault(first, {})[rest] = value
    buffers = {name: value for name, value in here.items() if name in ("noise_const", "resample_filter", "w_avg")}
    parameters = {name: torch.nn.Parameter(value) for name, value in here.items() if name not in buffers}
    parts = {name: as_persistent(values, name, clamp) for name, values in below.items()}
    return Persistent(class_name, parts, parameters, buffers, conv_clamp=clamp, use_fp16=False)


def official_pickle(path, tensors, clamp=None, protocol=pickle.DEFAULT_PROTOCOL):
    """An official pickle; its functions must be installed."""
    network = as_persistent(tensors, clamp=clamp)
    options = EasyDict(class_name="training.dataset.ImageFolderDataset", path="faces.zip", resolution=16)
    content = {"G": network, "D": Persistent("Discriminator"), "G_ema": network, "training_set_kwargs": options}
    arrays = {"bands": np.ones((2, 3))} if protocol < 5 else {}  # from 5 on they are calls of another name
    augment = Persistent("AugmentPipe", buffers={"p": torch.zeros([])}, brightness=1.0, **arrays)
    path.write_bytes(pickle.dumps({**content, "augment_pipe": augment}, protocol=protocol))
    return path


def community(tensors, shape=SMALL):
    """The same weights in the names and shapes of the community port, whose code scales kernels itself."""
    made = {"input.input": tensors["synthesis.b4.const"][None]}
    for index in range(shape.mapping_layers):
        for part in ("weight", "bias"):
            made[f"style.{index + 1}.{part}"] = tensors[f"mapping.fc{index}.{part}"]
    places = [("conv1", "b4.conv1"), ("to_rgb1", "b4.torgb")]
    for index, size in enumerate(sorted(shape.channels)[1:]):
        places += [(f"convs.{2 * index}", f"b{size}.conv0"), (f"convs.{2 * index + 1}", f"b{size}.conv1")]
        places += [(f"to_rgbs.{index}", f"b{size}.torgb")]
    noisy = 0
    for ours, theirs in places:
        at = {
            name: tensors.get(f"synthesis.{theirs}.{name}")
            for name in ("weight", "bias", "affine.weight", "affine.bias", "noise_strength", "noise_const")
        }
        made[f"{ours}.conv.modulation.weight"], made[f"{ours}.conv.modulation.bias"] = (
            at["affine.weight"],
            at["affine.bias"],
        )
        if theirs.endswith("torgb"):
            made[f"{ours}.conv.weight"] = at["weight"][None]
            made[f"{ours}.bias"] = at["bias"].view(1, 3, 1, 1)
            continue
        # Their code multiplies each kernel by 1 / sqrt(its inputs); dividing here makes the networks the same.
        made[f"{ours}.conv.weight"] = at["weight"][None] * math.sqrt(at["weight"][0].numel())
        made[f"{ours}.activate.bias"] = at["bias"]
        made[f"{ours}.noise.weight"] = at["noise_strength"].reshape(1)
        made[f"noises.noise_{noisy}"] = at["noise_const"][None, None]
        noisy += 1
        if theirs.endswith("conv0"):
            made[f"{ours}.conv.blur.kernel"] = 4 * make_filter()
    return made
