#include "serve/page.h"

#include <boost/asio/awaitable.hpp>
#include <cstddef>
#include <string>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

// serve/page, as one document, by the assembler, which needs no copy of it as a literal.
asm(".section .rodata\n"
    "shortlist_page_begin:\n"
    ".incbin \"" SHORTLIST_PAGE
    "\"\n"
    "shortlist_page_end:\n"
    ".previous\n");
extern "C" const char shortlist_page_begin[], shortlist_page_end[];

namespace shortlist {

namespace {

/// Nothing from elsewhere, no script but the page's own, and in nobody's frame.
std::string ContentSecurityPolicy() {
  const std::string hash = absl::Base64Escape(absl::HexStringToBytes(SHORTLIST_PAGE_SCRIPT_SHA256));
  return absl::StrCat("default-src 'none'; script-src 'sha256-", hash,
                      "'; style-src 'unsafe-inline'; img-src data:; connect-src 'self'; "
                      "base-uri 'none'; form-action 'none'; frame-ancestors 'none'");
}

}  // namespace

absl::Status AddPage(RouteTable& table) {
  return table.Add({.method = "GET",
                    .path = "/",
                    .access = Access::kPublic,
                    .handler = [](const HttpRequest&,
                                  HttpResponse& response) -> boost::asio::awaitable<absl::Status> {
                      response.SetHeader("Content-Security-Policy", ContentSecurityPolicy());
                      response.SetHeader("Cache-Control", "no-cache");
                      std::string page(shortlist_page_begin, shortlist_page_end);
                      co_await response.Send(200, "text/html; charset=utf-8", std::move(page));
                      co_return absl::OkStatus();
                    }});
}

}  // namespace shortlist
