#include "cli/kustomize/transform/field_path.h"

#include <re2/re2.h>

#include <charconv>

#include "cli/kustomize/resource/failure.h"
#include "cli/kustomize/resource/field_spec.h"
#include "cli/kustomize/resource/resource.h"
#include "json/yaml/yaml_core.h"

namespace flyball::cli::kustomize {
namespace {

std::optional<std::size_t> Index(const std::string& part) {
  std::size_t index = 0;
  const char* end = part.data() + part.size();
  const auto [stopped, error] = std::from_chars(part.data(), end, index);
  if (part.empty() || error != std::errc() || stopped != end) return std::nullopt;
  return index;
}

bool IsItemTest(const std::string& part) {
  return part.starts_with('[') && part.ends_with(']');
}

// [key=value]
struct ItemTest {
  std::string key, value;
};
Result<ItemTest> ParseItemTest(const std::string& part) {
  const std::string inner = part.substr(1, part.size() - 2);
  const std::size_t equals = inner.find('=');
  if (equals == std::string::npos)
    return Fail("list path element must contain fieldName=fieldValue for element to match");
  return ItemTest{inner.substr(0, equals), inner.substr(equals + 1)};
}

const json::Value* TestedValue(const json::Value& item, const std::string& key) {
  return key.empty() ? &item : item.Find(key);
}

Result<json::Value*> LookUpItem(json::Value& list, const std::string& part) {
  if (!list.is_array()) return Fail(WrongKindText("SequenceNode", list));
  json::Array& items = list.as_array();
  if (part == "-") return items.empty() ? nullptr : &items.back();
  if (const auto index = Index(part)) return *index < items.size() ? &items[*index] : nullptr;
  FLYBALL_ASSIGN(const ItemTest test, ParseItemTest(part));
  for (json::Value& item : items) {
    const json::Value* value = TestedValue(item, test.key);
    if (value != nullptr && ScalarText(*value) == test.value) return &item;
  }
  return static_cast<json::Value*>(nullptr);
}

// One search for all matches.
class Matching {
 public:
  Matching(const std::vector<std::string>& parts, const std::optional<json::Value>& create)
      : parts_(parts), create_(create) {}

  Status Visit(json::Value& node, std::size_t depth) {
    if (depth == parts_.size()) return found_.push_back(&node), Status();
    const std::string& part = parts_[depth];
    if (!Index(part) && !IsItemTest(part) && part != "*") return VisitMember(node, depth);
    if (!node.is_array()) return Fail(WrongKindText("SequenceNode", node));
    if (Index(part)) return VisitIndex(node.as_array(), *Index(part), depth);
    if (part == "*") return VisitEvery(node.as_array(), depth);
    return VisitTested(node.as_array(), depth);
  }

  std::vector<json::Value*> Take() { return std::move(found_); }

 private:
  // What a missing value before the part at `depth` is created as.
  json::Value Made(std::size_t depth) const {
    if (depth == parts_.size()) return *create_;
    if (IsItemTest(parts_[depth]) || Index(parts_[depth])) return json::Array();
    return json::Object();
  }

  Status VisitMember(json::Value& node, std::size_t depth) {
    if (node.is_null()) return {};
    if (!node.is_object()) return Fail(WrongKindText("MappingNode", node));
    json::Value* member = node.Find(parts_[depth]);
    if (member == nullptr && !create_) return {};
    if (member == nullptr) member = &(node[parts_[depth]] = Made(depth + 1));
    return Visit(*member, depth + 1);
  }

  Status VisitIndex(json::Array& items, std::size_t index, std::size_t depth) {
    if (items.size() == index && create_) items.push_back(Made(depth + 1));
    if (index >= items.size())
      return Fail("index " + std::to_string(index) + " specified but only " + std::to_string(items.size()) +
                  " elements found");
    return Visit(items[index], depth + 1);
  }

  Status VisitEvery(json::Array& items, std::size_t depth) {
    for (json::Value& item : items) FLYBALL_TRY(Visit(item, depth + 1));
    return {};
  }

  Status VisitTested(json::Array& items, std::size_t depth) {
    FLYBALL_ASSIGN(const ItemTest test, ParseItemTest(parts_[depth]));
    const RE2 pattern(test.value, RE2::Quiet);
    if (!pattern.ok()) return Fail("error parsing regexp: " + pattern.error());
    const std::size_t before = found_.size();
    FLYBALL_TRY(VisitMatching(items, test.key, pattern, depth));
    if (!create_ || found_.size() > before) return {};
    json::Value item = PlainScalar(test.value);
    if (!test.key.empty()) item = json::Object{{test.key, std::move(item)}};
    items.push_back(std::move(item));
    return Visit(items.back(), test.key.empty() ? parts_.size() : depth + 1);
  }

  Status VisitMatching(json::Array& items, const std::string& key, const RE2& pattern, std::size_t depth) {
    for (json::Value& item : items) {
      const json::Value* value = TestedValue(item, key);
      if (value == nullptr || !RE2::PartialMatch(ScalarText(*value), pattern)) continue;
      FLYBALL_TRY(Visit(item, key.empty() ? parts_.size() : depth + 1));
    }
    return {};
  }

  const std::vector<std::string>& parts_;
  const std::optional<json::Value>& create_;
  std::vector<json::Value*> found_;
};

}  // namespace

std::vector<std::string> SplitFieldPath(std::string_view path) {
  std::vector<std::string> parts;
  std::string bracketed;
  for (std::string& part : SplitPath(path, '.')) {
    if (bracketed.empty() && (!part.starts_with('[') || part.ends_with(']'))) {
      parts.push_back(std::move(part));
      continue;
    }
    bracketed += (bracketed.empty() ? "" : ".") + part;
    if (!part.ends_with(']')) continue;
    const bool is_test = bracketed.find('=') != std::string::npos;
    parts.push_back(is_test ? bracketed : bracketed.substr(1, bracketed.size() - 2));
    bracketed.clear();
  }
  if (!bracketed.empty()) parts.push_back(std::move(bracketed));
  return parts;
}

Result<json::Value*> LookUp(json::Value& root, const std::vector<std::string>& parts) {
  json::Value* node = &root;
  for (const std::string& part : parts) {
    if (part.empty()) continue;
    if (part == "*") return Fail("wildcard is not supported in PathGetter");
    if (part == "-" || Index(part) || IsItemTest(part)) {
      FLYBALL_ASSIGN(node, LookUpItem(*node, part));
    } else {
      if (!node->is_object() && !node->is_null()) return Fail(WrongKindText("MappingNode", *node));
      node = node->Find(part);
    }
    if (node == nullptr) break;
  }
  return node;
}

Result<std::vector<json::Value*>> MatchAll(json::Value& root, const std::vector<std::string>& parts,
                                           const std::optional<json::Value>& create) {
  Matching matching(parts, create);
  FLYBALL_TRY(matching.Visit(root, 0));
  return matching.Take();
}

json::Value PlainScalar(const std::string& text) {
  auto value = json::ParseYamlCore(text);
  return value && !value->is_object() && !value->is_array() ? std::move(*value) : json::Value(text);
}

}  // namespace flyball::cli::kustomize
