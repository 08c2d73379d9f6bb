// shortlist.VocabList, ActiveVocab and VocabularyManager over the classes of vocab/, whose headers
// are the contracts. The Python interface is in package/shortlist/_vocab.pyi. Arrays of ids can be
// anything that numpy accepts (torch tensors too). Every input error is a ValueError with the text
// of the Status.

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "vocab/active_vocab.h"
#include "vocab/dynamic_vocabulary_manager.h"
#include "vocab/formats/list_file.h"
#include "vocab/vocab_list.h"
#include "vocab/vocab_options.h"

namespace py = pybind11;

namespace shortlist {
namespace {

[[noreturn]] void Refuse(const std::string& what) { throw py::value_error(what); }

void ThrowIfError(const absl::Status& status) {
  if (!status.ok()) Refuse(std::string(status.message()));
}

template <typename T>
T ValueOf(absl::StatusOr<T> value) {
  ThrowIfError(value.status());
  return *std::move(value);
}

/// Returns the integers of any one-dimensional array-like. `name` is used in errors.
std::vector<int64_t> Integers(const py::handle& object, const char* name) {
  py::array array;
  try {
    array = py::module_::import("numpy").attr("asarray")(object);
  } catch (py::error_already_set& error) {
    Refuse(absl::StrCat(name, " cannot be read as an array: ", error.what()));
  }
  if (array.ndim() != 1) Refuse(absl::StrCat(name, " has ", array.ndim(), " dimensions, not 1"));
  const char kind = array.dtype().kind();
  if (array.size() > 0 && kind != 'i' && kind != 'u') {
    Refuse(absl::StrCat(name, " is of ", py::str(array.dtype()).cast<std::string>(),
                        ", not of integers"));
  }
  if (array.size() == 0) return {};
  if (kind == 'u' && array.itemsize() == 8) {
    const auto wide = py::array_t<uint64_t, py::array::c_style | py::array::forcecast>(array);
    for (py::ssize_t i = 0; i < wide.size(); ++i) {
      if (wide.data()[i] >> 63) Refuse(absl::StrCat(name, "[", i, "] is ", wide.data()[i]));
    }
  }
  const auto values = py::array_t<int64_t, py::array::c_style | py::array::forcecast>(array);
  return {values.data(), values.data() + values.size()};
}

std::vector<TokenId> TokenIds(const py::handle& object, const char* name) {
  std::vector<TokenId> ids;
  const std::vector<int64_t> values = Integers(object, name);
  ids.reserve(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i] < 0 || values[i] >= VocabList::kMaxVocabSize) {
      Refuse(absl::StrCat(name, "[", i, "] is ", values[i], ", not in [0, ",
                          VocabList::kMaxVocabSize, ")"));
    }
    ids.push_back(TokenId{static_cast<int32_t>(values[i])});
  }
  return ids;
}

py::array_t<int32_t> IdArray(const std::vector<TokenId>& ids) {
  py::array_t<int32_t> array(static_cast<py::ssize_t>(ids.size()));
  for (size_t i = 0; i < ids.size(); ++i) array.mutable_data()[i] = Raw(ids[i]);
  return array;
}

int64_t CheckedVocabSize(int64_t vocab_size, int64_t least) {
  if (vocab_size < least || vocab_size > VocabList::kMaxVocabSize) {
    Refuse(absl::StrCat("vocab_size is ", vocab_size, ", not in [", least, ", ",
                        VocabList::kMaxVocabSize, "]"));
  }
  return vocab_size;
}

VocabList MakeList(const py::object& ids, int64_t vocab_size, const py::object& counts,
                   const py::object& pinned, const std::string& source) {
  VocabList list;
  list.vocab_size = CheckedVocabSize(vocab_size, 1);
  list.ids = TokenIds(ids, "ids");
  if (!counts.is_none()) list.counts = Integers(counts, "counts");
  list.pinned = TokenIds(pinned, "pinned");
  list.source = source;
  list.ranked = true;
  ThrowIfError(list.Validate());
  return list;
}

VocabList ReadList(const std::string& path, int64_t vocab_size, const std::string& fingerprint,
                   const std::optional<std::vector<std::string>>& tokens) {
  VocabTarget target;
  target.vocab_size = CheckedVocabSize(vocab_size, 0);
  target.fingerprint = fingerprint;
  if (tokens.has_value()) {
    target.num_spelled = static_cast<int64_t>(tokens->size());
    target.spelling = [&](TokenId id) -> std::string_view { return (*tokens)[Raw(id)]; };
  }
  py::gil_scoped_release unlocked;
  absl::StatusOr<VocabList> list = ReadListFile(path, target);
  py::gil_scoped_acquire locked;
  return ValueOf(std::move(list));
}

void WriteList(const VocabList& list, const std::string& path) {
  absl::Status status;
  {
    py::gil_scoped_release unlocked;
    status = WriteListFile(path, list);
  }
  ThrowIfError(status);
}

VocabOptions OptionsOf(std::optional<int64_t> top, std::optional<double> ratio,
                       std::optional<double> coverage, std::optional<int64_t> successors) {
  VocabOptions options;
  options.use_static_vocab = true;
  options.custom_vocab_path = "the list";  // its name in errors
  options.top_n = top;
  options.ratio = ratio;
  options.coverage = coverage;
  options.successors = successors;
  ThrowIfError(options.Validate());
  return options;
}

using Base = std::shared_ptr<const VocabBase>;

Base SelectBase(const VocabList& list, const VocabOptions& options) {
  const VocabTarget target = {.vocab_size = list.vocab_size};
  absl::StatusOr<Base> base;
  {
    py::gil_scoped_release unlocked;
    base = SelectVocabBase(options, list, target);
  }
  return ValueOf(std::move(base));
}

/// Returns a base from a VocabList or from ids. `vocab_size` is the target's, -1 to use the list's.
/// The target may have more rows than the list's tokenizer has ids.
Base BaseOf(const py::object& base, int64_t vocab_size, const VocabOptions& options) {
  if (py::isinstance<VocabList>(base)) {
    auto list = base.cast<VocabList>();
    if (vocab_size >= 0) {
      ThrowIfError(FitList({.vocab_size = vocab_size}, list));
    }
    return SelectBase(list, options);
  }
  if (vocab_size < 0) Refuse("vocab_size is missing; only a VocabList says it itself");
  if (options.top_n || options.ratio || options.coverage || options.successors) {
    Refuse("top, ratio, coverage and successors choose from a VocabList, and base is none");
  }
  return ValueOf(VocabBase::Create(TokenIds(base, "base"), CheckedVocabSize(vocab_size, 1)));
}

/// A snapshot, as held by Python.
struct Snapshot {
  std::shared_ptr<const ActiveVocab> vocab;
  py::object row_ids;  // a torch tensor; made at first use

  py::array Rows(const py::object& self) const {
    py::array_t<int32_t> array(static_cast<py::ssize_t>(vocab->size()), vocab->rows().data(), self);
    array.attr("flags").attr("writeable") = false;
    return array;
  }

  py::object RowIds() {
    if (!row_ids) {
      py::array_t<int32_t> copy(static_cast<py::ssize_t>(vocab->size()), vocab->rows().data());
      row_ids = py::module_::import("torch").attr("from_numpy")(copy);
    }
    return row_ids;
  }

  py::array_t<int32_t> RowsOf(const py::object& object) const {
    const std::vector<TokenId> ids = TokenIds(object, "ids");
    py::array_t<int32_t> rows(static_cast<py::ssize_t>(ids.size()));
    for (size_t i = 0; i < ids.size(); ++i) {
      if (Raw(ids[i]) >= vocab->vocab_size()) {
        Refuse(absl::StrCat("ids[", i, "] is ", Raw(ids[i]), ", not in [0, ", vocab->vocab_size(),
                            ")"));
      }
      const std::optional<DraftId> row = vocab->Find(ids[i]);
      rows.mutable_data()[i] = row.has_value() ? Raw(*row) : -1;
    }
    return rows;
  }

  py::array_t<int32_t> SuccessorsOf(int64_t last) const {
    if (last < 0 || last >= vocab->vocab_size()) {
      Refuse(absl::StrCat("last is ", last, ", not in [0, ", vocab->vocab_size(), ")"));
    }
    const auto ids = vocab->base()->SuccessorsOf(TokenId{static_cast<int32_t>(last)});
    return py::array_t<int32_t>(static_cast<py::ssize_t>(ids.size()), ids.data());
  }
};

/// Python's VocabularyManager. close() may be called while other threads are in a call: each call
/// holds the C++ object until it returns.
class Manager {
 public:
  Manager(Base base, int64_t dynamic_capacity, std::vector<TokenId> pinned)
      : manager_(ValueOf(DynamicVocabularyManager::Create(
            std::move(base),
            {.dynamic_capacity = dynamic_capacity, .pinned = std::move(pinned)}))) {}

  void Close() {
    last_ = py::object();
    manager_.reset();
  }
  bool closed() const { return manager_ == nullptr; }

  std::shared_ptr<DynamicVocabularyManager> Get() const {
    if (manager_ == nullptr) Refuse("the vocabulary manager is closed");
    return manager_;
  }

  void Add(const py::object& ids) {
    const auto manager = Get();
    const std::vector<TokenId> tokens = TokenIds(ids, "ids");
    absl::Status status;
    {
      py::gil_scoped_release unlocked;
      status = manager->Add(tokens);
    }
    ThrowIfError(status);
  }

  void Observe(const py::object& emitted, const py::object& drafted, const Snapshot* snapshot) {
    const auto manager = Get();
    const std::vector<TokenId> emitted_ids = TokenIds(emitted, "emitted");
    const std::vector<TokenId> drafted_ids = TokenIds(drafted, "drafted");
    const auto held = snapshot != nullptr ? snapshot->vocab : nullptr;
    if (held != nullptr && held->vocab_size() != manager->Active()->vocab_size()) {
      Refuse(absl::StrCat("snapshot is of a vocabulary of ", held->vocab_size(), " tokens, not of ",
                          manager->Active()->vocab_size()));
    }
    absl::Status status;
    {
      py::gil_scoped_release unlocked;
      status = manager->Observe(emitted_ids, drafted_ids, held.get());
    }
    ThrowIfError(status);
  }

  /// Returns the same Python object while the snapshot is unchanged, so that its row_ids are made
  /// once.
  py::object Active() {
    auto vocab = Get()->Active();
    if (!last_ || last_.cast<const Snapshot&>().vocab != vocab) {
      last_ = py::cast(Snapshot{std::move(vocab), py::object()});
    }
    return last_;
  }

  void ReplaceBase(const py::object& base, std::optional<int64_t> top, std::optional<double> ratio,
                   std::optional<double> coverage, std::optional<int64_t> successors) {
    const auto manager = Get();
    Base made =
        BaseOf(base, manager->Active()->vocab_size(), OptionsOf(top, ratio, coverage, successors));
    absl::Status status;
    {
      py::gil_scoped_release unlocked;
      status = manager->ReplaceBase(std::move(made));
    }
    ThrowIfError(status);
  }

  py::dict Stats() const {
    const VocabStats stats = Get()->Stats();
    py::dict dict;
    dict["num_emitted"] = stats.num_emitted;
    dict["num_covered"] = stats.num_covered();
    dict["num_drafted"] = stats.num_drafted;
    dict["num_unmapped"] = stats.num_unmapped;
    dict["num_added"] = stats.num_added;
    dict["num_evicted"] = stats.num_evicted;
    dict["base_size"] = stats.base_size;
    dict["dynamic_size"] = stats.dynamic_size;
    dict["dynamic_capacity"] = stats.dynamic_capacity;
    return dict;
  }

  std::vector<std::pair<int32_t, int64_t>> Escapes() const {
    std::vector<std::pair<int32_t, int64_t>> escapes;
    for (const auto& [id, count] : Get()->Escapes()) escapes.emplace_back(Raw(id), count);
    return escapes;
  }

 private:
  std::shared_ptr<DynamicVocabularyManager> manager_;
  py::object last_;
};

std::unique_ptr<Manager> MakeManager(const py::object& base, std::optional<int64_t> vocab_size,
                                     int64_t dynamic_capacity, const py::object& pinned,
                                     std::optional<int64_t> top, std::optional<double> ratio,
                                     std::optional<double> coverage,
                                     std::optional<int64_t> successors) {
  if (vocab_size.has_value()) CheckedVocabSize(*vocab_size, 1);
  return std::make_unique<Manager>(
      BaseOf(base, vocab_size.value_or(-1), OptionsOf(top, ratio, coverage, successors)),
      dynamic_capacity, TokenIds(pinned, "pinned"));
}

PYBIND11_MODULE(_vocab, m) {
  const py::kw_only kw_only;
  const py::tuple nothing;

  py::class_<VocabList>(m, "VocabList")
      .def(py::init(&MakeList), py::arg("ids"), py::arg("vocab_size"), kw_only,
           py::arg("counts") = py::none(), py::arg("pinned") = nothing, py::arg("source") = "")
      .def_static("read", &ReadList, py::arg("path"), kw_only, py::arg("vocab_size") = 0,
                  py::arg("fingerprint") = "", py::arg("tokens") = py::none())
      .def("write", &WriteList, py::arg("path"))
      .def(
          "select",
          [](const VocabList& list, std::optional<int64_t> top, std::optional<double> ratio,
             std::optional<double> coverage) {
            const Base base = SelectBase(list, OptionsOf(top, ratio, coverage, std::nullopt));
            return py::array_t<int32_t>(static_cast<py::ssize_t>(base->size()), base->ids().data());
          },
          kw_only, py::arg("top") = py::none(), py::arg("ratio") = py::none(),
          py::arg("coverage") = py::none())
      .def_readonly("vocab_size", &VocabList::vocab_size)
      .def_readonly("fingerprint", &VocabList::fingerprint)
      .def_readonly("ids_fingerprint", &VocabList::ids_fingerprint)
      .def_readonly("source", &VocabList::source)
      .def_readonly("ranked", &VocabList::ranked)
      .def_property_readonly("ids", [](const VocabList& list) { return IdArray(list.ids); })
      .def_property_readonly("pinned", [](const VocabList& list) { return IdArray(list.pinned); })
      .def_property_readonly("counts",
                             [](const VocabList& list) {
                               return py::array_t<int64_t>(
                                   static_cast<py::ssize_t>(list.counts.size()),
                                   list.counts.data());
                             })
      .def("__len__", [](const VocabList& list) { return list.ids.size(); });

  py::class_<Snapshot>(m, "ActiveVocab")
      .def_property_readonly("version", [](const Snapshot& s) { return s.vocab->version(); })
      .def_property_readonly("vocab_size", [](const Snapshot& s) { return s.vocab->vocab_size(); })
      .def_property_readonly("base_size", [](const Snapshot& s) { return s.vocab->base_size(); })
      .def_property_readonly(
          "rows", [](const py::object& self) { return self.cast<const Snapshot&>().Rows(self); })
      .def_property_readonly("row_ids", &Snapshot::RowIds)
      .def("rows_of", &Snapshot::RowsOf, py::arg("ids"))
      .def("successors_of", &Snapshot::SuccessorsOf, py::arg("last"))
      .def("__len__", [](const Snapshot& s) { return s.vocab->size(); });

  py::class_<Manager>(m, "VocabularyManager")
      .def(py::init(&MakeManager), py::arg("base"), kw_only, py::arg("vocab_size") = py::none(),
           py::arg("dynamic_capacity") = 0, py::arg("pinned") = nothing,
           py::arg("top") = py::none(), py::arg("ratio") = py::none(),
           py::arg("coverage") = py::none(), py::arg("successors") = py::none())
      .def("add", &Manager::Add, py::arg("ids"))
      .def("observe", &Manager::Observe, py::arg("emitted"), py::arg("drafted") = nothing,
           py::arg("snapshot") = py::none())
      .def("active", &Manager::Active)
      .def("replace_base", &Manager::ReplaceBase, py::arg("base"), kw_only,
           py::arg("top") = py::none(), py::arg("ratio") = py::none(),
           py::arg("coverage") = py::none(), py::arg("successors") = py::none())
      .def("stats", &Manager::Stats)
      .def("escapes", &Manager::Escapes)
      .def("close", &Manager::Close)
      .def_property_readonly("closed", &Manager::closed)
      .def("__enter__", [](const py::object& self) { return self; })
      .def("__exit__", [](Manager& self, const py::args&) { self.Close(); });
}

}  // namespace
}  // namespace shortlist
