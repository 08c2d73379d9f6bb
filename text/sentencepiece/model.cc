#include "text/sentencepiece/model.h"

#include <dlfcn.h>

namespace shortlist {
namespace {

using LoadFunction = SentencePieceModel::LoadResult (*)(std::string_view);

/// Calls dlopen of the C library itself. The sanitizers' wrapper rejects RTLD_DEEPBIND; here the
/// flag is safe, because the module depends on the same sanitizer runtime.
void* OpenModule(const char* name, int flags) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  void* libc = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
  const auto real = reinterpret_cast<void* (*)(const char*, int)>(dlsym(libc, "dlopen"));
  return real(name, flags);
#else
  return dlopen(name, flags);
#endif
}

struct Module {
  LoadFunction load = nullptr;
  std::string problem;
};

Module Open() {
  // DEEPBIND: libsentencepiece finds its own protobuf before libtorch's. LOCAL: libtorch's protobuf
  // never finds libsentencepiece's. The module stays open for the life of the process.
  Module module;
  void* handle = OpenModule("libshortlist_sentencepiece.so", RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
  if (handle != nullptr) {
    module.load = reinterpret_cast<LoadFunction>(dlsym(handle, "ShortlistLoadSentencePiece"));
  }
  if (module.load == nullptr)
    module.problem = std::string("cannot open the SentencePiece module: ") + dlerror();
  return module;
}

}  // namespace

SentencePieceModel::LoadResult SentencePieceModel::Load(std::string_view serialized) {
  static const Module module = Open();
  if (module.load == nullptr) return module.problem;
  return module.load(serialized);
}

}  // namespace shortlist
