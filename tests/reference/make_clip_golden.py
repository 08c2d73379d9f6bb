"""Makes tests/reference/golden/clip/*.json: transformers' vectors for tiny CLIP models of random weights, of texts
and of the pictures in golden/pictures.

Run with a Python that has numpy, pillow, torch and transformers, after make_picture_golden.py:
    ONEDNN_MAX_CPU_ISA=AVX512_CORE_BF16 python tests/reference/make_clip_golden.py
Weights are not stored: both sides compute them from the tensor's name (see `weights` in
tiny_models.py and GoldenWeights in tests/model/model_fixture.h). A case holds config.json's and
preprocessor_config.json's contents, the shapes of the tensors, ids of texts and names of pictures
with their vectors, which are not normalised.
"""

import json

import torch
from PIL import Image
from tiny_models import GOLDEN_DIR, weights, write_json
from transformers import CLIPConfig, CLIPModel
from transformers.models.clip.image_processing_pil_clip import CLIPImageProcessorPil

VOCAB_SIZE, CONTEXT_LEN, SIZE = 99, 21, 24
PICTURES = ["rgb.jpg", "grey.jpg", "cmyk.jpg", "palette.png", "rgba.png", "lossy.webp", "wide.jpg", "one_pixel.png",
            "lossy_alpha.webp", "tall_noise.png"]

TEXT = dict(hidden_size=32, intermediate_size=56, num_hidden_layers=2, num_attention_heads=4, vocab_size=VOCAB_SIZE,
            max_position_embeddings=CONTEXT_LEN, bos_token_id=97, eos_token_id=98)
VISION = dict(hidden_size=36, intermediate_size=40, num_hidden_layers=3, num_attention_heads=3, image_size=SIZE,
              patch_size=8)

# name: (text, vision)
CASES = {
    "quick_gelu": (TEXT, VISION),
    # As in exports before transformers 4.31: pooled at the largest id.
    "eos_2": (TEXT | dict(eos_token_id=2), VISION),
    "gelu": (TEXT | dict(hidden_act="gelu"), VISION | dict(hidden_act="gelu", patch_size=6, layer_norm_eps=1e-3)),
}


def texts():
    """Yields texts of several lengths: with the end token twice, as in a padded batch; without it; with a larger id
    after it."""
    yield [97, 98]
    yield [97, 5, 17, 3, 98]
    yield [97, 2, 60, 98, 98, 98]
    yield [97, 4, 9, 33]
    yield [97] + [3 + 7 * i * i % 90 for i in range(CONTEXT_LEN - 2)] + [98]


def rows(tensor):
    return [float(f"{value:.8g}") for value in tensor.tolist()]


def vector(output):
    return output if isinstance(output, torch.Tensor) else output.pooler_output


def make_case(name, text, vision):
    config = CLIPConfig(text_config=text, vision_config=vision, projection_dim=20)
    model = CLIPModel._from_config(config, attn_implementation="eager").eval()
    shapes = {}
    with torch.no_grad():
        for key, parameter in model.named_parameters():
            shapes[key] = list(parameter.shape)
            if key != "logit_scale":
                parameter.copy_(torch.from_numpy(weights(key, shapes[key])))
    processor = CLIPImageProcessorPil(size={"shortest_edge": SIZE}, crop_size={"height": SIZE, "width": SIZE})
    stored_texts, stored_pictures = [], []
    with torch.no_grad():
        for ids in texts():
            features = vector(model.get_text_features(input_ids=torch.tensor([ids])))[0]
            stored_texts.append(dict(token_ids=ids, vector=rows(features)))
        for file in PICTURES:
            image = Image.open(GOLDEN_DIR / "pictures" / file)
            pixels = processor(image, return_tensors="pt")["pixel_values"]
            features = vector(model.get_image_features(pixel_values=pixels))[0]
            stored_pictures.append(dict(file=file, vector=rows(features)))

    stored = json.loads(config.to_json_string(use_diff=False)) | dict(architectures=["CLIPModel"])
    stored.pop("transformers_version", None)
    path = GOLDEN_DIR / "clip" / f"{name}.json"
    path.parent.mkdir(exist_ok=True)
    case = dict(config=stored, processor=json.loads(processor.to_json_string()), tensors=shapes, texts=stored_texts,
                pictures=stored_pictures)
    write_json(path, case, separators=(",", ":"))
    print(f"{name}: {path.stat().st_size} bytes, {len(shapes)} tensors")


if __name__ == "__main__":
    for case, parts in CASES.items():
        make_case(case, *parts)
