#include "serve/page.h"

#include <boost/asio/awaitable.hpp>
#include <cstddef>
#include <string>

// serve/page.html, by the assembler, which needs no copy of it as a literal.
asm(".section .rodata\n"
    "shortlist_page_begin:\n"
    ".incbin \"" SHORTLIST_PAGE
    "\"\n"
    "shortlist_page_end:\n"
    ".previous\n");
extern "C" const char shortlist_page_begin[], shortlist_page_end[];

namespace shortlist {

absl::Status AddPage(RouteTable& table) {
  return table.Add({.method = "GET",
                    .path = "/",
                    .access = Access::kPublic,
                    .handler = [](const HttpRequest&,
                                  HttpResponse& response) -> boost::asio::awaitable<absl::Status> {
                      // Nothing from elsewhere, and in nobody's frame.
                      response.SetHeader(
                          "Content-Security-Policy",
                          "default-src 'none'; script-src 'unsafe-inline'; style-src "
                          "'unsafe-inline'; img-src data:; connect-src 'self'; base-uri 'none'; "
                          "form-action 'none'; frame-ancestors 'none'");
                      response.SetHeader("X-Content-Type-Options", "nosniff");
                      response.SetHeader("Cache-Control", "no-cache");
                      std::string page(shortlist_page_begin, shortlist_page_end);
                      co_await response.Send(200, "text/html; charset=utf-8", std::move(page));
                      co_return absl::OkStatus();
                    }});
}

}  // namespace shortlist
