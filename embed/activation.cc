#include "embed/activation.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace shortlist {
namespace {

struct Named {
  std::string_view name;
  HeadActivation activation;
};

constexpr Named kOfTorch[] = {
    {"Identity", HeadActivation::kIdentity}, {"Tanh", HeadActivation::kTanh},
    {"GELU", HeadActivation::kGelu},         {"ReLU", HeadActivation::kRelu},
    {"Sigmoid", HeadActivation::kSigmoid},   {"SiLU", HeadActivation::kSilu},
};
constexpr Named kOfTransformers[] = {
    {"linear", HeadActivation::kIdentity}, {"tanh", HeadActivation::kTanh},
    {"gelu", HeadActivation::kGelu},       {"gelu_new", HeadActivation::kGeluTanh},
    {"relu", HeadActivation::kRelu},       {"gelu_pytorch_tanh", HeadActivation::kGeluTanh},
    {"sigmoid", HeadActivation::kSigmoid}, {"silu", HeadActivation::kSilu},
    {"swish", HeadActivation::kSilu},
};

std::optional<HeadActivation> Find(std::span<const Named> table, std::string_view name) {
  for (const Named& entry : table) {
    if (entry.name == name) return entry.activation;
  }
  return std::nullopt;
}

float Sigmoid(float x) { return 1.0f / (1.0f + std::exp(-x)); }

float Apply(HeadActivation activation, float x) {
  constexpr float kRootHalf = 1.0f / std::numbers::sqrt2_v<float>;
  constexpr float kRootTwoOverPi = std::numbers::sqrt2_v<float> * std::numbers::inv_sqrtpi_v<float>;
  switch (activation) {
    case HeadActivation::kIdentity:
      return x;
    case HeadActivation::kTanh:
      return std::tanh(x);
    case HeadActivation::kGelu:
      return 0.5f * x * (1.0f + std::erf(x * kRootHalf));
    case HeadActivation::kGeluTanh:
      return 0.5f * x * (1.0f + std::tanh(kRootTwoOverPi * (x + 0.044715f * x * x * x)));
    case HeadActivation::kRelu:
      return x < 0.0f ? 0.0f : x;
    case HeadActivation::kSigmoid:
      return Sigmoid(x);
    case HeadActivation::kSilu:
      return x * Sigmoid(x);
  }
  return x;
}

}  // namespace

std::optional<HeadActivation> FindTorchActivation(std::string_view path) {
  for (const std::string_view module : {"torch.nn.modules.activation.", "torch.nn.modules.linear.",
                                        "torch.nn.modules.", "torch.nn."}) {
    if (path.starts_with(module)) return Find(kOfTorch, path.substr(module.size()));
  }
  return std::nullopt;
}

std::optional<HeadActivation> FindTransformersActivation(std::string_view name) {
  return Find(kOfTransformers, name);
}

void ApplyActivation(HeadActivation activation, std::span<float> values) {
  if (activation == HeadActivation::kIdentity) return;
  for (float& value : values) value = Apply(activation, value);
}

}  // namespace shortlist
