#include "draft/past_outputs.h"

#include <algorithm>
#include <bit>
#include <new>

#include "base/check.h"

namespace shortlist {
namespace {

// Share of the bytes for lists of outputs and clients. Short outputs of many clients reach it.
constexpr int64_t kListShare = 8;
// Of a client, besides its salt's characters: the table's node and bucket.
constexpr int64_t kClientBytes = 96;

int64_t CapacityFor(int64_t max_bytes) {
  SHORTLIST_CHECK(max_bytes >= PastOutputs::kMinBytes);
  const int64_t most = (max_bytes - max_bytes / kListShare) / SuffixIndex::kBytesPerToken;
  return std::min(static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(most))),
                  SuffixIndex::kMaxCapacity);
}

}  // namespace

PastOutputs::PastOutputs(int64_t max_bytes)
    : max_list_bytes_(max_bytes / kListShare), index_(CapacityFor(max_bytes)) {}

int64_t PastOutputs::BytesOf(const std::string& cache_salt) {
  return kClientBytes + static_cast<int64_t>(cache_salt.capacity());
}

int64_t PastOutputs::bytes() const {
  return index_.capacity() * SuffixIndex::kBytesPerToken + list_bytes_;
}

/// Drops the oldest output from the lists, and what is left of it from the index.
void PastOutputs::ForgetOldest() {
  const auto [end, client] = outputs_.front();
  outputs_.pop_front();
  list_bytes_ -= static_cast<int64_t>(sizeof(Output));
  index_.DropBefore(end);
  if (--client->second.num_outputs > 0) return;
  list_bytes_ -= BytesOf(client->first);
  clients_.erase(clients_.find(client->first));
}

void PastOutputs::Add(const std::string& cache_salt, std::span<const TokenId> output) {
  if (std::ssize(output) <= SuffixIndex::kOrders.front()) return;
  const auto most = max_list_bytes_ - static_cast<int64_t>(sizeof(Output));
  if (BytesOf(cache_salt) > most) return;
  try {
    outputs_.push_back({.end = 0, .client = nullptr});
    const auto [entry, is_new] = clients_.try_emplace(cache_salt, Client{next_owner_});
    if (is_new) {
      // No number must be in use when they start again.
      if (++next_owner_ == 0) {
        while (outputs_.size() > 1) ForgetOldest();
      }
      list_bytes_ += BytesOf(entry->first);
    }
    outputs_.back().client = &*entry;
  } catch (const std::bad_alloc&) {  // drafts are optional
    if (!outputs_.empty() && outputs_.back().client == nullptr) outputs_.pop_back();
    return;
  }
  ++outputs_.back().client->second.num_outputs;
  list_bytes_ += static_cast<int64_t>(sizeof(Output));
  index_.Append(outputs_.back().client->second.owner, output);
  index_.EndText();
  outputs_.back().end = index_.end();
  while (!outputs_.empty() &&
         (outputs_.front().end <= index_.begin() || list_bytes_ > max_list_bytes_)) {
    ForgetOldest();
  }
}

SuffixMatch PastOutputs::Find(const std::string& cache_salt, std::span<const TokenId> text,
                              std::span<const TokenId> drafted) const {
  const auto client = clients_.find(cache_salt);
  if (client == clients_.end()) return {};
  return index_.Find(client->second.owner, text, drafted);
}

}  // namespace shortlist
