"""Tiny open models with random weights, saved as `save_pretrained` saves them, each with its processor."""

import json

import numpy as np
import pytest

SIDE = 32
SMALL = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2}
LETTERS = [*"abcdefghijklmnopqrstuvwxyz,?.'"]
WORDS = ["<|startoftext|>", "<|endoftext|>", *LETTERS, *(f"{one}</w>" for one in LETTERS)]


def library():
    """Transformers, without its bars."""
    transformers = pytest.importorskip("transformers")
    transformers.utils.logging.disable_progress_bar()
    import torch

    torch.manual_seed(0)
    return transformers


def photographs(n=3, height=480, width=640, seed=0):
    """Pictures of a photograph's size: large soft patches of color, so that they are told apart after resizing."""
    from PIL import Image

    patches = np.random.default_rng(seed).integers(0, 256, (n, 6, 8, 3), dtype=np.uint8)
    resized = [Image.fromarray(one).resize((width, height), Image.Resampling.BICUBIC) for one in patches]
    return np.stack([np.asarray(one) for one in resized])


def pictures(pixels):
    from PIL import Image

    return [Image.fromarray(one) for one in pixels]


def named(labels):
    return {"id2label": dict(enumerate(labels)), "label2id": {label: k for k, label in enumerate(labels)}}


def vit_classifier(folder, labels, **settings):
    """A vision transformer with a head."""
    transformers = library()
    config = transformers.ViTConfig(
        **SMALL, image_size=SIDE, patch_size=8, initializer_range=0.5, **named(labels), **settings
    )
    transformers.ViTForImageClassification(config).save_pretrained(folder)
    transformers.ViTImageProcessorPil(size={"height": SIDE, "width": SIDE}).save_pretrained(folder)
    return folder


def vit(folder):
    """A vision transformer without a head, with its pooler."""
    transformers = library()
    config = transformers.ViTConfig(**SMALL, image_size=SIDE, patch_size=8, initializer_range=0.5)
    transformers.ViTModel(config).save_pretrained(folder)
    transformers.ViTImageProcessorPil(size={"height": SIDE, "width": SIDE}).save_pretrained(folder)
    return folder


def dinov2(folder):
    """DINOv2, with the processor that its authors saved: the shorter side resized, then a central crop."""
    transformers = library()
    small = {name: value for name, value in SMALL.items() if name != "intermediate_size"}
    config = transformers.Dinov2Config(**small, image_size=SIDE, patch_size=8, initializer_range=0.5)
    transformers.Dinov2Model(config).save_pretrained(folder)
    size = {"size": {"shortest_edge": 40}, "crop_size": {"height": SIDE, "width": SIDE}}
    transformers.BitImageProcessorPil(**size).save_pretrained(folder)
    return folder


def _tokens(folder, **special):
    """CLIP's tokenizer of single letters."""
    transformers = library()
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "vocab.json").write_text(json.dumps({word: k for k, word in enumerate(WORDS)}))
    (folder / "merges.txt").write_text("#version: 0.2\n")
    made = transformers.CLIPTokenizer(str(folder / "vocab.json"), str(folder / "merges.txt"), **special)
    made.save_pretrained(folder)


def clip(folder):
    """A CLIP; its weights are large enough that texts and images are told apart."""
    transformers = library()
    text = {**SMALL, "vocab_size": len(WORDS), "bos_token_id": 0, "eos_token_id": 1, "max_position_embeddings": 77}
    vision = {**SMALL, "image_size": SIDE, "patch_size": 8}
    config = transformers.CLIPConfig(text_config=text, vision_config=vision, projection_dim=8)
    _larger(transformers.CLIPModel(config)).save_pretrained(folder)
    size = {"size": {"shortest_edge": SIDE}, "crop_size": {"height": SIDE, "width": SIDE}}
    transformers.CLIPImageProcessorPil(**size).save_pretrained(folder)
    _tokens(folder)
    return folder


def siglip(folder):
    """A SigLIP, with a tokenizer that needs no further library."""
    transformers = library()
    text = {**SMALL, "vocab_size": len(WORDS), "max_position_embeddings": 64, "projection_size": 16}
    vision = {**SMALL, "image_size": SIDE, "patch_size": 8}
    config = transformers.SiglipConfig(text_config=text, vision_config=vision)
    _larger(transformers.SiglipModel(config)).save_pretrained(folder)
    transformers.SiglipImageProcessorPil(size={"height": SIDE, "width": SIDE}).save_pretrained(folder)
    _tokens(folder)
    return folder


def yolos(folder, labels=("face", "hand")):
    """A YOLOS detector."""
    transformers = library()
    config = transformers.YolosConfig(
        **SMALL, image_size=[48, 64], patch_size=16, num_detection_tokens=12, initializer_range=0.5, **named(labels)
    )
    transformers.YolosForObjectDetection(config).save_pretrained(folder)
    transformers.YolosImageProcessorPil(size={"shortest_edge": 48, "longest_edge": 64}).save_pretrained(folder)
    return folder


def detr(folder, labels=("face", "hand")):
    """A DETR detector with a small ResNet, as its body needs neither timm nor a download."""
    transformers = library()
    body = transformers.ResNetConfig(
        embedding_size=8, hidden_sizes=[8, 8, 8, 8], depths=[1, 1, 1, 1], layer_type="basic", out_features=["stage4"]
    )
    config = transformers.DetrConfig(
        backbone_config=body, d_model=16, encoder_layers=1, decoder_layers=1, encoder_ffn_dim=16, decoder_ffn_dim=16,
        encoder_attention_heads=2, decoder_attention_heads=2, num_queries=12, init_std=0.5, **named(labels),
    )  # fmt: skip
    transformers.DetrForObjectDetection(config).save_pretrained(folder)
    transformers.DetrImageProcessorPil(size={"shortest_edge": 64, "longest_edge": 96}).save_pretrained(folder)
    return folder


def _larger(network):
    import torch

    with torch.no_grad():
        for name, weights in network.named_parameters():
            if weights.dim() > 1 and "position" not in name:
                weights.mul_(8)
    return network
