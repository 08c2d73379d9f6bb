#include "serve/access_log.h"

#include <spdlog/async_logger.h>
#include <spdlog/details/thread_pool.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <string>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace shortlist {
namespace {

constexpr size_t kMaxPendingLines = 8192;

/// A value that came from a client, fit to stand behind "key=": quoted and escaped where it could
/// be read as something else.
std::string Value(const std::string& text) {
  if (text.find_first_of(" \"=\\") == text.npos) return text;
  return absl::StrCat("\"", absl::CEscape(text), "\"");
}

}  // namespace

struct AccessLog::Sink {
  Sink()
      : threads(std::make_shared<spdlog::details::thread_pool>(kMaxPendingLines, 1)),
        logger(std::make_shared<spdlog::async_logger>(
            "serve", std::make_shared<spdlog::sinks::stderr_sink_mt>(), threads,
            spdlog::async_overflow_policy::overrun_oldest)) {
    logger->set_pattern("time=%Y-%m-%dT%H:%M:%S.%e%z %v");
  }

  const std::shared_ptr<spdlog::details::thread_pool> threads;
  const std::shared_ptr<spdlog::async_logger> logger;
};

AccessLog::AccessLog() : sink_(std::make_unique<Sink>()) {}
AccessLog::~AccessLog() = default;

void AccessLog::Write(const RequestRecord& record) {
  std::string line = absl::StrCat(
      "event=request id=", Value(record.id), " method=", Value(record.method.substr(0, 16)),
      " route=", record.route.empty() ? "none" : record.route, " status=", record.status,
      " ms=", absl::StrFormat("%.1f", 1e3 * record.seconds), " bytes=", record.response_bytes);
  if (record.prompt_tokens > 0) {
    absl::StrAppend(&line, " prompt_tokens=", record.prompt_tokens,
                    " completion_tokens=", record.completion_tokens);
  }
  if (!record.error_code.empty()) absl::StrAppend(&line, " error=", record.error_code);
  if (record.client_gone) absl::StrAppend(&line, " client_gone=1");
  if (!record.traceparent.empty()) absl::StrAppend(&line, " traceparent=", record.traceparent);
  sink_->logger->log(spdlog::level::info, line);
}

void AccessLog::Write(std::string_view what, std::string_view details) {
  const std::string line =
      absl::StrCat("event=", std::string(what), details.empty() ? "" : " ", std::string(details));
  sink_->logger->log(spdlog::level::info, line);
}

}  // namespace shortlist
