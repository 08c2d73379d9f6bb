#ifndef SHORTLIST_MODEL_SHARED_HEAD_H_
#define SHORTLIST_MODEL_SHARED_HEAD_H_

#include "base/dtype.h"
#include "base/thread_pool.h"
#include "kernels/head.h"
#include "kernels/quant.h"

namespace shortlist {

/// The head that a draft network shares with its target: the target's own, or a quantised copy.
class SharedHead {
 public:
  SharedHead() = default;
  /// `target` must outlive this object. Copies if `dtype` is quantised and not the target's. Throws
  /// std::bad_alloc.
  SharedHead(const HeadWeight& target, DType dtype, ThreadPool& pool) : weight_(target) {
    if (!IsQuantized(dtype) || dtype == target.dtype) return;
    copy_ = QuantizedRows::Quantize(target.rows, target.dtype, target.vocab_size, target.hidden,
                                    dtype, pool);
    weight_ = {copy_.data(), dtype, target.vocab_size, target.hidden};
  }

  const HeadWeight& weight() const { return weight_; }

 private:
  HeadWeight weight_;
  QuantizedRows copy_;
};

}  // namespace shortlist

#endif  // SHORTLIST_MODEL_SHARED_HEAD_H_
