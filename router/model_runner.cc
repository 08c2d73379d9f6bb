#include "router/model_runner.h"

#include <exception>
#include <new>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace shortlist {
namespace {

GenerateReq& AsGenerate(Req* req) { return static_cast<GenerateReq&>(*req); }

/// Lends the slots of requests to their sequences for as long as it lives.
class LentSlots {
 public:
  explicit LentSlots(std::span<Req* const> reqs) : reqs_(reqs) { Swap(); }
  ~LentSlots() { Swap(); }
  LentSlots(const LentSlots&) = delete;
  LentSlots& operator=(const LentSlots&) = delete;

 private:
  void Swap() {
    for (Req* req : reqs_) std::swap(req->kv_slots, AsGenerate(req).sequence->kv_slots);
  }

  const std::span<Req* const> reqs_;
};

}  // namespace

absl::Status ModelRunner::Forward(const Batch& batch) {
  try {
    std::vector<Sequence*> sequences;
    for (Req* req : batch.reqs) sequences.push_back(AsGenerate(req).sequence.get());
    const LentSlots lent(batch.reqs);
    return Run(batch, sequences);
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError("out of memory");
  } catch (const std::exception& error) {
    return absl::InternalError(error.what());
  }
}

absl::Status ModelRunner::Run(const Batch& batch, std::span<Sequence* const> sequences) {
  if (batch.mode != ForwardMode::kExtend) return engine_.Step(sequences);
  if (!batch.prefill_only) return engine_.Prefill(sequences, batch.num_tokens);
  return engine_.Encode(sequences, batch.num_tokens, [&](size_t index, const at::Tensor& hidden) {
    GenerateReq& req = AsGenerate(batch.reqs[index]);
    if (!req.status.ok()) return;
    try {
      pool_(req, sequences[index]->cached_len - hidden.size(0), hidden);
    } catch (const std::exception& error) {
      req.status = absl::InternalError(absl::StrCat("pooling: ", error.what()));
    }
  });
}

}  // namespace shortlist
