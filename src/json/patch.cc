#include "json/patch.h"

#include <charconv>
#include <limits>

#include "json/json.h"

namespace flyball::json {
namespace {

// Kubernetes' limits: operations per patch, and bytes that its "copy" operations may add.
constexpr std::size_t kMaxOperations = 10000;
constexpr std::size_t kMaxCopiedBytes = 3 << 20;
// Adding and removing moves the elements and members behind the place. So many in all take some tenths of a
// second: far beyond any patch that means well (upstream has no such bound).
constexpr std::size_t kMaxMoved = 100'000'000;

constexpr std::string_view kMissingValue = ": missing value";

Error DoesNotApply(std::string message) {
  return Error(Reason::kInvalid, std::move(message));
}

std::string GoQuoted(std::string_view s) {
  std::string out;
  AppendQuoted(s, out);
  return out;
}

std::string UnescapeToken(std::string_view token) {
  std::string out;
  for (std::size_t i = 0; i < token.size(); ++i) {
    const char next = i + 1 < token.size() ? token[i + 1] : '\0';
    if (token[i] == '~' && (next == '0' || next == '1')) {
      out += next == '0' ? '~' : '/';
      ++i;
    } else {
      out += token[i];
    }
  }
  return out;
}

// Parses an array index as Go's strconv.Atoi does: a sign and leading zeros are accepted.
Result<std::int64_t> ParseIndex(std::string_view key) {
  const std::string_view digits = key.substr(key.starts_with('+') ? 1 : 0);
  const char* end = digits.data() + digits.size();
  std::int64_t index = 0;
  const auto [stopped, error] = std::from_chars(digits.data(), end, index);
  const bool sign_twice = digits.size() != key.size() && digits.starts_with('-');
  if (error == std::errc() && stopped == end && !sign_twice) return index;
  const bool too_large = error == std::errc::result_out_of_range && stopped == end && !sign_twice;
  return Unexpected(DoesNotApply("strconv.Atoi: parsing " + GoQuoted(key) + ": " +
                                 (too_large ? "value out of range" : "invalid syntax")));
}

// The position that `key` names among `size` elements; negative numbers count from the end.
Result<std::size_t> ResolveIndex(std::string_view key, std::size_t size) {
  FLYBALL_ASSIGN(const std::int64_t index, ParseIndex(key));
  const auto count = static_cast<std::int64_t>(size);
  if (index >= count || index < -count) {
    return Unexpected(DoesNotApply("Unable to access invalid index: " + std::to_string(index) +
                                   ": invalid index referenced"));
  }
  return static_cast<std::size_t>(index < 0 ? index + count : index);
}

bool NestedDeeperThan(const Value& root, std::size_t limit) {
  std::vector<std::pair<const Value*, std::size_t>> left{{&root, 1}};
  while (!left.empty()) {
    const auto [value, depth] = left.back();
    left.pop_back();
    if (!value->is_array() && !value->is_object()) continue;
    if (depth > limit) return true;
    if (value->is_array()) {
      for (const Value& element : value->as_array()) left.emplace_back(&element, depth + 1);
    } else {
      for (const auto& [key, member] : value->as_object()) left.emplace_back(&member, depth + 1);
    }
  }
  return false;
}

// The last step of a pointer: an existing container, and a key in it that may not exist.
struct Place {
  Value* container = nullptr;  // null: a container on the path does not exist
  std::string key;

  // The value there; a null pointer for an absent member of an object, an error for an absent element of an
  // array.
  Result<Value*> Get() const {
    if (container->is_object()) return container->as_object().Find(key);
    Array& array = container->as_array();
    FLYBALL_ASSIGN(const std::size_t index, ResolveIndex(key, array.size()));
    return &array[index];
  }

  // How much behind the place moves when it is added (one more) or removed.
  std::size_t Behind() const {
    if (!container->is_array()) return 0;
    const auto index =
        key == "-" ? Result<std::size_t>(container->size()) : ResolveIndex(key, container->size() + 1);
    return index ? container->size() - *index : 0;
  }

  Status Add(Value value) const {
    if (container->is_object()) {
      container->as_object().Set(key, std::move(value));
      return {};
    }
    Array& array = container->as_array();
    if (key == "-") {
      array.push_back(std::move(value));
      return {};
    }
    if (auto number = ParseIndex(key); !number)
      return Unexpected(number.error().Annotate("value was not a proper array index: '" + key + "'"));
    FLYBALL_ASSIGN(const std::size_t index, ResolveIndex(key, array.size() + 1));
    array.insert(array.begin() + static_cast<std::ptrdiff_t>(index), std::move(value));
    return {};
  }

  Status Remove() const {
    if (container->is_object()) {
      if (container->as_object().Erase(key)) return {};
      return Unexpected(
          DoesNotApply("Unable to remove nonexistent key: " + key + std::string(kMissingValue)));
    }
    Array& array = container->as_array();
    FLYBALL_ASSIGN(const std::size_t index, ResolveIndex(key, array.size()));
    array.erase(array.begin() + static_cast<std::ptrdiff_t>(index));
    return {};
  }
};

Place FindPlace(Value& document, std::string_view path) {
  // Text before the first slash is ignored, as upstream does.
  const std::size_t first = path.find('/');
  if (first == std::string_view::npos) return {};
  Value* at = &document;
  path.remove_prefix(first + 1);
  for (std::size_t slash; (slash = path.find('/')) != std::string_view::npos; path.remove_prefix(slash + 1)) {
    auto next = Place{at, UnescapeToken(path.substr(0, slash))}.Get();
    if (!next || !*next || !((*next)->is_object() || (*next)->is_array())) return {};
    at = *next;
  }
  return {at, UnescapeToken(path)};
}

// One operation of a patch.
class Operation {
 public:
  // Requires an object or null.
  explicit Operation(const Value& json) : json_(json) {}

  std::string_view kind() const { return json_["op"].string_or("unknown"); }
  const Value& value() const { return json_["value"]; }
  const Value* Path() const { return Text("path"); }
  const Value* From() const { return Text("from"); }

 private:
  const Value* Text(std::string_view name) const {
    const Value* found = json_.Find(name);
    return found && found->is_string() ? found : nullptr;
  }
  const Value& json_;
};

// Applies operations to the document it owns.
class Patcher {
 public:
  explicit Patcher(const Value& document) : document_(document) {}

  Status Apply(const Operation& operation) {
    const std::string_view kind = operation.kind();
    if (kind == "add") return Add(operation);
    if (kind == "remove") return Remove(operation);
    if (kind == "replace") return Replace(operation);
    if (kind == "move") return Move(operation);
    if (kind == "test") return Test(operation);
    if (kind == "copy") return Copy(operation);
    return Unexpected(DoesNotApply("Unexpected kind: " + std::string(kind)));
  }

  Value Take() { return std::move(document_); }

 private:
  static Unexpected Missing(std::string message) {
    return Unexpected(DoesNotApply(message.append(kMissingValue)));
  }
  static Unexpected Within(std::string_view what, std::string_view path, const Error& error) {
    return Unexpected(error.Annotate(std::string(what) + ": '" + std::string(path) + "'"));
  }

  Status Add(const Operation& operation) {
    if (!operation.Path()) return Missing("add operation failed to decode path");
    const std::string path(operation.Path()->as_string());
    const Place place = FindPlace(document_, path);
    if (!place.container)
      return Missing("add operation does not apply: doc is missing path: \"" + path + '"');
    FLYBALL_TRY(CountMoved(place.Behind()));
    if (auto added = place.Add(operation.value()); !added)
      return Within("error in add for path", path, added.error());
    return {};
  }

  Status Remove(const Operation& operation) {
    if (!operation.Path()) return Missing("remove operation failed to decode path");
    const std::string path(operation.Path()->as_string());
    const Place place = FindPlace(document_, path);
    if (!place.container)
      return Missing("remove operation does not apply: doc is missing path: \"" + path + '"');
    FLYBALL_TRY(CountMoved(place.container->size()));
    if (auto removed = place.Remove(); !removed)
      return Within("error in remove for path", path, removed.error());
    return {};
  }

  Status Replace(const Operation& operation) {
    if (!operation.Path())
      return Missing("replace operation failed to decode path: operation missing path field");
    const std::string path(operation.Path()->as_string());
    if (path.empty()) return ReplaceDocument(operation.value());
    const Place place = FindPlace(document_, path);
    if (!place.container) return Missing("replace operation does not apply: doc is missing path: " + path);
    auto current = place.Get();
    if (!current) return Missing("replace operation does not apply: doc is missing key: " + path);
    if (*current)
      **current = operation.value();
    else
      place.container->as_object().Set(place.key, operation.value());
    return {};
  }

  Status ReplaceDocument(const Value& value) {
    if (!value.is_object() && !value.is_array())
      return Unexpected(DoesNotApply("replace operation value must be object or array: %!w(<nil>)"));
    document_ = value;
    return {};
  }

  Status Move(const Operation& operation) {
    if (!operation.From())
      return Missing("move operation failed to decode from: operation, missing from field");
    const std::string from(operation.From()->as_string());
    const Place source = FindPlace(document_, from);
    if (!source.container) return Missing("move operation does not apply: doc is missing from path: " + from);
    auto found = source.Get();
    if (!found) return Within("error in move for path", source.key, found.error());
    FLYBALL_TRY(CountMoved(source.container->size()));
    Value value = *found ? std::move(**found) : Value();
    if (auto removed = source.Remove(); !removed)
      return Within("error in move for path", source.key, removed.error());
    if (!operation.Path())
      return Missing("move operation failed to decode path: operation missing path field");
    const std::string path(operation.Path()->as_string());
    const Place target = FindPlace(document_, path);
    if (!target.container)
      return Missing("move operation does not apply: doc is missing destination path: " + path);
    FLYBALL_TRY(CountMoved(target.Behind()));
    if (auto added = target.Add(std::move(value)); !added)
      return Within("error in move for path", path, added.error());
    return {};
  }

  Status Copy(const Operation& operation) {
    if (!operation.From())
      return Missing("copy operation failed to decode from: operation, missing from field");
    const std::string from(operation.From()->as_string());
    const Place source = FindPlace(document_, from);
    if (!source.container) return Missing("copy operation does not apply: doc is missing from path: " + from);
    auto found = source.Get();
    if (!found) return Within("error in copy for from", from, found.error());
    if (!operation.Path()) return Missing("copy operation failed to decode path");
    const std::string path(operation.Path()->as_string());
    const Place target = FindPlace(document_, path);
    if (!target.container)
      return Missing("copy operation does not apply: doc is missing destination path: " + path);
    FLYBALL_TRY(CountCopied(*found));
    FLYBALL_TRY(CountMoved(target.Behind()));
    if (auto added = target.Add(*found ? **found : Value()); !added)
      return Unexpected(added.error().Annotate("error while adding value during copy"));
    return {};
  }

  Status CountCopied(const Value* value) {
    if (value) copied_ += Write(*value).size();
    if (copied_ <= kMaxCopiedBytes) return {};
    return Unexpected(DoesNotApply("Unable to complete the copy, the accumulated size increase of copy is " +
                                   std::to_string(copied_) + ", exceeding the limit " +
                                   std::to_string(kMaxCopiedBytes)));
  }

  Status Test(const Operation& operation) {
    if (!operation.Path())
      return Missing("test operation failed to decode path: operation missing path field");
    const std::string path(operation.Path()->as_string());
    const Value* actual = &document_;
    if (!path.empty()) {
      const Place place = FindPlace(document_, path);
      if (!place.container) return Missing("test operation does not apply: is missing path: " + path);
      auto found = place.Get();
      if (!found) return Within("error in test for path", path, found.error());
      actual = *found;
    }
    if (actual ? *actual == operation.value() : operation.value().is_null()) return {};
    return Unexpected(DoesNotApply("testing value " + path + " failed: test failed"));
  }

  Status CountMoved(std::size_t elements) {
    moved_ += elements;
    if (moved_ <= kMaxMoved) return {};
    return Unexpected(
        Error(Reason::kRequestEntityTooLarge,
              "the operations of the JSON patch move too many elements of large lists or maps"));
  }

  Value document_;
  std::size_t copied_ = 0;
  std::size_t moved_ = 0;
};

Error CannotDecode(const Value& value, std::string_view into) {
  return BadRequest("error decoding patch: json: cannot unmarshal " + std::string(GoKindName(value)) +
                    " into Go " + std::string(into));
}

// Checks that the patch has the shape of its Go types.
Status CheckShape(const Value& patch) {
  if (patch.is_null()) return {};
  if (!patch.is_array()) return Unexpected(CannotDecode(patch, "value of type []handlers.jsonPatchOp"));
  for (const Value& operation : patch.as_array()) {
    if (operation.is_null()) continue;
    if (!operation.is_object())
      return Unexpected(CannotDecode(operation, "value of type handlers.jsonPatchOp"));
    for (const std::string field : {"op", "path", "from"}) {
      const Value* value = operation.Find(field);
      if (value && !value->is_null() && !value->is_string())
        return Unexpected(CannotDecode(*value, "struct field jsonPatchOp." + field + " of type string"));
    }
  }
  if (patch.size() <= kMaxOperations) return {};
  return Unexpected(Error(Reason::kRequestEntityTooLarge,
                          "Request entity is too large: The allowed maximum operations in a JSON patch is " +
                              std::to_string(kMaxOperations) + ", got " + std::to_string(patch.size())));
}

}  // namespace

Result<Value> ApplyJsonPatch(const Value& document, const Value& patch) {
  FLYBALL_TRY(CheckShape(patch));
  if (!document.is_object() && !document.is_array())
    return Unexpected(DoesNotApply("document must be an object or an array"));
  if (patch.is_null()) return document;
  Patcher patcher(document);
  for (const Value& operation : patch.as_array()) FLYBALL_TRY(patcher.Apply(Operation(operation)));
  Value result = patcher.Take();
  if (NestedDeeperThan(result, ParseOptions().max_depth))
    return Unexpected(DoesNotApply("exceeded max depth"));
  return result;
}

}  // namespace flyball::json
