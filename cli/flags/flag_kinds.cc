#include "cli/flags/flag_kinds.h"

#include <algorithm>
#include <thread>

namespace shortlist {

void AddDtypeFlag(CLI::App& command, std::optional<DType>& value, const std::string& description) {
  AddChoice<std::optional<DType>>(command, "--dtype", value,
                                  {{"auto", std::nullopt},
                                   {"f32", DType::kF32},
                                   {"float32", DType::kF32},
                                   {"float", DType::kF32},
                                   {"f16", DType::kF16},
                                   {"float16", DType::kF16},
                                   {"half", DType::kF16},
                                   {"bf16", DType::kBf16},
                                   {"bfloat16", DType::kBf16}},
                                  description)
      ->default_str("auto");
}

void AddQuantizeFlag(CLI::App& command, std::optional<DType>& value,
                     const std::string& description) {
  AddChoice<std::optional<DType>>(command, "--quantize", value,
                                  {{"int8", DType::kInt8}, {"int4", DType::kInt4}}, description);
}

void AddThreadsFlag(CLI::App& command, int64_t& value) {
  constexpr int64_t kMaxThreads = 1024;
  value = std::clamp<int64_t>(std::thread::hardware_concurrency(), 1, kMaxThreads);
  AddInteger<int64_t>(command, "--threads", value, 1, kMaxThreads, "CPU threads");
}

}  // namespace shortlist
