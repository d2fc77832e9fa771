"""Tiny random vision-language models, built from configurations and saved as `save_pretrained` does, without a download.

They say nothing true. Their answers are made of a few short words, so that some of them can be read, and depend on the
image and on each word of the text. `tiny_vlm(folder)` is Llava; `ARCHITECTURES` has one function for each architecture.
"""

import functools
import shutil
import string
import tempfile
from pathlib import Path

ANSWERS = ("yes", "no", "A", "B", "C", "D", "1", "2", "3", "4", "5", "cannot", "</s>")
"""What the models say, of all that their tokenizers know."""
SPECIAL = (
    "<pad>",
    "<s>",
    "</s>",
    "<unk>",
    "<image>",
    "<fake_token_around_image>",
    "<global-img>",
    "<end_of_utterance>",
)
SPECIAL += ("<start_of_image>", "<end_of_image>", *(f"<row_{i}_col_{j}>" for i in (1, 2) for j in (1, 2)))
WORDS = "SYSTEM: USER: ASSISTANT: is the person in this picture photo smiling or not answer with a of one word please"
TEMPLATE = (
    "{% for m in messages %}{{ m['role'].upper() + ': ' }}"
    "{% if m['content'] is string %}{{ m['content'] + ' ' }}{% else %}"
    "{% for c in m['content'] %}{% if c['type'] == 'image' %}{{ IMAGE }}{% else %}{{ c['text'] + ' ' }}{% endif %}"
    "{% endfor %}{% endif %}{% endfor %}{% if add_generation_prompt %}{{ 'ASSISTANT: ' }}{% endif %}"
)
SIZE = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2}
LONGEST = 512


@functools.cache
def shared_vlm():
    """The folder of one `tiny_vlm`, built once for all tests of a process; do not write to it."""
    return tiny_vlm(_place() / "tinyvlm")


def tiny_vlm(folder, seed=0):
    """A Llava of 16 image tokens and 512 tokens of context in the folder; returns the folder."""
    transformers = _library()
    tokenizer = _tokenizer()
    vision = transformers.CLIPVisionConfig(**SIZE, image_size=56, patch_size=14)
    config = transformers.LlavaConfig(
        vision_config=vision,
        text_config=_llama(transformers, tokenizer),
        image_token_id=tokenizer.convert_tokens_to_ids("<image>"),
        vision_feature_select_strategy="default",
        vision_feature_layer=-1,
    )
    processor = transformers.LlavaProcessor(
        image_processor=transformers.CLIPImageProcessorPil(size={"shortest_edge": 56}, crop_size=56),
        tokenizer=tokenizer,
        patch_size=14,
        vision_feature_select_strategy="default",
        image_token="<image>",
        num_additional_image_tokens=1,
        chat_template=_template("<image> "),
    )
    return _saved(folder, transformers.LlavaForConditionalGeneration, config, processor, seed)


def tiny_paligemma(folder, seed=0):
    """A PaliGemma, which sees a prompt from both sides and counts positions from 1."""
    transformers = _library()
    images = transformers.SiglipImageProcessorPil(size={"height": 28, "width": 28}, image_seq_length=4)
    processor = transformers.PaliGemmaProcessor(images, _tokenizer(), chat_template=_template("<image>"))
    tokenizer = processor.tokenizer
    vision = transformers.SiglipVisionConfig(**SIZE, image_size=28, patch_size=14, vision_use_head=False)
    text = transformers.GemmaConfig(**_text(tokenizer), head_dim=16)
    config = transformers.PaliGemmaConfig(
        vision_config=vision,
        text_config=text,
        image_token_index=tokenizer.convert_tokens_to_ids("<image>"),
        projection_dim=32,
        hidden_size=32,
        vocab_size=len(tokenizer),
        tie_word_embeddings=False,
    )
    return _saved(folder, transformers.PaliGemmaForConditionalGeneration, config, processor, seed)


def tiny_idefics3(folder, seed=0):
    """An Idefics3, which cuts an image into as many tiles as it is large."""
    transformers = _library()
    tokenizer = _tokenizer()
    images = transformers.Idefics3ImageProcessorPil(size={"longest_edge": 56}, max_image_size={"longest_edge": 28})
    processor = transformers.Idefics3Processor(images, tokenizer, image_seq_len=4, chat_template=_template("<image>"))
    config = transformers.Idefics3Config(
        vision_config={**SIZE, "model_type": "idefics3_vision", "image_size": 28, "patch_size": 7},
        text_config=_llama(transformers, processor.tokenizer),
        image_token_id=tokenizer.convert_tokens_to_ids("<image>"),
        scale_factor=2,
    )
    return _saved(folder, transformers.Idefics3ForConditionalGeneration, config, processor, seed)


def tiny_gemma3(folder, seed=0):
    """A Gemma 3, which sees an image from both sides and older text through a window."""
    transformers = _library()
    tokenizer = _tokenizer(boi_token="<start_of_image>", eoi_token="<end_of_image>", image_token="<image>")
    images = transformers.Gemma3ImageProcessorPil(size={"height": 28, "width": 28})
    processor = transformers.Gemma3Processor(
        images, tokenizer, image_seq_length=4, chat_template=_template("<start_of_image>")
    )
    vision = transformers.SiglipVisionConfig(**SIZE, image_size=28, patch_size=7, vision_use_head=False)
    text = transformers.Gemma3TextConfig(**_text(tokenizer), head_dim=16, sliding_window=24)
    config = transformers.Gemma3Config(
        vision_config=vision,
        text_config=text,
        mm_tokens_per_image=4,
        boi_token_index=tokenizer.convert_tokens_to_ids("<start_of_image>"),
        eoi_token_index=tokenizer.convert_tokens_to_ids("<end_of_image>"),
        image_token_index=tokenizer.convert_tokens_to_ids("<image>"),
        tie_word_embeddings=False,
    )
    return _saved(folder, transformers.Gemma3ForConditionalGeneration, config, processor, seed)


def tiny_qwen2_vl(folder, seed=0):
    """A Qwen2-VL without its processor, which cannot be saved whole where torchvision is absent."""
    transformers = _library()
    processor = qwen2_vl_processor()
    turns = {"rope_type": "default", "mrope_section": [2, 3, 3], "rope_theta": 10000.0}
    config = transformers.Qwen2VLConfig(
        vision_config={
            "depth": 2,
            "embed_dim": 32,
            "hidden_size": 32,
            "num_heads": 2,
            "patch_size": 14,
            "mlp_ratio": 2,
        },
        text_config={**_text(processor.tokenizer), "rope_parameters": turns},
        image_token_id=processor.image_token_id,
        video_token_id=processor.video_token_id,
        tie_word_embeddings=False,
    )
    return _saved(folder, transformers.Qwen2VLForConditionalGeneration, config, processor, seed)


def qwen2_vl_processor():
    """The library's processor of Qwen2-VL but for videos."""
    transformers = _library()

    class Images(transformers.Qwen2VLProcessor):
        def __init__(self, image_processor=None, tokenizer=None, chat_template=None, **others):
            self.image_token, self.video_token = "<image>", "<global-img>"
            self.image_token_id, self.video_token_id = tokenizer.convert_tokens_to_ids(
                [self.image_token, self.video_token]
            )
            transformers.ProcessorMixin.__init__(self, image_processor, tokenizer, chat_template=chat_template)

    size = {"shortest_edge": 28 * 28, "longest_edge": 84 * 84}
    images = transformers.Qwen2VLImageProcessorPil(patch_size=14, merge_size=2, temporal_patch_size=2, size=size)
    return Images(images, _tokenizer(), chat_template=_template("<start_of_image><image><end_of_image>"))


ARCHITECTURES = {"llava": tiny_vlm, "paligemma": tiny_paligemma, "idefics3": tiny_idefics3, "gemma3": tiny_gemma3}
"""A function of a folder and a seed for each architecture."""


@functools.cache
def _place():
    folder = tempfile.mkdtemp(prefix="tinyvlm")
    import atexit

    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)


def _library():
    import pytest

    transformers = pytest.importorskip("transformers", reason="needs Transformers: pip install 'transect[huggingface]'")
    transformers.utils.logging.disable_progress_bar()
    return transformers


def _tokenizer(**named):
    """Words, and letters for all other words, so that no two texts of ASCII are the same tokens."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    letters = [letter for letter in string.printable if not letter.isspace()]
    known = [*SPECIAL, *ANSWERS, *WORDS.split(), *letters, *(f"##{letter}" for letter in letters)]
    vocabulary = {word: number for number, word in enumerate(dict.fromkeys(known))}
    inner = Tokenizer(models.WordPiece(vocabulary, unk_token="<unk>"))
    inner.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    inner.decoder = decoders.WordPiece()
    usual = {"pad_token": "<pad>", "bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}
    others = [token for token in SPECIAL if token not in usual.values()]
    return PreTrainedTokenizerFast(
        tokenizer_object=inner, **usual, extra_special_tokens=named or others, model_max_length=LONGEST
    )


def _template(image):
    return TEMPLATE.replace("IMAGE", repr(image))


def _text(tokenizer):
    ends = {name: getattr(tokenizer, name) for name in ("pad_token_id", "bos_token_id", "eos_token_id")}
    wide = {"vocab_size": len(tokenizer), "num_key_value_heads": 2, "initializer_range": 0.3}
    return {**SIZE, **ends, **wide, "max_position_embeddings": LONGEST, "tie_word_embeddings": False}


def _llama(transformers, tokenizer):
    return transformers.LlamaConfig(**_text(tokenizer))


def _saved(folder, architecture, config, processor, seed):
    """The model with random weights, of which those that lead to `ANSWERS` are larger than the rest."""
    import torch

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = architecture(config).eval()
    answers = processor.tokenizer.convert_tokens_to_ids(list(ANSWERS))
    with torch.no_grad():
        head = model.get_output_embeddings().weight
        head.mul_(0.1)
        head[answers] *= 10
    model.save_pretrained(folder)
    processor.save_pretrained(folder)
    return Path(folder)
