#ifndef SHORTLIST_SERVE_OPENAPI_H_
#define SHORTLIST_SERVE_OPENAPI_H_

namespace shortlist::openapi {

/// Operation objects of OpenAPI 3.1, as JSON text, for routes that take a body. What they say of a
/// field is what the route accepts; a field that they do not name may be accepted too.
extern const char kChat[];
extern const char kCompletions[];
extern const char kGenerate[];
extern const char kTokenize[];
extern const char kDetokenize[];
extern const char kAbortRequest[];

}  // namespace shortlist::openapi

#endif  // SHORTLIST_SERVE_OPENAPI_H_
