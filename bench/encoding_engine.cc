// An encoder without a server, driven over stdin and stdout by lines of JSON, for benches that
// compare it with other libraries. The first output line describes the model. Each input line
// contains the inputs of one measurement as token ids. Each output line contains the seconds that
// all of them took, in order, in passes of at most --max-batch-tokens tokens:
//
//   {"ids": [[101, 2023, 102], [101, 102]], "pass_inputs": 8, "repeat": 3, "vectors": true}
//   {"seconds": 0.0021, "passes": 1, "vectors": [[0.1, …], [0.2, …]]}
//
// "pass_inputs" (default: unbounded) is the maximum number of inputs per pass. "repeat" (1) is the
// number of runs, whose mean is reported. "vectors" (false) adds the results. An invalid line is
// answered with {"error": …}, and the next line is read.

#include <cstdint>
#include <iostream>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "base/clock.h"
#include "base/status_macros.h"
#include "base/thread_pool.h"
#include "kernels/isa.h"
#include "nlohmann/json.hpp"
#include "router/encoding_loop.h"
#include "runtime/encoding_model.h"

namespace shortlist {
namespace {

struct Flags {
  EncodingModel::Options model;
  int num_threads = static_cast<int>(std::thread::hardware_concurrency());
  int64_t max_batch_tokens = EncodingLoop::Options().max_batch_tokens;
};

/// Request of one input line.
struct Work {
  std::vector<EncodeInput> inputs;
  int64_t pass_inputs = 0;  // maximum per pass
  int64_t num_repeats = 1;
  bool tells_vectors = false;
};

absl::StatusOr<Work> ReadWork(const std::string& line, const EncodingModel& model) {
  Work work;
  try {
    const nlohmann::json fields = nlohmann::json::parse(line);
    work.pass_inputs = fields.value("pass_inputs", std::numeric_limits<int64_t>::max());
    work.num_repeats = fields.value("repeat", int64_t{1});
    work.tells_vectors = fields.value("vectors", false);
    for (const nlohmann::json& row : fields.at("ids")) {
      std::vector<TokenId> ids;
      for (const nlohmann::json& id : row) ids.push_back(TokenId{id.get<int32_t>()});
      SHORTLIST_ASSIGN_OR_RETURN(work.inputs.emplace_back(), model.Prepare(std::move(ids), {}));
    }
  } catch (const nlohmann::json::exception& error) {
    return absl::InvalidArgumentError(error.what());
  }
  if (work.inputs.empty() || work.num_repeats < 1 || work.pass_inputs < 1) {
    return absl::InvalidArgumentError("there is nothing to encode");
  }
  return work;
}

/// End of each pass, as EncodeQueue::Take splits the inputs of one request.
std::vector<size_t> PassEnds(const Work& work, int64_t max_tokens) {
  std::vector<size_t> ends;
  int64_t num_tokens = 0, num_inputs = 0;
  for (size_t i = 0; i < work.inputs.size(); ++i) {
    const auto size = std::ssize(work.inputs[i].ids);
    if (i > 0 && (num_tokens + size > max_tokens || num_inputs == work.pass_inputs)) {
      ends.push_back(i);
      num_tokens = num_inputs = 0;
    }
    num_tokens += size;
    ++num_inputs;
  }
  ends.push_back(work.inputs.size());
  return ends;
}

absl::StatusOr<nlohmann::json> Measure(const Work& work, int64_t max_batch_tokens,
                                       EncodingModel& model) {
  const EncodeWish wish;
  std::vector<EncodingLoop::Item> items;
  for (const EncodeInput& input : work.inputs) items.push_back({&input, &wish});
  const std::vector<size_t> ends = PassEnds(work, max_batch_tokens);
  std::vector<EncodeResult> results;
  const double begin = SteadySeconds();
  for (int64_t i = 0; i < work.num_repeats; ++i) {
    results.clear();
    size_t first = 0;
    for (const size_t end : ends) {
      for (EncodeResult& result : model.Encode(std::span(items).subspan(first, end - first))) {
        results.push_back(std::move(result));
      }
      first = end;
    }
  }
  nlohmann::json report = {
      {"seconds", (SteadySeconds() - begin) / static_cast<double>(work.num_repeats)},
      {"passes", ends.size()}};
  for (const EncodeResult& result : results) {
    SHORTLIST_RETURN_IF_ERROR(result.status);
    if (work.tells_vectors) report["vectors"].push_back(result.values);
  }
  return report;
}

absl::Status Run(const Flags& flags) {
  ThreadPool pool(flags.num_threads);
  SHORTLIST_ASSIGN_OR_RETURN(const std::unique_ptr<EncodingModel> model,
                             EncodingModel::Open(flags.model, pool));
  std::cout << nlohmann::json{{"engine", "shortlist"},
                              {"isa", IsaName(CurrentIsa())},
                              {"threads", pool.num_threads()},
                              {"dtype", DTypeName(model->dtype())},
                              {"weights", DTypeName(model->weight_dtype())},
                              {"dimensions", model->result_size()},
                              {"max_batch_tokens", flags.max_batch_tokens}}
                   .dump()
            << std::endl;
  for (std::string line; std::getline(std::cin, line);) {
    absl::StatusOr<nlohmann::json> report;
    if (const absl::StatusOr<Work> work = ReadWork(line, *model); work.ok()) {
      report = Measure(*work, flags.max_batch_tokens, *model);
    } else {
      report = work.status();
    }
    if (!report.ok()) report = nlohmann::json{{"error", std::string(report.status().message())}};
    std::cout << report->dump() << std::endl;
  }
  return absl::OkStatus();
}

}  // namespace
}  // namespace shortlist

int main(int argc, char** argv) {
  CLI::App app("Measures an encoder with the given settings");
  shortlist::Flags flags;
  app.add_option("--model", flags.model.model, "A Hugging Face model directory")->required();
  std::string dtype, quantize;
  app.add_option("--dtype", dtype, "Of the weights; the checkpoint's where none is given")
      ->check(CLI::IsMember({"f32", "bf16"}));
  app.add_option("--quantize", quantize, "Linear layers, on load")
      ->check(CLI::IsMember({"int8", "int4"}));
  app.add_option("--threads", flags.num_threads, "CPU threads")->check(CLI::Range(1, 1024));
  app.add_option("--max-batch-tokens", flags.max_batch_tokens, "Most tokens of a pass")
      ->check(CLI::Range(1, 1'000'000'000))
      ->capture_default_str();
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& help) {
    return app.exit(help);
  } catch (const CLI::ParseError& error) {
    std::cerr << "encoding_engine: " << error.what() << "\n";
    return 2;
  }
  if (dtype == "f32") flags.model.dtype = shortlist::DType::kF32;
  if (dtype == "bf16") flags.model.dtype = shortlist::DType::kBf16;
  if (quantize == "int8") flags.model.quantize = shortlist::DType::kInt8;
  if (quantize == "int4") flags.model.quantize = shortlist::DType::kInt4;
  const absl::Status status = shortlist::Run(flags);
  if (!status.ok()) std::cerr << "encoding_engine: " << status.message() << "\n";
  return status.ok() ? 0 : 2;
}
