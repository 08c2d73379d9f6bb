#include "embed/activation.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace shortlist {
namespace {

struct Named {
  std::string_view name;
  Activation activation;
};

constexpr Named kOfTorch[] = {
    {"Identity", Activation::kIdentity}, {"Tanh", Activation::kTanh},
    {"GELU", Activation::kGelu},         {"ReLU", Activation::kRelu},
    {"Sigmoid", Activation::kSigmoid},   {"SiLU", Activation::kSilu},
};
constexpr Named kOfTransformers[] = {
    {"linear", Activation::kIdentity}, {"tanh", Activation::kTanh},
    {"gelu", Activation::kGelu},       {"gelu_new", Activation::kGeluTanh},
    {"relu", Activation::kRelu},       {"gelu_pytorch_tanh", Activation::kGeluTanh},
    {"sigmoid", Activation::kSigmoid}, {"silu", Activation::kSilu},
    {"swish", Activation::kSilu},
};

std::optional<Activation> Find(std::span<const Named> table, std::string_view name) {
  for (const Named& entry : table) {
    if (entry.name == name) return entry.activation;
  }
  return std::nullopt;
}

float Sigmoid(float x) { return 1.0f / (1.0f + std::exp(-x)); }

float Apply(Activation activation, float x) {
  constexpr float kRootHalf = 1.0f / std::numbers::sqrt2_v<float>;
  constexpr float kRootTwoOverPi = std::numbers::sqrt2_v<float> * std::numbers::inv_sqrtpi_v<float>;
  switch (activation) {
    case Activation::kIdentity:
      return x;
    case Activation::kTanh:
      return std::tanh(x);
    case Activation::kGelu:
      return 0.5f * x * (1.0f + std::erf(x * kRootHalf));
    case Activation::kGeluTanh:
      return 0.5f * x * (1.0f + std::tanh(kRootTwoOverPi * (x + 0.044715f * x * x * x)));
    case Activation::kRelu:
      return x < 0.0f ? 0.0f : x;
    case Activation::kSigmoid:
      return Sigmoid(x);
    case Activation::kSilu:
      return x * Sigmoid(x);
  }
  return x;
}

}  // namespace

std::optional<Activation> FindTorchActivation(std::string_view path) {
  for (const std::string_view module : {"torch.nn.modules.activation.", "torch.nn.modules.linear.",
                                        "torch.nn.modules.", "torch.nn."}) {
    if (path.starts_with(module)) return Find(kOfTorch, path.substr(module.size()));
  }
  return std::nullopt;
}

std::optional<Activation> FindTransformersActivation(std::string_view name) {
  return Find(kOfTransformers, name);
}

void ApplyActivation(Activation activation, std::span<float> values) {
  if (activation == Activation::kIdentity) return;
  for (float& value : values) value = Apply(activation, value);
}

}  // namespace shortlist
