#ifndef SHORTLIST_EMBED_ACTIVATION_H_
#define SHORTLIST_EMBED_ACTIVATION_H_

#include <optional>
#include <span>
#include <string_view>

namespace shortlist {

/// What a dense layer of a head applies to each of its outputs.
enum class HeadActivation {
  kIdentity,
  kTanh,
  kGelu,      // x * Phi(x), by the error function
  kGeluTanh,  // its approximation by tanh
  kRelu,
  kSigmoid,
  kSilu,
};

/// The module of PyTorch that has this path, made without arguments, as sentence-transformers
/// writes it down: "torch.nn.modules.activation.Tanh", "torch.nn.Identity". nullopt: none of ours.
std::optional<HeadActivation> FindTorchActivation(std::string_view path);
inline constexpr char kTorchActivations[] =
    "torch.nn's Identity, Tanh, GELU, ReLU, Sigmoid and SiLU are";

/// What transformers calls by this name (ACT2FN): "gelu". nullopt: none of ours.
std::optional<HeadActivation> FindTransformersActivation(std::string_view name);
inline constexpr char kTransformersActivations[] =
    "linear, tanh, gelu, gelu_new, gelu_pytorch_tanh, relu, sigmoid, silu and swish are";

void ApplyActivation(HeadActivation activation, std::span<float> values);

}  // namespace shortlist

#endif  // SHORTLIST_EMBED_ACTIVATION_H_
