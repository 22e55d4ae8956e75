#include "server/cache/object_table.h"

#include <algorithm>

namespace flyball::server {
namespace {

// Selectors remembered while they have no index yet.
constexpr std::size_t kMaxSelectors = 32;
constexpr std::uint64_t kUsesBeforeIndex = 2;
// After every name: bytes of names are below it.
constexpr std::string_view kAfterNames = "\xff";

bool Indexed(const auto& selector) {
  return selector.index != nullptr;
}

}  // namespace

ObjectKey ObjectKey::Parse(std::string_view key, bool namespaced) {
  if (!namespaced) return {{}, key};
  const auto slash = key.find('/');
  if (slash == std::string_view::npos) return {key, {}};
  return {key.substr(0, slash), key.substr(slash + 1)};
}

bool operator<(const ObjectKey& a, const ObjectKey& b) {
  const auto& x = a.namespace_name;
  const auto& y = b.namespace_name;
  if (x == y) return a.name < b.name;
  const std::size_t shared = std::min(x.size(), y.size());
  if (const int order = x.substr(0, shared).compare(y.substr(0, shared)); order != 0) return order < 0;
  // One is the beginning of the other; in the key a slash follows it.
  const auto byte = [](char c) { return static_cast<unsigned char>(c); };
  return x.size() < y.size() ? byte('/') < byte(y[shared]) : byte(x[shared]) < byte('/');
}

ObjectPtr ObjectTable::Find(std::string_view key) const {
  const ObjectPtr* found = objects_.Find(ObjectKey::Parse(key, namespaced_));
  return found ? *found : nullptr;
}

ObjectPtr ObjectTable::Put(ObjectPtr object) {
  const ObjectPtr* found = objects_.Find(ObjectKey::Of(*object));
  const ObjectPtr before = found ? *found : nullptr;
  for (auto& selector : selectors_) {
    if (!Indexed(selector)) continue;
    if (before) selector.index->Erase(SelectorOrder{selector.term}.KeyOf(before));
    if (ValueOf(*object, selector.term)) selector.index->Put(object);
  }
  objects_.Put(std::move(object));
  return before;
}

ObjectPtr ObjectTable::Erase(std::string_view key) {
  const ObjectKey place = ObjectKey::Parse(key, namespaced_);
  const ObjectPtr* found = objects_.Find(place);
  if (!found) return nullptr;
  const ObjectPtr before = *found;
  for (auto& selector : selectors_)
    if (Indexed(selector)) selector.index->Erase(SelectorOrder{selector.term}.KeyOf(before));
  objects_.Erase(place);
  return before;
}

std::size_t ObjectTable::indexes() const {
  return static_cast<std::size_t>(
      std::count_if(selectors_.begin(), selectors_.end(), [](const auto& s) { return Indexed(s); }));
}

ObjectTable::Selector& ObjectTable::Use(const SelectorTerm& term) {
  auto it = std::find_if(selectors_.begin(), selectors_.end(),
                         [&](const auto& s) { return s.term.SameSelector(term); });
  const auto older = [](const auto& a, const auto& b) {
    // Those without an index go first.
    return Indexed(a) != Indexed(b) ? Indexed(b) : a.last_use < b.last_use;
  };
  if (it == selectors_.end()) {
    if (selectors_.size() == kMaxSelectors)
      selectors_.erase(std::min_element(selectors_.begin(), selectors_.end(), older));
    it = selectors_.insert(selectors_.end(), Selector{term, 0, 0, nullptr});
  }
  ++it->uses;
  it->last_use = ++clock_;
  return *it;
}

void ObjectTable::BuildIndex(Selector& selector) {
  if (indexes() == kMaxIndexes) {
    Selector* oldest = nullptr;
    for (auto& other : selectors_)
      if (Indexed(other) && (!oldest || other.last_use < oldest->last_use)) oldest = &other;
    oldest->index = nullptr;
    oldest->uses = 0;
  }
  auto index = std::make_unique<LeafMap<ObjectPtr, SelectorOrder>>(SelectorOrder{selector.term});
  std::vector<ObjectPtr> having;
  objects_.Read({}, std::nullopt, 0).ForEach([&](const ObjectPtr& object) {
    if (ValueOf(*object, selector.term)) having.push_back(object);
  });
  // In their order, so that they fill their leaves.
  const SelectorOrder order{selector.term};
  std::sort(having.begin(), having.end(), [&](const ObjectPtr& a, const ObjectPtr& b) {
    return order.Less(order.KeyOf(a), order.KeyOf(b));
  });
  for (auto& object : having) index->Put(std::move(object));
  selector.index = std::move(index);
}

const ObjectTable::Selector* ObjectTable::IndexFor(const std::vector<SelectorTerm>& terms,
                                                   SelectorTerm* chosen) {
  const Selector* best = nullptr;
  if (objects_.size() < kMinObjectsForIndex) return nullptr;
  for (const auto& term : terms) {
    Selector& selector = Use(term);
    if (!Indexed(selector) && selector.uses >= kUsesBeforeIndex && !best) BuildIndex(selector);
    if (!Indexed(selector) || best) continue;
    best = &selector;
    *chosen = term;
    break;
  }
  return best;
}

ObjectTable::Candidates ObjectTable::Select(const ObjectFilter& filter, std::string_view start,
                                            std::size_t limit) {
  Candidates candidates;
  const auto& space = filter.namespace_name;
  ObjectKey from{space, filter.name};
  std::optional<ObjectKey> to;
  if (namespaced_ && !space.empty()) to = {space, kAfterNames};
  std::string after_name;
  if (!filter.name.empty() && (!namespaced_ || !space.empty())) {
    after_name = filter.name + '\0';
    to = {space, after_name};
  } else {
    from.name = {};
  }
  if (const auto begin = ObjectKey::Parse(start, namespaced_); !start.empty() && from < begin) from = begin;
  SelectorTerm chosen;
  if (filter.selective()) limit = 0;
  if (const Selector* selector = to && !after_name.empty() ? nullptr : IndexFor(filter.Terms(), &chosen)) {
    const std::string_view value = chosen.value;
    const SelectorOrder::Key last{value, to.value_or(ObjectKey{kAfterNames, {}})};
    candidates.by_value_ = selector->index->Read({value, from}, last, 0);
  } else {
    candidates.by_key_ = objects_.Read(from, to, limit);
  }
  return candidates;
}

}  // namespace flyball::server
