#include "io/torch_file.h"

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "io/pickle.h"
#include "io/quote.h"
#include "io/zip_directory.h"
#include "nlohmann/json.hpp"

namespace shortlist {
namespace {

using Kind = PickleValue::Kind;
using Members = std::map<std::string, ZipMember>;

constexpr int64_t kMaxPickleBytes = 64 << 20;

// Functions with which torch._utils and torch._tensor build a tensor: from a typed storage; from
// bytes and a dtype (for dtypes without a storage type); with attributes; as a parameter.
constexpr const char* kRebuildTensor = "torch._utils._rebuild_tensor_v2";
constexpr const char* kRebuildOfBytes = "torch._utils._rebuild_tensor_v3";
constexpr const char* kRebuildWithState = "torch._tensor._rebuild_from_type_v2";
constexpr const char* kRebuildParameter = "torch._utils._rebuild_parameter";
constexpr const char* kTensorClass = "torch.Tensor";

struct ElementType {
  const char* storage_name;  // null: no such storage
  const char* torch_name;
  const char* dtype_name;
  int64_t bytes;
  std::optional<DType> dtype;
};
constexpr std::array kElementTypes = {
    ElementType{"torch.FloatStorage", "torch.float32", "F32", 4, DType::kF32},
    ElementType{"torch.HalfStorage", "torch.float16", "F16", 2, DType::kF16},
    ElementType{"torch.BFloat16Storage", "torch.bfloat16", "BF16", 2, DType::kBf16},
    ElementType{"torch.DoubleStorage", "torch.float64", "F64", 8, std::nullopt},
    ElementType{"torch.LongStorage", "torch.int64", "I64", 8, std::nullopt},
    ElementType{"torch.IntStorage", "torch.int32", "I32", 4, std::nullopt},
    ElementType{"torch.ShortStorage", "torch.int16", "I16", 2, std::nullopt},
    ElementType{"torch.CharStorage", "torch.int8", "I8", 1, std::nullopt},
    ElementType{"torch.ByteStorage", "torch.uint8", "U8", 1, std::nullopt},
    ElementType{"torch.BoolStorage", "torch.bool", "BOOL", 1, std::nullopt},
    ElementType{nullptr, "torch.uint16", "U16", 2, std::nullopt},
    ElementType{nullptr, "torch.uint32", "U32", 4, std::nullopt},
    ElementType{nullptr, "torch.uint64", "U64", 8, std::nullopt},
    ElementType{nullptr, "torch.float8_e4m3fn", "F8_E4M3", 1, std::nullopt},
    ElementType{nullptr, "torch.float8_e5m2", "F8_E5M2", 1, std::nullopt},
    ElementType{nullptr, "torch.float8_e8m0fnu", "F8_E8M0", 1, std::nullopt},
};
// A storage of bytes; the tensor gives the type of its elements.
constexpr ElementType kBytes = {"torch.storage.UntypedStorage", nullptr, "U8", 1, std::nullopt};

std::vector<const char*> AllowedGlobals() {
  std::vector<const char*> names = {"collections.OrderedDict", kRebuildTensor, kRebuildOfBytes,
                                    kRebuildWithState,         kTensorClass,   kRebuildParameter,
                                    kBytes.storage_name};
  for (const ElementType& type : kElementTypes) {
    if (type.storage_name != nullptr) names.push_back(type.storage_name);
    names.push_back(type.torch_name);
  }
  return names;
}

absl::Status Invalid(const std::string& problem) { return absl::InvalidArgumentError(problem); }

/// Checks the first bytes, and recognises other formats of .bin and .pt files.
absl::Status CheckIsZip(const RawFile& file) {
  std::string head(static_cast<size_t>(std::min<int64_t>(file.size(), 512)), '\0');
  SHORTLIST_RETURN_IF_ERROR(file.Read(0, static_cast<int64_t>(head.size()), head.data()));
  if (absl::StartsWith(head, "PK\x03\x04")) return absl::OkStatus();
  if (head.size() > 262 && head.compare(257, 5, "ustar") == 0) {
    return absl::UnimplementedError(
        "a tar archive, the legacy format of torch.save; save it anew with PyTorch 1.6 or later");
  }
  if (absl::StartsWith(head, "\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19")) {
    return absl::UnimplementedError(
        "a bare pickle, the legacy format of torch.save; save it anew with PyTorch 1.6 or later");
  }
  return Invalid("neither a zip archive nor an older format of torch.save");
}

/// Reads single tensors, or those of a state dict.
class StateDict {
 public:
  StateDict(const Pickle& pickle, const Members& members, std::string prefix)
      : pickle_(pickle), members_(members), prefix_(std::move(prefix)) {}

  absl::StatusOr<std::map<std::string, TensorEntry>> ReadDict() {
    const PickleValue& root = pickle_.at(pickle_.root);
    if (root.kind != Kind::kDict) return Invalid("the pickle holds no dict of tensors");
    std::map<std::string, TensorEntry> entries;
    for (size_t i = 0; i + 1 < root.items.size(); i += 2) {
      const PickleValue& key = pickle_.at(root.items[i]);
      if (key.kind != Kind::kString) return Invalid("a key of the dict is not a string");
      absl::StatusOr<TensorEntry> entry = ReadTensor(pickle_.at(root.items[i + 1]));
      if (!entry.ok()) {
        return absl::Status(entry.status().code(), absl::StrCat("tensor ", Quote(key.text), ": ",
                                                                entry.status().message()));
      }
      if (!entries.emplace(key.text, *std::move(entry)).second) {
        return Invalid(absl::StrCat("tensor ", Quote(key.text), " is there twice"));
      }
    }
    return entries;
  }

  absl::StatusOr<TensorEntry> ReadTensor(const PickleValue& given) {
    const PickleValue* value = &given;
    if (const PickleValue* parameter = ArgumentsOf(given, kRebuildParameter)) {
      if (parameter->items.empty()) return Invalid("is a parameter of nothing");
      value = &pickle_.at(parameter->items[0]);
    }
    SHORTLIST_ASSIGN_OR_RETURN(const Rebuild rebuild, ReadRebuild(*value));
    const PickleValue* arguments = rebuild.arguments;
    // (storage, offset, size, stride, requires_grad, backward_hooks[, dtype][, metadata])
    const size_t num_known = rebuild.is_of_bytes ? 7 : 6;
    if (arguments->items.size() < (rebuild.is_of_bytes ? 7 : 4)) return Invalid("is not a tensor");
    if (arguments->items.size() > num_known) {
      const PickleValue& metadata = pickle_.at(arguments->items[num_known]);
      const bool is_empty =
          metadata.kind == Kind::kNone || (metadata.kind == Kind::kDict && metadata.items.empty());
      if (!is_empty) return Invalid("is a view that negates or conjugates its storage");
    }
    SHORTLIST_ASSIGN_OR_RETURN(Storage storage, ReadStorage(arguments->items[0]));
    if (rebuild.is_of_bytes) {
      SHORTLIST_ASSIGN_OR_RETURN(const ElementType* const type, ReadDtype(arguments->items[6]));
      storage.num_elements = storage.num_elements * storage.type->bytes / type->bytes;
      storage.type = type;
    }
    SHORTLIST_ASSIGN_OR_RETURN(const int64_t offset, ReadInt(arguments->items[1], "offset"));
    SHORTLIST_ASSIGN_OR_RETURN(const std::vector<int64_t> strides,
                               ReadInts(arguments->items[3], "stride"));
    TensorEntry entry;
    SHORTLIST_ASSIGN_OR_RETURN(entry.shape, ReadInts(arguments->items[2], "size"));
    entry.dtype_name = storage.type->dtype_name;
    entry.dtype = storage.type->dtype;
    SHORTLIST_RETURN_IF_ERROR(SetSize(8 * storage.type->bytes, entry));
    if (strides.size() != entry.shape.size()) {
      return Invalid(
          absl::StrCat("has ", entry.shape.size(), " dimensions and ", strides.size(), " strides"));
    }
    if (!IsContiguous(entry, strides)) entry.strides = strides;
    SHORTLIST_RETURN_IF_ERROR(CheckInside(entry, offset, storage.num_elements));
    entry.offset = storage.offset + offset * storage.type->bytes;
    entry.record = std::move(storage.record);
    return entry;
  }

 private:
  /// A call that builds a tensor.
  struct Rebuild {
    const PickleValue* arguments;
    bool is_of_bytes;  // its dtype is an argument, else that of its storage
  };
  absl::StatusOr<Rebuild> ReadRebuild(const PickleValue& value) const {
    for (const auto& [name, is_of_bytes] :
         {std::pair(kRebuildTensor, false), std::pair(kRebuildOfBytes, true)}) {
      if (const PickleValue* arguments = ArgumentsOf(value, name)) {
        return Rebuild{arguments, is_of_bytes};
      }
    }
    // (function, class, arguments, state): wraps one of the calls above. The state does not
    // describe the tensor.
    const PickleValue* outer = ArgumentsOf(value, kRebuildWithState);
    if (outer == nullptr || outer->items.size() != 4 ||
        pickle_.at(outer->items[1]).text != kTensorClass ||
        pickle_.at(outer->items[2]).kind != Kind::kTuple) {
      return Invalid("is not a tensor");
    }
    const std::string& function = pickle_.at(outer->items[0]).text;
    if (function != kRebuildTensor && function != kRebuildOfBytes) {
      return Invalid("is not a tensor");
    }
    return Rebuild{&pickle_.at(outer->items[2]), function == kRebuildOfBytes};
  }

  absl::StatusOr<const ElementType*> ReadDtype(int32_t index) const {
    const std::string& name = pickle_.at(index).text;
    for (const ElementType& type : kElementTypes) {
      if (name == type.torch_name) return &type;
    }
    return Invalid(absl::StrCat("dtype ", Quote(name), " is not one of torch's"));
  }

  /// Returns the arguments of a call of `name`; nullptr if `value` is not such a call.
  const PickleValue* ArgumentsOf(const PickleValue& value, const char* name) const {
    if (value.kind != Kind::kCall || pickle_.at(value.items[0]).text != name) return nullptr;
    return &pickle_.at(value.items[1]);
  }

  absl::StatusOr<int64_t> ReadInt(int32_t index, const char* name) const {
    const PickleValue& value = pickle_.at(index);
    if (value.kind != Kind::kInt) return Invalid(absl::StrCat(name, " is not an integer"));
    if (value.integer < 0) return Invalid(absl::StrCat(name, " ", value.integer, " is negative"));
    return value.integer;
  }

  absl::StatusOr<std::vector<int64_t>> ReadInts(int32_t index, const char* name) const {
    const PickleValue& tuple = pickle_.at(index);
    constexpr size_t kMaxDims = 64;
    if (tuple.kind != Kind::kTuple || tuple.items.size() > kMaxDims) {
      return Invalid(absl::StrCat(name, " is not a tuple of at most ", kMaxDims, " integers"));
    }
    std::vector<int64_t> numbers;
    for (const int32_t item : tuple.items) {
      SHORTLIST_ASSIGN_OR_RETURN(numbers.emplace_back(), ReadInt(item, name));
    }
    return numbers;
  }

  /// A storage: the type of its elements, and the archive member that holds them.
  struct Storage {
    const ElementType* type;
    int64_t num_elements;
    int64_t offset;
    std::shared_ptr<CheckedZipMember> record;
  };
  absl::StatusOr<Storage> ReadStorage(int32_t index) {
    // ("storage", type, key, location, number of elements)
    const PickleValue& persistent = pickle_.at(index);
    const PickleValue* id =
        persistent.kind == Kind::kPersistent ? &pickle_.at(persistent.items[0]) : nullptr;
    if (id == nullptr || id->kind != Kind::kTuple || id->items.size() != 5 ||
        pickle_.at(id->items[0]).text != "storage" ||
        pickle_.at(id->items[2]).kind != Kind::kString) {
      return Invalid("has no storage");
    }
    const std::string& type_name = pickle_.at(id->items[1]).text;
    const ElementType* type = type_name == kBytes.storage_name ? &kBytes : nullptr;
    for (const ElementType& known : kElementTypes) {
      if (known.storage_name != nullptr && type_name == known.storage_name) type = &known;
    }
    if (type == nullptr) return Invalid("has a storage of no known type");
    const std::string name = absl::StrCat(prefix_, "/data/", pickle_.at(id->items[2]).text);
    const auto member = members_.find(name);
    if (member == members_.end()) {
      return Invalid(absl::StrCat("its storage ", Quote(name), " is not in the archive"));
    }
    SHORTLIST_ASSIGN_OR_RETURN(const int64_t count, ReadInt(id->items[4], "storage size"));
    if (count > member->second.size / type->bytes) {
      return Invalid(absl::StrCat("its storage has ", count, " elements of ", type->bytes,
                                  " bytes, but ", Quote(name), " holds ", member->second.size,
                                  " bytes"));
    }
    std::shared_ptr<CheckedZipMember>& record = records_[name];
    if (record == nullptr) record = std::make_shared<CheckedZipMember>(name, member->second);
    return Storage{type, count, member->second.offset, record};
  }

  static bool IsContiguous(const TensorEntry& entry, const std::vector<int64_t>& strides) {
    int64_t expected = 1;
    for (size_t i = strides.size(); i-- > 0 && entry.num_elements > 0;) {
      if (entry.shape[i] > 1 && strides[i] != expected) return false;
      expected *= entry.shape[i];
    }
    return true;
  }

  static absl::Status CheckInside(const TensorEntry& entry, int64_t offset, int64_t storage_size) {
    const bool is_strided = !entry.strides.empty();
    const std::optional<int64_t> span =
        is_strided ? SpanElements(entry.shape, entry.strides) : entry.num_elements;
    // Elements may share memory, but a tensor must not have more elements than its storage.
    if (offset <= storage_size && span && *span <= storage_size - offset &&
        entry.num_elements <= storage_size) {
      return absl::OkStatus();
    }
    if (offset <= storage_size && span && *span <= storage_size - offset) {
      return Invalid(absl::StrCat(entry.num_elements, " elements (shape ", ShapeString(entry.shape),
                                  ", strides ", ShapeString(entry.strides), ") share a storage of ",
                                  storage_size,
                                  ", as torch.Tensor.expand makes them; save a contiguous copy"));
    }
    return Invalid(
        absl::StrCat(entry.num_elements, " elements",
                     is_strided ? absl::StrCat(" (shape ", ShapeString(entry.shape), ", strides ",
                                               ShapeString(entry.strides), ")")
                                : "",
                     " from element ", offset, " on end after its storage of ", storage_size));
  }

  const Pickle& pickle_;
  const Members& members_;
  const std::string prefix_;
  std::map<std::string, std::shared_ptr<CheckedZipMember>> records_;  // of the storages so far
};

absl::StatusOr<std::string> ReadMember(const RawFile& file, const Members& members,
                                       const std::string& name, int64_t max_bytes) {
  const ZipMember& member = members.at(name);
  if (member.size > max_bytes) {
    return Invalid(absl::StrCat("member ", Quote(name), " has ", member.size,
                                " bytes, more than the ", max_bytes, " admitted here"));
  }
  SHORTLIST_RETURN_IF_ERROR(CheckedZipMember(name, member).Check(file));
  std::string bytes(static_cast<size_t>(member.size), '\0');
  SHORTLIST_RETURN_IF_ERROR(file.Read(member.offset, member.size, bytes.data()));
  return bytes;
}

/// Contents of a file that torch.save wrote: a pickle, and the members of its archive.
struct Archive {
  Members members;
  std::string prefix;  // of every member's name
  Pickle pickle;
};

absl::StatusOr<Archive> ReadArchive(const RawFile& file) {
  SHORTLIST_RETURN_IF_ERROR(CheckIsZip(file));
  SHORTLIST_ASSIGN_OR_RETURN(Members members, ReadZipDirectory(file));
  // All members lie in one folder, named after the file in which they were first saved.
  const auto pickle_member = std::find_if(members.begin(), members.end(), [](const auto& member) {
    return absl::EndsWith(member.first, "/data.pkl");
  });
  if (pickle_member == members.end()) {
    return Invalid("a zip archive without data.pkl, so not torch.save's");
  }
  const std::string prefix =
      pickle_member->first.substr(0, pickle_member->first.size() - std::string("/data.pkl").size());
  const std::string byte_order_name = absl::StrCat(prefix, "/byteorder");
  if (members.contains(byte_order_name)) {
    SHORTLIST_ASSIGN_OR_RETURN(const std::string byte_order,
                               ReadMember(file, members, byte_order_name, /*max_bytes=*/16));
    if (byte_order != "little") {
      return absl::UnimplementedError(
          absl::StrCat("byteorder ", Quote(byte_order), "; only \"little\" is read"));
    }
  }
  SHORTLIST_ASSIGN_OR_RETURN(const std::string bytes,
                             ReadMember(file, members, pickle_member->first, kMaxPickleBytes));
  SHORTLIST_ASSIGN_OR_RETURN(Pickle pickle, ParsePickle(bytes, AllowedGlobals()));
  return Archive{std::move(members), prefix, std::move(pickle)};
}

absl::StatusOr<std::map<std::string, TensorEntry>> ReadEntries(const RawFile& file) {
  SHORTLIST_ASSIGN_OR_RETURN(const Archive archive, ReadArchive(file));
  return StateDict(archive.pickle, archive.members, archive.prefix).ReadDict();
}

absl::StatusOr<std::vector<int64_t>> ReadList(const Pickle& pickle) {
  std::vector<int64_t> numbers;
  for (const int32_t item : pickle.at(pickle.root).items) {
    const PickleValue& value = pickle.at(item);
    if (value.kind != Kind::kInt) {
      return Invalid(absl::StrCat("element ", numbers.size(), " is not an integer"));
    }
    numbers.push_back(value.integer);
  }
  return numbers;
}

/// Reads a pickle that is a single tensor.
absl::StatusOr<TensorEntry> ReadTensor(const Archive& archive) {
  const PickleValue& root = archive.pickle.at(archive.pickle.root);
  if (root.kind != Kind::kCall) {
    return Invalid(root.kind == Kind::kDict ? "a dict, not a list of integers or a tensor of them"
                                            : "neither a list of integers nor a tensor of them");
  }
  return StateDict(archive.pickle, archive.members, archive.prefix).ReadTensor(root);
}

}  // namespace

absl::StatusOr<TensorFile> OpenTorchFile(const std::string& path) {
  SHORTLIST_ASSIGN_OR_RETURN(RawFile file, RawFile::Open(path));
  absl::StatusOr<std::map<std::string, TensorEntry>> entries = ReadEntries(file);
  if (!entries.ok()) return WithPath(path, entries.status());
  return TensorFile(std::move(file), *std::move(entries));
}

absl::StatusOr<bool> IsTorchDict(const std::string& path) {
  SHORTLIST_ASSIGN_OR_RETURN(const RawFile file, RawFile::Open(path));
  const absl::StatusOr<Archive> archive = ReadArchive(file);
  if (!archive.ok()) return WithPath(path, archive.status());
  return archive->pickle.at(archive->pickle.root).kind == Kind::kDict;
}

absl::StatusOr<std::vector<int64_t>> ReadTorchIntegers(const std::string& path) {
  SHORTLIST_ASSIGN_OR_RETURN(RawFile file, RawFile::Open(path));
  const absl::StatusOr<Archive> archive = ReadArchive(file);
  if (!archive.ok()) return WithPath(path, archive.status());
  const Kind kind = archive->pickle.at(archive->pickle.root).kind;
  if (kind == Kind::kList || kind == Kind::kTuple) {
    absl::StatusOr<std::vector<int64_t>> numbers = ReadList(archive->pickle);
    if (!numbers.ok()) return WithPath(path, numbers.status());
    return numbers;
  }
  const absl::StatusOr<TensorEntry> entry = ReadTensor(*archive);
  if (!entry.ok()) return WithPath(path, entry.status());
  if (entry->dtype_name == "BOOL") {
    return WithPath(path, Invalid("a tensor of bool, a mask and not integers"));
  }
  return TensorFile(std::move(file), {}).ReadIntegers(*entry);
}

}  // namespace shortlist
