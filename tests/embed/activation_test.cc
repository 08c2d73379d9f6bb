#include "embed/activation.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace shortlist {
namespace {

double ByTheBook(HeadActivation activation, double x) {
  switch (activation) {
    case HeadActivation::kIdentity:
      return x;
    case HeadActivation::kTanh:
      return std::tanh(x);
    case HeadActivation::kGelu:
      return x * 0.5 * std::erfc(-x / std::sqrt(2.0));
    case HeadActivation::kGeluTanh:
      return 0.5 * x * (1.0 + std::tanh(std::sqrt(2.0 / M_PI) * (x + 0.044715 * x * x * x)));
    case HeadActivation::kRelu:
      return std::max(x, 0.0);
    case HeadActivation::kSigmoid:
      return 1.0 / (1.0 + std::exp(-x));
    case HeadActivation::kSilu:
      return x / (1.0 + std::exp(-x));
  }
  return NAN;
}

TEST(ActivationTest, EachMatchesItsFormula) {
  for (const HeadActivation activation :
       {HeadActivation::kIdentity, HeadActivation::kTanh, HeadActivation::kGelu,
        HeadActivation::kGeluTanh, HeadActivation::kRelu, HeadActivation::kSigmoid,
        HeadActivation::kSilu}) {
    for (float x = -30.0f; x <= 30.0f; x += 0.37f) {
      std::vector<float> value = {x};
      ApplyActivation(activation, value);
      EXPECT_NEAR(value[0], ByTheBook(activation, x), 2e-6) << static_cast<int>(activation) << x;
    }
    std::vector<float> nan = {NAN};
    ApplyActivation(activation, nan);
    EXPECT_TRUE(std::isnan(nan[0])) << static_cast<int>(activation);
  }
}

TEST(ActivationTest, NamesMatchTorchAndTransformers) {
  EXPECT_EQ(FindTorchActivation("torch.nn.modules.activation.GELU"), HeadActivation::kGelu);
  EXPECT_EQ(FindTorchActivation("torch.nn.modules.linear.Identity"), HeadActivation::kIdentity);
  EXPECT_EQ(FindTorchActivation("torch.nn.Tanh"), HeadActivation::kTanh);
  for (const char* unknown : {"", "Tanh", "torch.nn.", "torch.nn.Softplus", "os.Tanh",
                              "torch.nn.modules.activation.Tanh.x"}) {
    EXPECT_FALSE(FindTorchActivation(unknown).has_value()) << unknown;
  }
  EXPECT_EQ(FindTransformersActivation("gelu_new"), HeadActivation::kGeluTanh);
  EXPECT_EQ(FindTransformersActivation("swish"), HeadActivation::kSilu);
  EXPECT_FALSE(FindTransformersActivation("quick_gelu").has_value());
}

}  // namespace
}  // namespace shortlist
