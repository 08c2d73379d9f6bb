#include "serve/page.h"

#include <boost/asio/awaitable.hpp>
#include <string>
#include <string_view>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

// The assembler includes the documents of serve/page, which avoids a copy as literals.
#define SHORTLIST_INCLUDE_DOCUMENT(name, path) \
  asm(".section .rodata\n"                     \
      "shortlist_" name                        \
      "_begin:\n"                              \
      ".incbin \"" path                        \
      "\"\n"                                   \
      "shortlist_" name                        \
      "_end:\n"                                \
      ".previous\n")
SHORTLIST_INCLUDE_DOCUMENT("page", SHORTLIST_PAGE);
SHORTLIST_INCLUDE_DOCUMENT("docs", SHORTLIST_DOCS);
extern "C" const char shortlist_page_begin[], shortlist_page_end[];
extern "C" const char shortlist_docs_begin[], shortlist_docs_end[];

namespace shortlist {
namespace {

/// Allows no external content, only the page's own script, and no framing by other pages.
std::string ContentSecurityPolicy(const std::string& script_sha256) {
  const std::string hash = absl::Base64Escape(absl::HexStringToBytes(script_sha256));
  return absl::StrCat("default-src 'none'; script-src 'sha256-", hash,
                      "'; style-src 'unsafe-inline'; img-src data:; connect-src 'self'; "
                      "base-uri 'none'; form-action 'none'; frame-ancestors 'none'");
}

absl::Status AddDocument(const char* path, std::string_view document,
                         const std::string& script_sha256, RouteTable& table) {
  return table.Add({.method = "GET",
                    .path = path,
                    .access = Access::kPublic,
                    .handler = [document, policy = ContentSecurityPolicy(script_sha256)](
                                   const HttpRequest&,
                                   HttpResponse& response) -> boost::asio::awaitable<absl::Status> {
                      response.SetHeader("Content-Security-Policy", policy);
                      response.SetHeader("Cache-Control", "no-cache");
                      std::string page(document);
                      co_await response.Send(200, "text/html; charset=utf-8", std::move(page));
                      co_return absl::OkStatus();
                    }});
}

}  // namespace

absl::Status AddPages(RouteTable& table) {
  SHORTLIST_RETURN_IF_ERROR(AddDocument("/", {shortlist_page_begin, shortlist_page_end},
                                        SHORTLIST_PAGE_SCRIPT_SHA256, table));
  return AddDocument("/docs", {shortlist_docs_begin, shortlist_docs_end},
                     SHORTLIST_DOCS_SCRIPT_SHA256, table);
}

}  // namespace shortlist
