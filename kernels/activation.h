#ifndef SHORTLIST_KERNELS_ACTIVATION_H_
#define SHORTLIST_KERNELS_ACTIVATION_H_

namespace shortlist {

/// Activation between the two linear layers of an MLP. NaN gives NaN.
///   kSilu      x / (1 + e^-x)
///   kGeluErf   x (1 + erf(x / sqrt 2)) / 2, within 3e-7 |x|
///   kGeluTanh  x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2
///   kGeluQuick  x / (1 + e^(-1.702 x)), as in CLIP
///   kSigmoid   1 / (1 + e^-x): a gate alone
enum class Activation { kSilu, kGeluErf, kGeluTanh, kGeluQuick, kSigmoid };

}  // namespace shortlist

#endif  // SHORTLIST_KERNELS_ACTIVATION_H_
