"""Build a tiny vision-language model in models/tiny: random weights, seven answers, nothing to download.

It knows nothing. It lets you try `transect audit vlm:models/tiny --questions …` in seconds.
"""

import string

import torch
import transformers
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

# A tokenizer of letters and digits, and of the few words that the model can say.
answers = ["yes", "no", "A", "B", "C", "I cannot help with that.", "It is hard to tell."]
pieces = [
    *answers,
    "<pad>",
    "<s>",
    "</s>",
    "<unk>",
    "<image>",
    *string.printable,
    *(f"##{sign}" for sign in string.printable),
]
inner = Tokenizer(models.WordPiece({piece: i for i, piece in enumerate(dict.fromkeys(pieces))}, unk_token="<unk>"))
inner.pre_tokenizer, inner.decoder = pre_tokenizers.WhitespaceSplit(), decoders.WordPiece()
marks = {"pad_token": "<pad>", "bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}
tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=inner, **marks, extra_special_tokens=["<image>"])

template = (
    "{% for m in messages %}{% for c in m['content'] %}"
    "{{ '<image> ' if c['type'] == 'image' else c['text'] }}"
    "{% endfor %}{% endfor %}"
)
processor = transformers.LlavaProcessor(
    transformers.CLIPImageProcessorPil(size={"shortest_edge": 56}, crop_size=56),
    tokenizer,
    patch_size=14,
    vision_feature_select_strategy="default",
    image_token="<image>",
    num_additional_image_tokens=1,
    chat_template=template,
)

size = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2}
marks = {
    "pad_token_id": tokenizer.pad_token_id,
    "bos_token_id": tokenizer.bos_token_id,
    "eos_token_id": tokenizer.eos_token_id,
}
torch.manual_seed(9)
model = transformers.LlavaForConditionalGeneration(
    transformers.LlavaConfig(
        vision_config=transformers.CLIPVisionConfig(**size, image_size=56, patch_size=14),
        text_config=transformers.LlamaConfig(
            **size, **marks, vocab_size=len(tokenizer), max_position_embeddings=512, initializer_range=0.3
        ),
        image_token_id=tokenizer.convert_tokens_to_ids("<image>"),
        vision_feature_select_strategy="default",
        vision_feature_layer=-1,
    )
)
said = tokenizer.convert_tokens_to_ids([*answers, "</s>"])
with torch.no_grad():  # so that it says one of the answers, and then ends
    head = model.get_output_embeddings().weight
    head[[i for i in range(len(tokenizer)) if i not in said]] *= 0.1
    head[said[-3:]] *= 0.6
    model.get_input_embeddings().weight[said[:-1]] = 10 * head[said[-1]].sign()

model.save_pretrained("models/tiny")
processor.save_pretrained("models/tiny")
print("wrote models/tiny")
