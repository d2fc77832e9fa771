"""What is audited? A target answers about images and is never changed by an audit.

A target is named by a spec (`opencv:haarcascade_frontalface_default`, `torch:module:attribute@weights.safetensors`,
`onnx:file.onnx`, `module:attribute` ...; `resolve` lists them all) or made from a Python object (`as_target`).
The names here are loaded when they are first used, so that a table of targets costs no import of numpy or torch.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
