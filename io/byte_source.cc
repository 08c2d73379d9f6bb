#include "io/byte_source.h"

#include <lzma.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/file.h"
#include "base/status_macros.h"

namespace shortlist {
namespace {

constexpr uint64_t kMaxXzMemory = uint64_t{256} << 20;  // xz -9 needs 65 MiB
constexpr int kMaxZstdWindowLog = 27;                   // zstd's own default limit, 128 MiB

/// Returns the bytes as stored.
class PlainSource : public ByteSource {
 public:
  PlainSource(std::istream& in, std::string name) : in_(in), name_(std::move(name)) {}
  PlainSource(std::unique_ptr<std::ifstream> file, std::string name)
      : file_(std::move(file)), in_(*file_), name_(std::move(name)) {}

  absl::Status Read(std::string& chunk) override {
    chunk.resize(kChunkBytes);
    in_.read(chunk.data(), static_cast<std::streamsize>(chunk.size()));
    chunk.resize(in_.gcount());
    num_stored_bytes_ += in_.gcount();
    if (!in_.bad()) return absl::OkStatus();
    return absl::UnavailableError(absl::StrCat(name_, ": cannot read: ", std::strerror(errno)));
  }

  int64_t num_stored_bytes() const override { return num_stored_bytes_; }
  const std::string& name() const { return name_; }

 private:
  int64_t num_stored_bytes_ = 0;
  std::unique_ptr<std::ifstream> file_;
  std::istream& in_;
  const std::string name_;
};

/// Unpacks the bytes of a PlainSource. Step() implements the format.
class PackedSource : public ByteSource {
 public:
  PackedSource(std::unique_ptr<PlainSource> plain, std::string head)
      : plain_(std::move(plain)), packed_(std::move(head)) {}

  absl::Status Read(std::string& chunk) override {
    chunk.resize(kChunkBytes);
    size_t num_out = 0;
    while (num_out == 0) {
      if (used_ == packed_.size() && !at_end_) {
        SHORTLIST_RETURN_IF_ERROR(plain_->Read(packed_));
        used_ = 0;
        at_end_ = packed_.empty();
      }
      const size_t used_before = used_;
      SHORTLIST_RETURN_IF_ERROR(Step(packed_, used_, at_end_, chunk, num_out));
      if (at_end_ && num_out == 0 && used_ == used_before) {
        if (!is_complete_) return Damaged("it is cut short");
        break;
      }
    }
    chunk.resize(num_out);
    return absl::OkStatus();
  }
  int64_t num_stored_bytes() const override { return plain_->num_stored_bytes(); }

 protected:
  /// Unpacks `in`, of which `used` bytes are consumed, to `out` from `num_out` on. Updates both and
  /// sets is_complete_.
  virtual absl::Status Step(const std::string& in, size_t& used, bool at_end, std::string& out,
                            size_t& num_out) = 0;

  absl::Status Damaged(const std::string& problem) const {
    return absl::InvalidArgumentError(absl::StrCat(plain_->name(), ": damaged: ", problem));
  }

  bool is_complete_ = false;  // the bytes so far are complete members

 private:
  std::unique_ptr<PlainSource> plain_;
  std::string packed_;
  size_t used_ = 0;
  bool at_end_ = false;
};

class GzipSource : public PackedSource {
 public:
  GzipSource(std::unique_ptr<PlainSource> plain, std::string head)
      : PackedSource(std::move(plain), std::move(head)) {
    SHORTLIST_CHECK(inflateInit2(&stream_, /*windowBits, gzip=*/15 + 16) == Z_OK);
  }
  ~GzipSource() override { inflateEnd(&stream_); }

 private:
  absl::Status Step(const std::string& in, size_t& used, bool /*at_end*/, std::string& out,
                    size_t& num_out) override {
    if (used == in.size()) return absl::OkStatus();
    if (is_complete_) {  // another member follows
      inflateReset(&stream_);
      is_complete_ = false;
    }
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(in.data() + used));
    stream_.avail_in = static_cast<uInt>(in.size() - used);
    stream_.next_out = reinterpret_cast<Bytef*>(out.data() + num_out);
    stream_.avail_out = static_cast<uInt>(out.size() - num_out);
    const int result = inflate(&stream_, Z_NO_FLUSH);
    used = in.size() - stream_.avail_in;
    num_out = out.size() - stream_.avail_out;
    is_complete_ = result == Z_STREAM_END;
    if (result == Z_OK || result == Z_STREAM_END || result == Z_BUF_ERROR) return absl::OkStatus();
    return Damaged(absl::StrCat("gzip: ", stream_.msg == nullptr ? "not a member" : stream_.msg));
  }

  z_stream stream_{};
};

class XzSource : public PackedSource {
 public:
  XzSource(std::unique_ptr<PlainSource> plain, std::string head)
      : PackedSource(std::move(plain), std::move(head)) {
    Begin();
  }
  ~XzSource() override { lzma_end(&stream_); }

 private:
  void Begin() {
    SHORTLIST_CHECK(lzma_stream_decoder(&stream_, kMaxXzMemory, /*flags=*/0) == LZMA_OK);
  }

  /// Consumes the padding after a stream: zero bytes, a multiple of four. Begins the next stream,
  /// if any.
  absl::Status PassPadding(const std::string& in, size_t& used) {
    const size_t end = std::min(in.find_first_not_of('\0', used), in.size());
    num_padding_ += end - used;
    used = end;
    is_complete_ = num_padding_ % 4 == 0;
    if (used == in.size()) return absl::OkStatus();
    if (in[used] != '\xfd' || !is_complete_) {
      return Damaged("xz: bytes after its end, which are no xz stream");
    }
    is_between_ = is_complete_ = false;
    Begin();
    return absl::OkStatus();
  }

  absl::Status Step(const std::string& in, size_t& used, bool at_end, std::string& out,
                    size_t& num_out) override {
    if (is_between_) SHORTLIST_RETURN_IF_ERROR(PassPadding(in, used));
    if (is_between_) return absl::OkStatus();
    stream_.next_in = reinterpret_cast<const uint8_t*>(in.data()) + used;
    stream_.avail_in = in.size() - used;
    stream_.next_out = reinterpret_cast<uint8_t*>(out.data()) + num_out;
    stream_.avail_out = out.size() - num_out;
    const lzma_ret result = lzma_code(&stream_, at_end ? LZMA_FINISH : LZMA_RUN);
    used = in.size() - stream_.avail_in;
    num_out = out.size() - stream_.avail_out;
    is_complete_ = is_between_ = result == LZMA_STREAM_END;
    num_padding_ = 0;
    if (result == LZMA_OK || result == LZMA_STREAM_END || result == LZMA_BUF_ERROR) {
      return absl::OkStatus();
    }
    return Damaged(absl::StrCat("xz: error ", static_cast<int>(result), " of liblzma"));
  }

  lzma_stream stream_ = LZMA_STREAM_INIT;
  bool is_between_ = false;  // a stream has ended
  size_t num_padding_ = 0;   // bytes of padding after it
};

class ZstdSource : public PackedSource {
 public:
  ZstdSource(std::unique_ptr<PlainSource> plain, std::string head)
      : PackedSource(std::move(plain), std::move(head)), context_(ZSTD_createDCtx()) {
    SHORTLIST_CHECK(context_ != nullptr);
    ZSTD_DCtx_setParameter(context_, ZSTD_d_windowLogMax, kMaxZstdWindowLog);
  }
  ~ZstdSource() override { ZSTD_freeDCtx(context_); }

 private:
  absl::Status Step(const std::string& in, size_t& used, bool /*at_end*/, std::string& out,
                    size_t& num_out) override {
    if (used == in.size() && is_complete_) return absl::OkStatus();
    ZSTD_inBuffer source{in.data(), in.size(), used};
    ZSTD_outBuffer sink{out.data(), out.size(), num_out};
    const size_t result = ZSTD_decompressStream(context_, &sink, &source);
    if (ZSTD_isError(result) != 0) {
      return Damaged(absl::StrCat("zstd: ", ZSTD_getErrorName(result)));
    }
    used = source.pos;
    num_out = sink.pos;
    is_complete_ = result == 0;
    return absl::OkStatus();
  }

  ZSTD_DCtx* context_;
};

/// A source whose first chunk has already been read.
class BegunSource : public ByteSource {
 public:
  BegunSource(std::unique_ptr<PlainSource> rest, std::string head)
      : rest_(std::move(rest)), head_(std::move(head)) {}

  absl::Status Read(std::string& chunk) override {
    if (head_.empty()) return rest_->Read(chunk);
    chunk = std::exchange(head_, "");
    return absl::OkStatus();
  }
  int64_t num_stored_bytes() const override { return rest_->num_stored_bytes(); }

 private:
  std::unique_ptr<PlainSource> rest_;
  std::string head_;
};

absl::StatusOr<std::unique_ptr<ByteSource>> Unpacking(std::unique_ptr<PlainSource> plain) {
  std::string head;
  SHORTLIST_RETURN_IF_ERROR(plain->Read(head));
  const auto begins = [&](const char* magic, size_t size) {
    return head.compare(0, size, magic, size) == 0;
  };
  if (begins("\x1f\x8b", 2)) return std::make_unique<GzipSource>(std::move(plain), std::move(head));
  if (begins("\xfd"
             "7zXZ\0",
             6)) {
    return std::make_unique<XzSource>(std::move(plain), std::move(head));
  }
  if (begins("\x28\xb5\x2f\xfd", 4)) {
    return std::make_unique<ZstdSource>(std::move(plain), std::move(head));
  }
  return std::make_unique<BegunSource>(std::move(plain), std::move(head));
}

}  // namespace

absl::StatusOr<std::unique_ptr<ByteSource>> ByteSource::Open(const std::string& path) {
  std::error_code error;
  const std::filesystem::file_type type = std::filesystem::status(path, error).type();
  if (type == std::filesystem::file_type::not_found) {
    return absl::NotFoundError(absl::StrCat(path, ": no such file"));
  }
  if (type == std::filesystem::file_type::directory) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": a directory, not a file"));
  }
  auto file = std::make_unique<std::ifstream>(path, std::ios::binary);
  if (!*file) {
    return absl::UnavailableError(absl::StrCat(path, ": cannot open: ", std::strerror(errno)));
  }
  return Unpacking(std::make_unique<PlainSource>(std::move(file), path));
}

absl::StatusOr<std::unique_ptr<ByteSource>> ByteSource::Of(std::istream& in,
                                                           const std::string& name) {
  return Unpacking(std::make_unique<PlainSource>(in, name));
}

absl::StatusOr<std::string> ReadUnpacked(const std::string& path, int64_t max_bytes) {
  // A list is a regular file: ReadFile checks its kind and size.
  SHORTLIST_ASSIGN_OR_RETURN(std::string contents, ReadFile(path, max_bytes));
  std::istringstream in(std::exchange(contents, ""));
  SHORTLIST_ASSIGN_OR_RETURN(const std::unique_ptr<ByteSource> source, ByteSource::Of(in, path));
  for (std::string chunk;;) {
    SHORTLIST_RETURN_IF_ERROR(source->Read(chunk));
    if (chunk.empty()) return contents;
    contents += chunk;
    if (std::ssize(contents) > max_bytes) {
      return absl::InvalidArgumentError(absl::StrCat(path, ": unpacked it has more than the ",
                                                     max_bytes, " bytes admitted here"));
    }
  }
}

std::string PackXz(const std::string& contents) {
  std::string packed(lzma_stream_buffer_bound(contents.size()), '\0');
  size_t size = 0;
  const lzma_ret result =
      lzma_easy_buffer_encode(LZMA_PRESET_DEFAULT, LZMA_CHECK_CRC64, /*allocator=*/nullptr,
                              reinterpret_cast<const uint8_t*>(contents.data()), contents.size(),
                              reinterpret_cast<uint8_t*>(packed.data()), &size, packed.size());
  SHORTLIST_CHECK(result == LZMA_OK);
  packed.resize(size);
  return packed;
}

}  // namespace shortlist
