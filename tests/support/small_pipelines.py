"""Diffusion pipelines of a few thousand random weights, saved as people have them: folders of safetensors."""

import json

import torch

WORDS = ["a", "photo", "of", "person", "with", "without", "glasses", "young", "old", "smiling", "make", "the", "wear"]
LETTERS = "abcdefghijklmnopqrstuvwxyz"


def tokenizer(folder):
    """Words of letters alone: no merges but those that join a word of the list."""
    from transformers import CLIPTokenizer

    marks = ["<|startoftext|>", "<|endoftext|>"]
    pieces = [*LETTERS, *(f"{letter}</w>" for letter in LETTERS)]
    merges, known = [], set(pieces)
    for word in WORDS:
        left = word[0] if len(word) > 1 else f"{word}</w>"
        for place, letter in enumerate(word[1:], start=1):
            right = letter if place < len(word) - 1 else f"{letter}</w>"
            if left + right not in known:
                merges.append(f"{left} {right}")
                known.add(left + right)
            left += right
    vocabulary = {piece: number for number, piece in enumerate([*sorted(known), *marks])}
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "vocab.json").write_text(json.dumps(vocabulary))
    (folder / "merges.txt").write_text("#version: 0.2\n" + "\n".join(merges) + "\n")
    made = CLIPTokenizer.from_pretrained(folder)
    made.model_max_length = 16
    return made


def parts(folder, channels=4):
    """Everything of a pipeline; channels: what the denoiser sees (8 where it sees the picture to edit too)."""
    from diffusers import AutoencoderKL, DDIMScheduler, UNet2DConditionModel
    from transformers import CLIPTextConfig, CLIPTextModel

    torch.manual_seed(0)
    words = tokenizer(folder)
    text = CLIPTextConfig(
        vocab_size=len(words), hidden_size=16, intermediate_size=24, num_hidden_layers=1, num_attention_heads=2,
        max_position_embeddings=16, bos_token_id=len(words) - 2, eos_token_id=len(words) - 1, pad_token_id=len(words) - 1,
    )  # fmt: skip
    denoiser = UNet2DConditionModel(
        sample_size=8, in_channels=channels, out_channels=4, layers_per_block=1, block_out_channels=(8, 16),
        norm_num_groups=4, down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"), cross_attention_dim=16,
        up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"), attention_head_dim=4,
    )  # fmt: skip
    pictures = AutoencoderKL(
        in_channels=3, out_channels=3, latent_channels=4, block_out_channels=(8, 8), norm_num_groups=4,
        down_block_types=("DownEncoderBlock2D",) * 2, up_block_types=("UpDecoderBlock2D",) * 2, sample_size=16,
    )  # fmt: skip
    return {
        "unet": denoiser,
        "vae": pictures,
        "text_encoder": CLIPTextModel(text),
        "tokenizer": words,
        "scheduler": DDIMScheduler(num_train_timesteps=50, clip_sample=False, set_alpha_to_one=False, steps_offset=1),
        "safety_checker": None,
        "feature_extractor": None,
    }


def save_text(folder):
    """A text-prompted pipeline of 16 x 16 pixels."""
    from diffusers import StableDiffusionPipeline

    made = StableDiffusionPipeline(**parts(folder.parent / "words"), requires_safety_checker=False)
    made.save_pretrained(folder, safe_serialization=True)
    return folder


def save_instruct(folder):
    """A pipeline that edits by instruction."""
    from diffusers import StableDiffusionInstructPix2PixPipeline

    with_picture = parts(folder.parent / "words", channels=8)
    made = StableDiffusionInstructPix2PixPipeline(**with_picture, requires_safety_checker=False)
    made.save_pretrained(folder, safe_serialization=True)
    return folder


def save_inpaint(folder):
    """A pipeline that paints inside a mask: its denoiser sees the noise, the mask and the picture without what is in it."""
    from diffusers import StableDiffusionInpaintPipeline

    with_mask = parts(folder.parent / "words", channels=9)
    made = StableDiffusionInpaintPipeline(**with_mask, requires_safety_checker=False)
    made.save_pretrained(folder, safe_serialization=True)
    return folder
