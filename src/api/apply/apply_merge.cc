#include "api/apply/apply_merge.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "api/apply/apply_type.h"

namespace flyball::api {
namespace {

using json::Value;

// ---- MergeConfiguration

void MergeAt(const ApplyType& type, Value& object, const Value& config, int depth);

void MergeMembers(const ApplyType& type, json::Object& object, const json::Object& config, int depth) {
  MemberTypes types(type);
  for (const auto& [name, value] : config) {
    Value* member = object.Find(name);
    if (member == nullptr) {
      object.Append(name, value);
    } else {
      MergeAt(types.Find(name).type, *member, value, depth + 1);
    }
  }
}

// One side of a list that is merged: its items' elements, and where each element is first.
class ListSide {
 public:
  ListSide(const ApplyType& type, const json::Array& items) {
    elements_.reserve(items.size());
    for (std::size_t i = 0; i < items.size(); ++i) {
      auto element = ItemElement(type, items[i]);
      // An item that cannot be told stays what and where it is.
      elements_.push_back(element ? std::move(*element) : PathElement::Index(static_cast<std::int64_t>(i)));
    }
    order_.resize(items.size());
    for (std::size_t i = 0; i < order_.size(); ++i) order_[i] = i;
    std::stable_sort(order_.begin(), order_.end(),
                     [&](std::size_t a, std::size_t b) { return elements_[a] < elements_[b]; });
  }

  std::size_t size() const { return elements_.size(); }
  const PathElement& operator[](std::size_t i) const { return elements_[i]; }

  static constexpr std::size_t kNone = ~std::size_t{0};
  // The first position of the element; kNone if it is not there.
  std::size_t Find(const PathElement& element) const {
    const auto at = LowerBound(element);
    return at != order_.end() && elements_[*at] == element ? *at : kNone;
  }
  bool Has(const PathElement& element) const { return Find(element) != kNone; }
  bool IsRepeated(const PathElement& element) const {
    const auto at = LowerBound(element);
    return order_.end() - at >= 2 && elements_[at[0]] == element && elements_[at[1]] == element;
  }

 private:
  std::vector<std::size_t>::const_iterator LowerBound(const PathElement& element) const {
    return std::lower_bound(order_.begin(), order_.end(), element,
                            [&](std::size_t i, const PathElement& e) { return elements_[i] < e; });
  }

  std::vector<PathElement> elements_;
  std::vector<std::size_t> order_;
};

// Merges two lists whose items are told apart. The configuration's items keep its order. An item only the
// object has keeps its place between those around it that both have, as far as that order allows.
class ListMerge {
 public:
  ListMerge(const ApplyType& type, json::Array& object, const json::Array& config, int depth)
      : item_(ItemType(type)),
        object_(object),
        config_(config),
        left_(type, object),
        right_(type, config),
        depth_(depth) {
    for (std::size_t i = 0; i < right_.size(); ++i) {
      if (left_.Has(right_[i])) shared_.push_back(i);
    }
    taken_.resize(right_.size());
  }

  json::Array Run() {
    while (l_ < left_.size() || r_ < right_.size()) Step();
    return std::move(out_);
  }

 private:
  void Step() {
    if (l_ < left_.size()) {
      const std::size_t match = right_.Find(left_[l_]);
      if (match == ListSide::kNone) {
        out_.push_back(std::move(object_[l_++]));  // only the object has it
        return;
      }
      if (match != r_ && r_ < right_.size() && NextSharedIsNot(left_[l_])) {
        ++l_;  // merged when its turn in the configuration comes
        return;
      }
      if (match == r_ || taken_[match]) ++l_;
    }
    if (r_ < right_.size()) TakeConfigured();
  }

  bool NextSharedIsNot(const PathElement& element) const {
    return next_shared_ < shared_.size() && right_[shared_[next_shared_]] != element;
  }

  void TakeConfigured() {
    const std::size_t partner = left_.Find(right_[r_]);
    if (partner != ListSide::kNone && !left_.IsRepeated(right_[r_])) {
      Value merged = std::move(object_[partner]);
      MergeAt(item_, merged, config_[r_], depth_ + 1);
      out_.push_back(std::move(merged));
    } else {
      out_.push_back(config_[r_]);
    }
    taken_[r_] = true;
    if (next_shared_ < shared_.size() && shared_[next_shared_] == r_) ++next_shared_;
    ++r_;
  }

  const ApplyType item_;
  json::Array& object_;
  const json::Array& config_;
  const ListSide left_, right_;
  const int depth_;
  std::vector<std::size_t> shared_;  // positions in the configuration of what both have
  std::size_t next_shared_ = 0;
  std::vector<bool> taken_;
  std::size_t l_ = 0, r_ = 0;
  json::Array out_;
};

void MergeAt(const ApplyType& type, Value& object, const Value& config, int depth) {
  const Grain grain = depth < FieldSet::kMaxDepth ? GrainOf(type, config) : Grain::kWhole;
  if (grain == Grain::kMembers && object.is_object() && !object.empty()) {
    if (config.is_null()) return;
    if (config.is_object()) return MergeMembers(type, object.as_object(), config.as_object(), depth);
  }
  if (grain == Grain::kItems && object.is_array() && !object.empty()) {
    if (config.is_null() || config.empty()) return;
    object = ListMerge(type, object.as_array(), config.as_array(), depth).Run();
    return;
  }
  object = config;
}

// ---- WithoutFields

class Remover {
 public:
  // `kept` null: what becomes empty becomes null.
  explicit Remover(const FieldSet* kept) : prune_(kept != nullptr), kept_(kept) {}

  void RemoveAt(const ApplyType& type, Value& value, const FieldSet& fields) {
    const Grain grain = GrainOf(type, value);
    if (grain == Grain::kMembers && value.is_object() && !value.empty()) {
      RemoveMembers(type, value, fields);
    } else if (grain == Grain::kItems && value.is_array() && !value.empty()) {
      RemoveItems(type, value, fields);
    } else if (grain != Grain::kWhole || value.is_object() || value.is_array()) {
      value = Value();  // nothing in it can be kept apart
    }
  }

 private:
  void RemoveBelow(const PathElement& element, const ApplyType& type, Value& value, const FieldSet& fields) {
    const FieldSet* above = kept_;
    kept_ = above != nullptr ? above->Below(element) : nullptr;
    RemoveAt(type, value, fields);
    kept_ = above;
    const bool keep = above != nullptr && above->HasElement(element);
    if (keep && value.is_null()) value = json::Object();
  }

  void RemoveMembers(const ApplyType& type, Value& value, const FieldSet& fields) {
    json::Object& object = value.as_object();
    MemberTypes types(type);
    json::Object gone;  // by name; erased all at once: one by one would be quadratic
    for (const auto& node : fields.nodes()) {
      if (node.element.kind() != PathElement::Kind::kField) continue;
      const std::string_view name = node.element.text();
      Value* member = object.Find(name);
      if (member == nullptr) continue;
      if (!node.member) RemoveBelow(node.element, types.Find(name).type, *member, node.below);
      if (node.member || (prune_ && member->is_null())) gone[name];
    }
    if (!gone.empty())
      object.EraseIf([&](std::string_view name, const Value&) { return gone.contains(name); });
    if (object.empty()) value = Value();
  }

  void RemoveItems(const ApplyType& type, Value& value, const FieldSet& fields) {
    json::Array left;
    for (Value& item : value.as_array()) {
      const auto element = ItemElement(type, item);
      if (element && fields.HasElement(*element)) continue;
      if (const FieldSet* below = element ? fields.Below(*element) : nullptr) {
        RemoveBelow(*element, ItemType(type), item, *below);
        if (prune_ && item.is_null()) continue;
      }
      left.push_back(std::move(item));
    }
    value = left.empty() ? Value() : Value(std::move(left));
  }

  const bool prune_;
  const FieldSet* kept_;  // below where the remover is; null: nothing
};

}  // namespace

Value MergeConfiguration(const TypeInfo& type, Value object, const Value& configuration) {
  MergeAt(ApplyType::Of(type), object, configuration, 0);
  return object;
}

Value WithoutFields(const TypeInfo& type, Value value, const FieldSet& fields) {
  if (!fields.empty()) Remover(nullptr).RemoveAt(ApplyType::Of(type), value, fields);
  return value;
}

Value PruneFields(const TypeInfo& type, Value value, const FieldSet& fields, const FieldSet& kept) {
  if (!fields.empty()) Remover(&kept).RemoveAt(ApplyType::Of(type), value, fields);
  return value;
}

}  // namespace flyball::api
