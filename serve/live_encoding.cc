#include "serve/live_encoding.h"

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cmath>
#include <iterator>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "serve/http/api_error.h"

namespace shortlist {

namespace asio = boost::asio;

namespace {

using Clock = std::chrono::steady_clock;

constexpr int64_t kMaxHeldBytes = 4 * kMaxResultBytes;
constexpr int64_t kMaxClientBytes = kMaxHeldBytes / 2;  // leaves room for another client
constexpr int64_t kSmallBytes = int64_t{1} << 20;  // batches up to this size are always admitted
constexpr double kLongestTimeoutS = 1e9;           // longer timeouts never expire

Clock::time_point After(Clock::time_point start, double seconds) {
  if (!(seconds < kLongestTimeoutS)) return Clock::time_point::max();
  return start +
         std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

absl::Status Check(const EncodeResult& result) {
  if (absl::IsResourceExhausted(result.status) && result.status.message().empty()) {
    return absl::ResourceExhaustedError("out of memory");  // there was no memory for a message
  }
  SHORTLIST_RETURN_IF_ERROR(result.status);
  const auto is_finite = [](float value) { return std::isfinite(value); };
  if (std::all_of(result.values.begin(), result.values.end(), is_finite) &&
      std::all_of(result.multi_vector.begin(), result.multi_vector.end(), is_finite) &&
      std::all_of(result.sparse.begin(), result.sparse.end(),
                  [](const SparseWeight& one) { return std::isfinite(one.weight); })) {
    return absl::OkStatus();
  }
  return absl::InternalError("the model gave a value that is not finite");
}

/// Returns the number of values per input.
int64_t NumValues(const ServedEncoder& encoder, const EncodeWish& wish) {
  if (!wish.next_tokens.empty()) return std::ssize(wish.next_tokens);
  if (wish.query != nullptr) return 1;
  if (!wish.dense) return 0;
  return wish.dimensions > 0 ? wish.dimensions : encoder.result_size;
}

int64_t NumResultBytes(const ServedEncoder& encoder, const EncodeBatch& batch) {
  constexpr auto kFloatBytes = static_cast<int64_t>(sizeof(float));
  const EncodeWish& wish = batch.wish;
  int64_t each = NumValues(encoder, wish) * kFloatBytes;
  if (wish.sparse) {
    const int64_t most = encoder.max_sparse_weights;
    const int64_t top_n = wish.sparse_cut.top_n;
    each += (top_n > 0 ? std::min(top_n, most) : most) * static_cast<int64_t>(sizeof(SparseWeight));
  }
  int64_t num_bytes = std::ssize(batch.inputs) * each + batch.num_reply_bytes;
  if (!wish.multi_vector) return num_bytes;
  // Maximum number of tokens that the checkpoint adds around a text, approximately.
  constexpr int64_t kFraming = 8;
  const int64_t framed = std::ssize(batch.instruction) + kFraming;
  for (const EncodeSource& source : batch.inputs) {
    // A token takes at least one byte.
    const int64_t most = std::ssize(source.ids) + std::ssize(source.text) + framed;
    num_bytes += std::min(most, encoder.max_input_tokens) * encoder.multi_vector_size * kFloatBytes;
  }
  return num_bytes;
}

/// Approximate memory of a batch and its results until the reply.
int64_t NumHeldBytes(const ServedEncoder& encoder, const EncodeBatch& batch) {
  constexpr int64_t kEach =
      sizeof(EncodeSource) + 4 * sizeof(void*) + 2 * sizeof(std::vector<float>);
  int64_t num_bytes = NumResultBytes(encoder, batch) + kEach * std::ssize(batch.inputs);
  if (batch.wish.query != nullptr) num_bytes += 4 * std::ssize(*batch.wish.query);
  for (const EncodeSource& source : batch.inputs) {
    num_bytes += std::ssize(source.text) + 4 * std::ssize(source.ids) + std::ssize(source.picture);
  }
  return num_bytes;
}

/// Approximate number of tokens.
int64_t NumTokens(const EncodeSource& source) {
  constexpr int64_t kBytesOfToken = 4, kTokensOfPicture = 256;
  if (!source.picture.empty()) return kTokensOfPicture;
  const int64_t others = source.context != nullptr ? NumTokens(*source.context) : 0;
  return others + std::ssize(source.ids) + std::ssize(source.text) / kBytesOfToken + 1;
}

/// Number of inputs that form the next chunk. Precondition: `inputs` is not empty.
size_t NumOfChunk(std::span<const EncodeSource> inputs) {
  const std::span most = inputs.first(std::min(LiveEncoding::kChunkInputs, inputs.size()));
  const auto picture = std::ranges::find_if(
      most, [](const EncodeSource& source) { return !source.picture.empty(); });
  return std::max<size_t>(static_cast<size_t>(picture - most.begin()), 1);
}

absl::Status Aborted() { return absl::CancelledError("aborted"); }

absl::Status Overdue(double timeout_s) {
  return absl::DeadlineExceededError(
      absl::StrCat("not finished ", timeout_s, " s after its arrival"));
}

}  // namespace

absl::Status OfInput(const EncodeBatch& batch, size_t index, const absl::Status& status) {
  const std::string field(batch.field);
  const std::string place =
      batch.is_list ? absl::StrCat(field, "[", index / batch.inputs_per_entry, "]") : field;
  const bool is_too_long = absl::IsOutOfRange(status);
  // litellm searches the error text for these words.
  const char* const words = is_too_long ? ": this model's maximum context length is exceeded" : "";
  absl::Status named(status.code(), absl::StrCat(place, ": ", status.message(), words));
  if (is_too_long) named = WithCode(std::move(named), kContextLengthExceeded);
  return WithParam(std::move(named), place);
}

absl::Status CheckBatchSize(const ServedEncoder& encoder, const EncodeBatch& batch) {
  const auto refuse = [&](const char* what, int64_t num_bytes) {
    return WithParam(absl::InvalidArgumentError(absl::StrCat(
                         std::string(batch.field), ": ", batch.inputs.size(), " inputs, whose ",
                         what, " take ", num_bytes, " bytes, more than ", kMaxResultBytes)),
                     batch.field);
  };
  const int64_t num_bytes = NumResultBytes(encoder, batch);
  if (num_bytes > kMaxResultBytes) return refuse("results", num_bytes);
  int64_t num_repeated = std::ssize(batch.inputs) * std::ssize(batch.instruction);
  for (const EncodeSource& source : batch.inputs) {
    if (source.first != nullptr) num_repeated += std::ssize(*source.first);
    if (source.context == nullptr) continue;
    num_repeated += std::ssize(source.context->text);
    num_repeated += std::ssize(source.context->ids) * static_cast<int64_t>(sizeof(TokenId));
  }
  if (num_repeated > kMaxResultBytes) return refuse("queries and instructions", num_repeated);
  return absl::OkStatus();
}

absl::StatusOr<ResultBytes> ResultBytes::Hold(std::shared_ptr<LiveRegistry> registry,
                                              const std::string& client,
                                              const ServedEncoder& encoder,
                                              const EncodeBatch& batch) {
  const int64_t num_bytes = NumHeldBytes(encoder, batch);
  if (num_bytes <= kSmallBytes) return ResultBytes(std::move(registry), client, 0);
  const auto refuse = [](const char* whose, int64_t held, int64_t most) {
    return absl::ResourceExhaustedError(absl::StrCat("the inputs and results of ", whose,
                                                     " requests that are being served take ", held,
                                                     " bytes, of at most ", most));
  };
  const auto own = registry->result_bytes_of.find(client);
  const int64_t num_own = own == registry->result_bytes_of.end() ? 0 : own->second;
  if (num_own + num_bytes > kMaxClientBytes) return refuse("your", num_own, kMaxClientBytes);
  if (registry->num_result_bytes + num_bytes > kMaxHeldBytes) {
    return refuse("all", registry->num_result_bytes, kMaxHeldBytes);
  }
  return ResultBytes(std::move(registry), client, num_bytes);
}

ResultBytes::ResultBytes(std::shared_ptr<LiveRegistry> registry, std::string client,
                         int64_t num_bytes)
    : registry_(std::move(registry)), client_(std::move(client)), num_bytes_(num_bytes) {
  if (num_bytes > 0) registry_->result_bytes_of[client_] += num_bytes;
  registry_->num_result_bytes += num_bytes;
}

ResultBytes::~ResultBytes() {
  if (registry_ == nullptr || num_bytes_ == 0) return;
  registry_->num_result_bytes -= num_bytes_;
  const auto own = registry_->result_bytes_of.find(client_);
  own->second -= num_bytes_;
  if (own->second == 0) registry_->result_bytes_of.erase(own);
}

absl::StatusOr<TokenizedEmbedReqInput> PrepareChunk(const ServedEncoder& encoder,
                                                    const EncodeBatch& chunk, LiveChunk& live) {
  TokenizedEmbedReqInput message;
  message.inputs.reserve(chunk.inputs.size());
  for (size_t i = 0; i < chunk.inputs.size(); ++i) {
    absl::StatusOr<EncodeInput> input =
        encoder.prepare(chunk.instruction, chunk.inputs[i], chunk.cut);
    if (!input.ok()) return OfInput(chunk, live.begin + i, input.status());
    live.num_tokens.push_back(std::ssize(input->ids));
    message.inputs.push_back(*std::move(input));
  }
  message.model = chunk.model;
  message.wish = chunk.wish;
  message.priority = chunk.priority;
  message.timeout_s = chunk.timeout_s;
  return message;
}

LiveEncoding::LiveEncoding(const asio::any_io_executor& executor,
                           std::shared_ptr<LiveRegistry> registry, std::string name,
                           const ServedEncoder& encoder, EncodeBatch batch, std::string client)
    : registry_(std::move(registry)),
      name_(std::move(name)),
      client_(std::move(client)),
      encoder_(encoder),
      batch_(std::move(batch)),
      num_abort_alls_(registry_->num_abort_alls),
      start_(Clock::now()),
      deadline_(After(start_, batch_.timeout_s)),
      wake_(executor) {
  encoded_.values.resize(batch_.inputs.size());
  if (batch_.wish.sparse) encoded_.sparse.resize(batch_.inputs.size());
  if (batch_.wish.multi_vector) encoded_.multi_vectors.resize(batch_.inputs.size());
  encoded_.num_tokens.resize(batch_.inputs.size());
  if (!name_.empty()) registry_->by_name.emplace(name_, this);
}

LiveEncoding::~LiveEncoding() {
  Abort();
  for (const auto& [begin, chunk] : under_way_) chunk->encoding = nullptr;
  if (!name_.empty()) registry_->by_name.erase(name_);
}

/// Chunks in flight may end before they notice the abort, so send no more.
void LiveEncoding::Abort() {
  Fail(/*begin=*/0, Aborted());
  if (registry_->pipeline != nullptr) {
    for (const auto& [begin, chunk] : under_way_) registry_->pipeline->Abort(*chunk);
  }
}

void LiveEncoding::Fail(size_t begin, absl::Status status) {
  if (!status_.ok() && failed_begin_ < begin) return;
  status_ = std::move(status);
  failed_begin_ = begin;
}

/// True if an error is recorded and no earlier chunk can still fail.
bool LiveEncoding::failed() const {
  return !status_.ok() && (under_way_.empty() || under_way_.begin()->first > failed_begin_);
}

asio::awaitable<absl::StatusOr<EncodedBatch>> LiveEncoding::Run() {
  while (true) {
    SendChunks();
    if (failed()) co_return status_;
    if (under_way_.empty()) break;
    co_await Wait();
    if (Clock::now() >= deadline_) co_return Overdue(batch_.timeout_s);
  }
  encoded_.seconds = std::chrono::duration<double>(Clock::now() - start_).count();
  co_return std::move(encoded_);
}

void LiveEncoding::SendChunks() {
  if (registry_->num_abort_alls > num_abort_alls_) Fail(/*begin=*/0, Aborted());
  while (status_.ok() && num_sent_ < batch_.inputs.size()) {
    const size_t most = registry_->num_chunks < kManyChunks ? kMaxChunks : 1;
    if (under_way_.size() >= most) return;
    absl::Status status = SendChunk();
    if (status.ok()) continue;
    // Chunks in flight will make room.
    if (absl::IsResourceExhausted(status) && !under_way_.empty()) return;
    Fail(num_sent_, std::move(status));
  }
}

absl::Status LiveEncoding::SendChunk() {
  if (registry_->pipeline == nullptr) return absl::UnavailableError("shutting down");
  const double left_s = std::chrono::duration<double>(deadline_ - Clock::now()).count();
  if (left_s <= 0.0) return Overdue(batch_.timeout_s);
  const auto first = batch_.inputs.begin() + static_cast<int64_t>(num_sent_);
  const size_t count = NumOfChunk(std::span(batch_.inputs).subspan(num_sent_));
  auto chunk = std::make_shared<EncodeBatch>(
      EncodeBatch{.model = batch_.model,
                  .inputs = {},
                  .field = batch_.field,
                  .is_list = batch_.is_list,
                  .inputs_per_entry = batch_.inputs_per_entry,
                  .instruction = batch_.instruction,
                  .cut = batch_.cut,
                  .wish = batch_.wish,
                  .priority = batch_.priority,
                  .timeout_s = deadline_ == Clock::time_point::max() ? batch_.timeout_s : left_s});
  auto live = std::make_shared<LiveChunk>();
  live->begin = num_sent_;
  int64_t num_tokens = 0;
  for (size_t i = 0; i < count; ++i) num_tokens += NumTokens(first[static_cast<int64_t>(i)]);
  under_way_.emplace(num_sent_, live);  // before the steps that cannot be undone
  const Pipeline::Pace pace =
      first->picture.empty() ? Pipeline::Pace::kQuick : Pipeline::Pace::kMayBeSlow;
  std::move(first, first + static_cast<int64_t>(count), std::back_inserter(chunk->inputs));
  const absl::Status status = registry_->pipeline->Submit(
      live, client_,
      [&encoder = encoder_, client = client_, num_before = num_tokens_sent_, chunk,
       live]() -> absl::StatusOr<RouterMessage> {
        SHORTLIST_ASSIGN_OR_RETURN(TokenizedEmbedReqInput message,
                                   PrepareChunk(encoder, *chunk, *live));
        message.client = client;
        message.num_before = num_before;
        return message;
      },
      pace);
  if (!status.ok()) {
    std::move(chunk->inputs.begin(), chunk->inputs.end(), first);
    under_way_.erase(num_sent_);
    return status;
  }
  live->encoding = this;
  ++registry_->num_live;
  ++registry_->num_chunks;
  num_sent_ += count;
  num_tokens_sent_ += num_tokens;
  return absl::OkStatus();
}

asio::awaitable<void> LiveEncoding::Wait() {
  wake_.expires_at(deadline_);
  co_await wake_.async_wait(asio::as_tuple(asio::use_awaitable));
  // Deliver() ends the wait, and so does cancellation of the coroutine.
  const auto state = co_await asio::this_coro::cancellation_state;
  if (state.cancelled() != asio::cancellation_type::none) {
    throw boost::system::system_error(asio::error::operation_aborted);
  }
}

void LiveEncoding::Deliver(const LiveChunk& chunk, absl::Status status,
                           std::vector<EncodeResult> results) {
  for (size_t i = 0; i < results.size() && status.ok(); ++i) {
    const size_t index = chunk.begin + i;
    if (const absl::Status checked = Check(results[i]); !checked.ok()) {
      status = OfInput(batch_, index, checked);
    }
    encoded_.values[index] = std::move(results[i].values);
    if (batch_.wish.sparse) encoded_.sparse[index] = std::move(results[i].sparse);
    if (batch_.wish.multi_vector)
      encoded_.multi_vectors[index] = std::move(results[i].multi_vector);
    encoded_.num_tokens[index] = chunk.num_tokens[i];
  }
  const size_t begin = chunk.begin;
  under_way_.erase(begin);
  if (!status.ok()) Fail(begin, std::move(status));
  wake_.cancel();
}

void Deliver(LiveRegistry& registry, LiveChunk& live, absl::Status status,
             std::vector<EncodeResult> results) {
  --registry.num_live;
  --registry.num_chunks;
  LiveEncoding* const encoding = std::exchange(live.encoding, nullptr);
  if (encoding != nullptr) encoding->Deliver(live, std::move(status), std::move(results));
}

}  // namespace shortlist
