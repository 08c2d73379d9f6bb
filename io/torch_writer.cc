#include "io/torch_writer.h"

#include <zlib.h>

#include <cstring>
#include <string_view>

namespace shortlist {
namespace {

constexpr std::string_view kFolder = "list";  // torch.save uses the file's name
constexpr size_t kAlignment = 64;             // of members' bytes, as in PyTorch's writer
constexpr uint16_t kDosDate = 0x21;           // 1980-01-01: equal lists produce equal files

template <typename Integer>
void Put(Integer value, std::string& bytes) {
  for (size_t i = 0; i < sizeof value; ++i) {
    bytes.push_back(static_cast<char>(static_cast<uint64_t>(value) >> 8 * i));
  }
}

/// A zip archive of stored members (PKWARE's APPNOTE.TXT, 4.3), below 4 GiB.
class ZipWriter {
 public:
  void Add(std::string_view name, std::string_view contents) {
    const std::string path = std::string(kFolder) + "/" + std::string(name);
    const size_t offset = archive_.size();
    constexpr size_t kHeaderBytes = 30, kExtraBytes = 4;
    const size_t unpadded = offset + kHeaderBytes + path.size() + kExtraBytes;
    const size_t padding = (kAlignment - unpadded % kAlignment) % kAlignment;
    std::string fields = Fields(contents);
    Put<uint16_t>(static_cast<uint16_t>(path.size()), fields);

    Put<uint32_t>(0x04034b50, archive_);
    archive_ += fields;
    Put<uint16_t>(static_cast<uint16_t>(kExtraBytes + padding), archive_);
    archive_ += path;
    archive_ += "FB";  // the extra field that PyTorch uses for padding
    Put<uint16_t>(static_cast<uint16_t>(padding), archive_);
    archive_.append(padding, 'Z');
    archive_ += contents;

    Put<uint32_t>(0x02014b50, directory_);
    Put<uint16_t>(0, directory_);  // made by
    directory_ += fields;
    directory_.append(12, '\0');  // no extra field, no comment, first disk, attributes
    Put<uint32_t>(static_cast<uint32_t>(offset), directory_);
    directory_ += path;
    ++num_members_;
  }

  std::string Finish() && {
    const size_t offset = archive_.size();
    archive_ += directory_;
    Put<uint32_t>(0x06054b50, archive_);
    Put<uint32_t>(0, archive_);  // of one disk
    Put<uint16_t>(num_members_, archive_);
    Put<uint16_t>(num_members_, archive_);
    Put<uint32_t>(static_cast<uint32_t>(directory_.size()), archive_);
    Put<uint32_t>(static_cast<uint32_t>(offset), archive_);
    Put<uint16_t>(0, archive_);  // no comment
    return std::move(archive_);
  }

 private:
  /// Returns the fields common to both headers of a member, up to its sizes.
  static std::string Fields(std::string_view contents) {
    std::string fields;
    Put<uint16_t>(20, fields);  // version needed: 2.0
    Put<uint16_t>(0, fields);   // flags
    Put<uint16_t>(0, fields);   // stored
    Put<uint16_t>(0, fields);   // time
    Put<uint16_t>(kDosDate, fields);
    Put<uint32_t>(static_cast<uint32_t>(
                      crc32_z(0, reinterpret_cast<const Bytef*>(contents.data()), contents.size())),
                  fields);
    Put<uint32_t>(static_cast<uint32_t>(contents.size()), fields);
    Put<uint32_t>(static_cast<uint32_t>(contents.size()), fields);
    return fields;
  }

  std::string archive_, directory_;
  uint16_t num_members_ = 0;
};

/// Opcodes of Python's pickletools, protocol 2.
class PickleWriter {
 public:
  PickleWriter() { bytes_ += "\x80\x02"; }
  void Global(std::string_view module, std::string_view name) {
    bytes_ += 'c';
    bytes_ += module;
    bytes_ += '\n';
    bytes_ += name;
    bytes_ += '\n';
  }
  void String(std::string_view text) {
    bytes_ += 'X';
    Put<uint32_t>(static_cast<uint32_t>(text.size()), bytes_);
    bytes_ += text;
  }
  void Int(int32_t value) {
    bytes_ += 'J';
    Put<int32_t>(value, bytes_);
  }
  void Op(std::string_view opcodes) { bytes_ += opcodes; }
  std::string Finish() && { return std::move(bytes_) + "."; }

 private:
  std::string bytes_;
};

}  // namespace

std::string TorchFileOf(std::span<const int64_t> values) {
  const int32_t size = static_cast<int32_t>(values.size());
  PickleWriter pickle;
  // _rebuild_tensor_v2(storage, offset, (size,), (stride,), requires_grad, OrderedDict())
  pickle.Global("torch._utils", "_rebuild_tensor_v2");
  pickle.Op("((");
  pickle.String("storage");
  pickle.Global("torch", "LongStorage");
  pickle.String("0");
  pickle.String("cpu");
  pickle.Int(size);
  pickle.Op("tQ");
  pickle.Int(0);
  pickle.Int(size);
  pickle.Op("\x85");
  pickle.Int(1);
  pickle.Op("\x85\x89");
  pickle.Global("collections", "OrderedDict");
  pickle.Op(")RtR");

  std::string storage;
  storage.reserve(values.size_bytes());
  for (const int64_t value : values) Put<int64_t>(value, storage);
  ZipWriter zip;
  zip.Add("data.pkl", std::move(pickle).Finish());
  zip.Add("byteorder", "little");
  zip.Add("data/0", storage);
  zip.Add("version", "3\n");
  return std::move(zip).Finish();
}

}  // namespace shortlist
