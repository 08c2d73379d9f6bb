#include "serve/http/admission.h"

#include <algorithm>
#include <utility>

namespace shortlist {
namespace {

constexpr int64_t kMaxSpare = 16;
constexpr int64_t kMaxSparePerAddress = 4;
constexpr int64_t kMaxRefused = HttpAdmission::kMaxBeyond - kMaxSpare;
constexpr int64_t kFreeBodyBytes = 16 << 10;  // of each connection, in addition to the limits
constexpr int64_t kMaxWrongKeys = 30;         // of one address within a minute
constexpr size_t kMaxCountedAddresses = 10'000;
constexpr int64_t kDefaultBodyBytes = int64_t{128} << 20;

int64_t MaxBodyBytes(const HttpLimits& limits) {
  if (limits.max_total_body_bytes > 0) return limits.max_total_body_bytes;
  return std::max(kDefaultBodyBytes, 2 * limits.max_body_bytes);
}

}  // namespace

HttpAdmission::HttpAdmission(const HttpLimits& limits)
    : max_connections_(limits.max_connections),
      max_connections_per_address_(limits.max_connections_per_address > 0
                                       ? limits.max_connections_per_address
                                       : (limits.max_connections + 1) / 2),
      max_body_bytes_(MaxBodyBytes(limits)),
      max_body_bytes_per_address_(std::max(max_body_bytes_ / 2, limits.max_body_bytes)),
      yield_after_(limits.yield_after) {}

HttpAdmission::Place::Place(HttpAdmission& admission, const std::string& address,
                            std::function<void()> close)
    : admission_(admission), address_(address), close_(std::move(close)), kind_(Choose()) {
  ++admission_.addresses_[address_].num_places;
  Count(+1);
}

HttpAdmission::Place::~Place() {
  SetBody(0);
  SetIdle(false);
  if (counts_) Count(-1);
  const auto own = admission_.addresses_.find(address_);
  if (--own->second.num_places == 0) admission_.addresses_.erase(own);
}

HttpAdmission::Kind HttpAdmission::Place::Choose() {
  HttpAdmission& all = admission_;
  if (all.addresses_[address_].num_served >= all.max_connections_per_address_) {
    if (Place* const other = FindIdle(Kind::kServed, &address_)) other->Leave();
  } else if (all.num(Kind::kServed) >= all.max_connections_) {
    if (Place* const other = FindIdle(Kind::kServed, nullptr)) other->Leave();
  }
  if (!IsFull()) return Kind::kServed;
  const Address& own = all.addresses_[address_];
  if (own.num_spare >= kMaxSparePerAddress) {
    if (Place* const other = FindIdle(Kind::kSpare, &address_)) other->Leave();
  } else if (all.num(Kind::kSpare) >= kMaxSpare) {
    if (Place* const other = FindIdle(Kind::kSpare, nullptr)) other->Leave();
  }
  const bool has_spare = all.num(Kind::kSpare) < kMaxSpare && own.num_spare < kMaxSparePerAddress;
  if (has_spare) return Kind::kSpare;
  return all.num(Kind::kRefused) < kMaxRefused ? Kind::kRefused : Kind::kDropped;
}

bool HttpAdmission::Place::IsFull() const {
  return admission_.num(Kind::kServed) >= admission_.max_connections_ ||
         admission_.addresses_[address_].num_served >= admission_.max_connections_per_address_;
}

/// Returns the connection that has been idle longest, if for long enough, else null. A new
/// connection has its request on its way.
HttpAdmission::Place* HttpAdmission::Place::FindIdle(Kind kind,
                                                     const std::string* of_address) const {
  for (Place* const place : admission_.idle_) {
    if (Clock::now() - place->idle_since_ < admission_.yield_after_) break;
    if (place->kind_ != kind) continue;
    if (of_address == nullptr || place->address_ == *of_address) return place;
  }
  return nullptr;
}

void HttpAdmission::Place::Count(int64_t change) {
  admission_.num(kind_) += change;
  if (kind_ == Kind::kServed) admission_.addresses_[address_].num_served += change;
  if (kind_ == Kind::kSpare) admission_.addresses_[address_].num_spare += change;
}

/// Frees the place for another connection at once.
void HttpAdmission::Place::Leave() {
  SetIdle(false);
  Count(-1);
  counts_ = false;
  close_();
}

void HttpAdmission::Place::SetIdle(bool is_idle) {
  if (is_idle == is_idle_ || (is_idle && !counts_)) return;
  if (is_idle) {
    idle_ = admission_.idle_.insert(admission_.idle_.end(), this);
    idle_since_ = Clock::now();
  } else {
    admission_.idle_.erase(idle_);
  }
  is_idle_ = is_idle;
}

bool HttpAdmission::Place::SetBody(int64_t bytes) {
  const Address& own = admission_.addresses_[address_];
  const int64_t change = bytes - body_bytes_;
  const bool is_judged = change > 0 && bytes > kFreeBodyBytes;
  if (is_judged && (admission_.body_bytes_ + change > admission_.max_body_bytes_ ||
                    own.body_bytes + change > admission_.max_body_bytes_per_address_)) {
    return false;
  }
  Hold(bytes);
  return true;
}

bool HttpAdmission::Place::SetReply(int64_t bytes) {
  const Address& own = admission_.addresses_[address_];
  if (bytes > kFreeBodyBytes &&
      (admission_.body_bytes_ - body_bytes_ >= admission_.max_body_bytes_ ||
       own.body_bytes - body_bytes_ >= admission_.max_body_bytes_per_address_)) {
    return false;
  }
  Hold(bytes);
  return true;
}

void HttpAdmission::Place::Hold(int64_t bytes) {
  admission_.addresses_[address_].body_bytes += bytes - body_bytes_;
  admission_.body_bytes_ += bytes - body_bytes_;
  body_bytes_ = bytes;
}

bool HttpAdmission::Place::NoteWrongKey() {
  const Clock::time_point now = Clock::now();
  auto& counts = admission_.wrong_keys_;
  if (now - admission_.minute_ > std::chrono::minutes(1)) {
    admission_.minute_ = now;
    counts.clear();
  }
  if (counts.size() >= kMaxCountedAddresses && !counts.contains(address_)) return true;
  return ++counts[address_] > kMaxWrongKeys;
}

}  // namespace shortlist
