#ifndef SHORTLIST_EMBED_ACTIVATION_H_
#define SHORTLIST_EMBED_ACTIVATION_H_

#include <optional>
#include <span>
#include <string_view>

namespace shortlist {

/// Activation that a dense layer of a head applies to its outputs.
enum class HeadActivation {
  kIdentity,
  kTanh,
  kGelu,      // x * Phi(x), with the error function
  kGeluTanh,  // tanh approximation of kGelu
  kRelu,
  kSigmoid,
  kSilu,
};

/// Finds a PyTorch module, constructed without arguments, by its path as sentence-transformers
/// stores it: "torch.nn.modules.activation.Tanh", "torch.nn.Identity". nullopt: not supported.
std::optional<HeadActivation> FindTorchActivation(std::string_view path);
inline constexpr char kTorchActivations[] =
    "torch.nn's Identity, Tanh, GELU, ReLU, Sigmoid and SiLU are";

/// Finds an activation by its name in transformers (ACT2FN): "gelu". nullopt: not supported.
std::optional<HeadActivation> FindTransformersActivation(std::string_view name);
inline constexpr char kTransformersActivations[] =
    "linear, tanh, gelu, gelu_new, gelu_pytorch_tanh, relu, sigmoid, silu and swish are";

void ApplyActivation(HeadActivation activation, std::span<float> values);

}  // namespace shortlist

#endif  // SHORTLIST_EMBED_ACTIVATION_H_
