"""Writes a model with random weights for outputs_bench: bge-m3's architecture and heads, in its shape or smaller.

usage: outputs_model.py DIR [--hidden 1024 --layers 24 --heads 16 --vocab 32000]
Run with a Python that has torch, transformers and tokenizers."""

import argparse
from pathlib import Path

import torch
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import PreTrainedTokenizerFast, XLMRobertaConfig, XLMRobertaModel

parser = argparse.ArgumentParser()
parser.add_argument("directory", type=Path)
parser.add_argument("--hidden", type=int, default=1024)
parser.add_argument("--layers", type=int, default=24)
parser.add_argument("--heads", type=int, default=16)
parser.add_argument("--vocab", type=int, default=32000)
args = parser.parse_args()
torch.manual_seed(0)
config = XLMRobertaConfig(vocab_size=args.vocab, hidden_size=args.hidden, num_hidden_layers=args.layers,
                          num_attention_heads=args.heads, intermediate_size=4 * args.hidden,
                          max_position_embeddings=8194, type_vocab_size=1, pad_token_id=1)
XLMRobertaModel(config, add_pooling_layer=False).to(torch.bfloat16).save_pretrained(args.directory)
torch.save(torch.nn.Linear(args.hidden, 1).state_dict(), args.directory / "sparse_linear.pt")
torch.save(torch.nn.Linear(args.hidden, args.hidden).state_dict(), args.directory / "colbert_linear.pt")
words = ["<s>", "<pad>", "</s>", "<unk>", *(f"w{i}" for i in range(args.vocab - 5)), "<mask>"]
tokenizer = Tokenizer(models.WordLevel({word: i for i, word in enumerate(words)}, unk_token="<unk>"))
tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 2)])
PreTrainedTokenizerFast(tokenizer_object=tokenizer, cls_token="<s>", eos_token="</s>", pad_token="<pad>",
                        unk_token="<unk>").save_pretrained(args.directory)
