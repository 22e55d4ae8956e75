#include "cli/kustomize/resource/list_merge.h"

#include <algorithm>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "cli/kustomize/resource/resource.h"
#include "json/yaml/yaml_core.h"

namespace flyball::cli::kustomize {
namespace {

using Texts = std::vector<std::string>;
// Items are shared between lists and changed in place.
using Items = std::vector<json::Value*>;

bool IsNothing(const json::Value* item) {
  return item == nullptr || item->is_null() || (item->is_object() && item->empty());
}

// The key of scalars is the empty text: the item itself.
bool HasKey(const json::Value& item, const std::string& key, const std::string& wanted, bool empty_is_any) {
  if (key.empty()) return !item.is_object() && !item.is_array() && ScalarText(item) == wanted;
  const json::Value* found = item.Find(key);
  if (found == nullptr) return false;
  return (wanted.empty() && empty_is_any) || ScalarText(*found) == wanted;
}

// Puts `item` in place of those that have these keys, or at the end. Null removes them.
// A key without a value counts as found if the one before it was.
void SetItem(Items& list, json::Value* item, const Texts& keys, const Texts& values) {
  Items kept;
  bool found_any = false;
  const bool wants_map = !keys[0].empty() && !values.empty() && !values[0].empty();
  for (json::Value* old : list) {
    if (IsNothing(old)) continue;
    if (!old->is_object() && wants_map) {
      kept.push_back(old);
      continue;
    }
    bool found = !values.empty();
    for (std::size_t i = 0; found && i < keys.size() && i < values.size(); ++i)
      found = HasKey(*old, keys[i], values[i], true);
    if (!found) {
      if (!values.empty()) kept.push_back(old);
      continue;
    }
    found_any = true;
    if (item != nullptr) kept.push_back(item);
  }
  list = std::move(kept);
  if (item != nullptr && !item->is_null() && !found_any) list.push_back(item);
}

json::Value* FindItem(const Items& list, const Texts& keys, const Texts& values) {
  for (json::Value* item : list) {
    if (!keys[0].empty() && !item->is_object()) continue;
    bool found = true;
    for (std::size_t i = 0; found && i < keys.size(); ++i) found = HasKey(*item, keys[i], values[i], false);
    if (found) return item;
  }
  return nullptr;
}

// The keys that at least one of the items has, with the values of one item; all of them if none has any.
void KeepUsedKeys(const std::vector<Texts>& all, Texts& keys, Texts& values) {
  std::vector<bool> used(keys.size());
  for (const Texts& one : all)
    for (std::size_t i = 0; i < one.size(); ++i) used[i] = used[i] || !one[i].empty();
  if (std::find(used.begin(), used.end(), true) == used.end()) return;
  Texts kept_keys, kept_values;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (!used[i]) continue;
    kept_keys.push_back(keys[i]);
    kept_values.push_back(values[i]);
  }
  keys = std::move(kept_keys);
  values = std::move(kept_values);
}

// Two sets of values that agree wherever both have one, and have one in common, mean the same item.
std::optional<Texts> Unite(const Texts& a, const Texts& b) {
  bool common = false;
  Texts united;
  for (std::size_t i = 0; i < a.size(); ++i) {
    common = common || a[i] == b[i];
    if (a[i] != b[i] && !a[i].empty() && !b[i].empty()) return std::nullopt;
    united.push_back(a[i].empty() ? b[i] : a[i]);
  }
  return common ? std::optional(united) : std::nullopt;
}

void UniteAll(std::vector<Texts>& all) {
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Texts one = all[i];
    for (std::size_t j = 0; j < all.size(); ++j)
      if (const auto united = Unite(one, all[j])) all[i] = all[j] = *united;
  }
}

Texts KeysOf(const NodeType& type) {
  Texts keys;
  if (type.type->list_type == api::ListType::kMap)
    for (const std::string_view key : type.type->list_keys) keys.emplace_back(key);
  if (keys.empty()) keys.emplace_back(type.field->patch_key);
  return keys;
}

// One merge of two lists.
class ListMerge {
 public:
  ListMerge(json::Array& dest, json::Array* patch, const NodeType& type)
      : keys_(KeysOf(type)), element_{type.type->element, nullptr} {
    for (json::Value& item : dest) dest_.push_back(&item);
    if (patch != nullptr)
      for (json::Value& item : *patch) patch_.push_back(&item);
  }

  // Returns the merged list; nothing if it stays as it is.
  Result<std::optional<json::Array>> Run() {
    CollectValues(patch_);
    CollectValues(dest_);
    if (values_.empty()) return std::optional<json::Array>();
    if (keys_.size() > 1) UniteAll(values_);
    Texts keys;
    for (const Texts& values : values_) FLYBALL_TRY(MergeOne(values, keys));
    for (json::Value* item : dest_) AddRest(item, keys);
    json::Array merged;
    for (const json::Value* item : result_) merged.push_back(*item);
    return std::optional(std::move(merged));
  }

 private:
  void CollectValues(const Items& items) {
    for (const json::Value* item : items) {
      Texts values;
      for (const std::string& key : keys_)
        values.push_back(ScalarText(key.empty() ? *item : std::as_const(*item)[key]));
      if (std::find(values_.begin(), values_.end(), values) == values_.end()) values_.push_back(values);
    }
  }

  // `keys` receives those that count.
  Status MergeOne(Texts values, Texts& keys) {
    keys = keys_;
    KeepUsedKeys(values_, keys, values);
    Texts own_keys = keys, own_values = values;
    KeepUsedKeys({values}, own_keys, own_values);
    json::Value* dest = FindItem(dest_, own_keys, own_values);
    FLYBALL_ASSIGN(Merged merged, MergeNodes(dest, FindItem(patch_, own_keys, own_values), element_));
    if (merged.outcome == Merged::kNew) dest = &made_.emplace_back(std::move(merged.value));
    if (merged.outcome == Merged::kGone || IsNothing(dest)) {
      SetItem(dest_, nullptr, keys, values);
      return {};
    }
    AddKeys(*dest, keys, values);
    SetItem(result_, dest, keys, values);
    return {};
  }

  static void AddKeys(json::Value& item, const Texts& keys, const Texts& values) {
    if (!item.is_object()) return;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      if (keys[i].empty() || values[i].empty() || item.Find(keys[i]) != nullptr) continue;
      // Written without quotes: a number stays a number.
      auto value = json::ParseYamlCore(values[i]);
      item[keys[i]] = value ? std::move(*value) : json::Value(values[i]);
    }
  }

  void AddRest(json::Value* item, const Texts& keys) {
    if (keys[0].empty()) return SetItem(result_, item, keys, {ScalarText(*item)});
    Texts values;
    for (const std::string& key : keys) {
      const json::Value* found = item->Find(key);
      if (found == nullptr)
        result_.push_back(item);
      else
        values.push_back(ScalarText(*found));
    }
    if (keys.size() > 1) SetItem(result_, nullptr, keys, values);
    SetItem(result_, item, keys, values);
  }

  const Texts keys_;
  const NodeType element_;
  Items dest_, patch_, result_;
  std::vector<Texts> values_;
  std::deque<json::Value> made_;  // the items that are neither of the one list nor of the other
};

}  // namespace

Status MergeItems(json::Array& dest, json::Array* patch, const NodeType& type) {
  FLYBALL_ASSIGN(auto merged, ListMerge(dest, patch, type).Run());
  if (merged) dest = std::move(*merged);
  return {};
}

}  // namespace flyball::cli::kustomize
