#include "cli/embed/bulk_encoder.h"

#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "cli/flags/flag_kinds.h"
#include "cli/progress.h"
#include "cli/warnings.h"

namespace shortlist {
namespace {

constexpr size_t kBatchesAhead = 4;

/// Inputs of neighbouring rows; `status` says why no more follow.
struct Batch {
  std::vector<EncodeInput> inputs;
  int64_t num_tokens = 0;
  absl::Status status;
};

/// Queue between the thread that prepares and the thread that computes.
class BatchQueue {
 public:
  /// Waits for room. False after Close().
  bool Push(Batch batch) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return closed_ || batches_.size() < kBatchesAhead; });
    if (closed_) return false;
    batches_.push_back(std::move(batch));
    changed_.notify_all();
    return true;
  }

  Batch Pop() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !batches_.empty(); });
    Batch batch = std::move(batches_.front());
    batches_.pop_front();
    changed_.notify_all();
    return batch;
  }

  void Close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Batch> batches_;
  bool closed_ = false;
};

absl::Status WithPlace(const TextRows& texts, int64_t row, const absl::Status& status) {
  return absl::Status(status.code(), absl::StrCat(texts.Where(row), ": ", status.message()));
}

/// Pushes batches that hold all rows, unless the last batch has an error.
void PrepareBatches(const TextRows& texts, int64_t begin, int64_t batch_tokens,
                    const BulkEncoder::Source& source, BatchQueue& queue) {
  Batch batch;
  try {
    for (int64_t row = begin; row < std::ssize(texts.rows); ++row) {
      absl::StatusOr<EncodeInput> input = source(texts.rows[row].text);
      if (!input.ok()) {
        batch.status = texts.are_pictures ? input.status() : WithPlace(texts, row, input.status());
        break;
      }
      const int64_t num_tokens = std::ssize(input->ids);
      if (!batch.inputs.empty() && batch.num_tokens + num_tokens > batch_tokens) {
        if (!queue.Push(std::exchange(batch, {}))) return;
      }
      batch.num_tokens += num_tokens;
      batch.inputs.push_back(*std::move(input));
    }
  } catch (const std::exception& error) {
    batch.status = absl::ResourceExhaustedError(absl::StrCat("tokenizing failed: ", error.what()));
  }
  queue.Push(std::move(batch));
}

/// Stops and joins the preparing thread, however the computing thread ends.
class Preparing {
 public:
  template <typename Body>
  Preparing(BatchQueue& queue, Body body) : queue_(queue), thread_(std::move(body)) {}
  ~Preparing() {
    queue_.Close();
    thread_.join();
  }

 private:
  BatchQueue& queue_;
  std::thread thread_;
};

}  // namespace

void AddEncodingFlags(CLI::App& command, EncodingFlags& flags) {
  command
      .add_option("--model,--model-path,--embed-model", flags.model.model,
                  "A Hugging Face model directory, or org/name[@revision] of the cache")
      ->type_name("DIR")
      ->required();
  AddDtypeFlag(command, flags.model.dtype, "Weights; auto keeps the checkpoint's");
  AddQuantizeFlag(command, flags.model.quantize, "Linear layers, on load");
  AddThreadsFlag(command, flags.num_threads);
  AddInteger<int64_t>(command, "--batch-tokens", flags.batch_tokens, 1, int64_t{1} << 24,
                      "Texts are computed together up to so many tokens; results are the same");
  command.add_flag("!--no-truncate", flags.truncates,
                   "Refuse a text that is longer than the model takes, in place of cutting it");
}

absl::StatusOr<std::unique_ptr<BulkEncoder>> BulkEncoder::Open(const EncodingFlags& flags,
                                                               const std::string& model,
                                                               Keeps keeps) {
  std::unique_ptr<BulkEncoder> encoder(new BulkEncoder(flags));
  if (keeps == Keeps::kVectors) {
    SHORTLIST_ASSIGN_OR_RETURN(encoder->files_, ModelFiles::Read(model));
  }
  EncodingModel::Options options = flags.model;
  options.model = model;
  SHORTLIST_ASSIGN_OR_RETURN(encoder->model_, EncodingModel::Open(options, encoder->pool_));
  PrintTokenizerWarnings(encoder->model_->source().path(), encoder->model_->tokenizer());
  if (const std::string warning = encoder->model_->warning(); !warning.empty()) {
    PrintWarning(warning);
  }
  if (encoder->model_->clip() != nullptr) {
    SHORTLIST_ASSIGN_OR_RETURN(encoder->pictures_, PictureReader::Open(*encoder->model_));
  }
  if (encoder->files_) SHORTLIST_RETURN_IF_ERROR(encoder->files_->CheckUnchanged());
  return encoder;
}

absl::StatusOr<EncodeInput> BulkEncoder::Prepare(std::string_view instruction,
                                                 std::string_view text,
                                                 std::optional<std::string_view> second) {
  absl::StatusOr<EncodeInput> input =
      model_->Prepare(instruction, text, second, {.truncates = false});
  if (flags_.truncates && absl::IsOutOfRange(input.status())) {
    ++num_cut_;
    input = model_->Prepare(instruction, text, second, {.truncates = true});
  }
  if (input.ok()) num_tokens_ += std::ssize(input->ids);
  return input;
}

absl::StatusOr<EncodeInput> BulkEncoder::PreparePicture(const std::string& path) {
  if (!pictures_) {
    return absl::InvalidArgumentError(
        absl::StrCat(model_->source().path(), ", ", model_->config().architecture,
                     ", reads texts and no pictures, which a CLIPModel does"));
  }
  absl::StatusOr<EncodeInput> input = pictures_->ReadPath(path);
  if (input.ok()) num_tokens_ += std::ssize(input->ids);
  return input;
}

absl::Status BulkEncoder::Run(const TextRows& texts, int64_t begin, const EncodeWish& wish,
                              const Source& source, const Sink& sink) {
  BatchQueue queue;
  const Preparing preparing(
      queue, [&] { PrepareBatches(texts, begin, flags_.batch_tokens, source, queue); });
  const int64_t end = std::ssize(texts.rows);
  Progress progress(texts.are_pictures ? "picture" : "text", end - begin);
  for (int64_t row = begin; row < end;) {
    const Batch batch = queue.Pop();
    std::vector<EncodingLoop::Item> items;
    for (const EncodeInput& input : batch.inputs) items.push_back({&input, &wish});
    if (!items.empty()) {
      const std::vector<EncodeResult> results = model_->Encode(items);
      for (const EncodeResult& result : results) {
        if (!result.status.ok()) return WithPlace(texts, row, result.status);
        SHORTLIST_RETURN_IF_ERROR(sink(row++, result));
        progress.Advance();
      }
    }
    SHORTLIST_RETURN_IF_ERROR(batch.status);
  }
  return absl::OkStatus();
}

}  // namespace shortlist
