#include "router/model_runner.h"

#include <exception>
#include <new>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace shortlist {

absl::StatusOr<std::span<const StepResult>> ModelRunner::Forward(const Batch& batch) {
  try {
    return Run(batch);
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError("out of memory");
  } catch (const std::exception& error) {
    return absl::InternalError(error.what());
  }
}

absl::StatusOr<std::span<const StepResult>> ModelRunner::Run(const Batch& batch) {
  work_.clear();
  for (Req* req : batch.reqs) work_.push_back({AsGenerate(req).sequence.get(), req->kv_slots});
  if (batch.mode != ForwardMode::kPrefill) return engine_.Step(work_);
  if (!batch.prefill_only) return engine_.Prefill(work_, batch.num_tokens);
  return engine_.Encode(work_, batch.num_tokens, [&](size_t index, const at::Tensor& hidden) {
    GenerateReq& req = AsGenerate(batch.reqs[index]);
    if (!req.status.ok()) return;
    try {
      pool_(req, req.sequence->cached_len - hidden.size(0), hidden);
    } catch (const std::exception& error) {
      req.status = absl::InternalError(absl::StrCat("pooling: ", error.what()));
    }
  });
}

}  // namespace shortlist
