#include "informer/object_store.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <deque>
#include <unordered_map>
#include <unordered_set>

#include "base/run/light_mutex.h"
#include "base/values/hash.h"
#include "base/values/hash_index.h"

namespace flyball {
namespace {

struct Node;

// The place of one object among those that share an index value.
struct Ref {
  Node* node;
  std::int32_t member;  // which of the node's memberships it is; kNamespaceMember for the inline one
};
constexpr std::int32_t kNamespaceMember = -1;

struct Bucket {
  std::string value;
  std::vector<Ref> refs;
};

struct Membership {
  Bucket* bucket = nullptr;
  std::uint32_t position = 0;
  std::uint32_t index = 0;  // into State::indexes
};

struct Node {
  std::string key;
  ObjectPtr object;              // null: a free node
  std::uint32_t hash = 0;        // hash of the key
  std::uint32_t number = 0;      // its place in State::slab
  Membership by_namespace;       // every object has exactly one
  std::vector<Membership> more;  // of user-defined indexes
};

struct TextHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const { return HashText(text); }
};

struct Index {
  std::string name;
  ObjectStore::IndexFn fn;
  // Nodes of the map do not move.
  std::unordered_map<std::string, Bucket, TextHash, std::equal_to<>> buckets;
};

std::uint32_t HashKey(std::string_view key) {
  return static_cast<std::uint32_t>(HashText(key));
}

Membership& MemberOf(Node& node, std::int32_t member) {
  return member == kNamespaceMember ? node.by_namespace : node.more[static_cast<std::size_t>(member)];
}

Bucket& BucketOf(Index& index, std::string_view value) {
  const auto it = index.buckets.find(value);
  if (it != index.buckets.end()) return it->second;
  return index.buckets.emplace(std::string(value), Bucket{std::string(value), {}}).first->second;
}

void Join(Bucket& bucket, Node& node, std::int32_t member) {
  Membership& membership = MemberOf(node, member);
  membership.bucket = &bucket;
  membership.position = static_cast<std::uint32_t>(bucket.refs.size());
  bucket.refs.push_back({&node, member});
}

void Leave(Index& index, const Membership& membership) {
  Bucket& bucket = *membership.bucket;
  const Ref last = bucket.refs.back();
  bucket.refs.pop_back();
  if (membership.position < bucket.refs.size()) {
    bucket.refs[membership.position] = last;
    MemberOf(*last.node, last.member).position = membership.position;
  }
  if (bucket.refs.empty()) index.buckets.erase(index.buckets.find(bucket.value));
}

// Builds "ns/name" on the stack, so that a lookup does not allocate.
class ComposedKey {
 public:
  ComposedKey(std::string_view ns, std::string_view name) {
    if (ns.empty()) {
      view_ = name;
      return;
    }
    char* out = buffer_;
    if (ns.size() + name.size() + 1 > sizeof buffer_) {
      long_.resize(ns.size() + name.size() + 1);
      out = long_.data();
    }
    std::memcpy(out, ns.data(), ns.size());
    out[ns.size()] = '/';
    std::memcpy(out + ns.size() + 1, name.data(), name.size());
    view_ = std::string_view(out, ns.size() + name.size() + 1);
  }
  std::string_view view() const { return view_; }

 private:
  char buffer_[384];  // a namespace has at most 63 bytes, a name 253
  std::string long_;
  std::string_view view_;
};

// The values an object is found under, by index.
using ValuesByIndex = std::vector<std::vector<std::string>>;

}  // namespace

std::string KeyOf(const MetaView& meta) {
  return std::string(ComposedKey(meta.ns, meta.name).view());
}

struct ObjectStore::State {
  explicit State(const ObjectType& t) : type(t) { namespaces.name = kNamespaceIndex; }

  Node* Find(std::string_view key) FLYBALL_REQUIRES(mu) { return Find(key, HashKey(key)); }
  Node* Find(std::string_view key, std::uint32_t hash) FLYBALL_REQUIRES(mu) {
    const auto* nodes = &slab;  // the analysis does not know that the lambda runs under the lock
    const std::uint32_t number = keys.Find(hash, [&](std::uint32_t n) { return (*nodes)[n].key == key; });
    return number == HashIndex::kNone ? nullptr : &slab[number];
  }

  // Moves the key if it can.
  template <typename Key>
  ObjectPtr Put(Key&& key, ObjectPtr object, const ValuesByIndex& values) FLYBALL_REQUIRES(mu) {
    const std::uint32_t hash = HashKey(key);
    Node* node = Find(key, hash);
    if (node) {
      object.swap(node->object);
      if (!indexes.empty()) Reindex(*node, values);
      return object;
    }
    node = NewNode();
    node->key = std::forward<Key>(key);
    node->hash = hash;
    node->object = std::move(object);
    keys.Insert(hash, node->number);
    ++count;
    Join(BucketOf(namespaces, type.meta(node->object.get()).ns), *node, kNamespaceMember);
    if (!indexes.empty()) Reindex(*node, values);
    return nullptr;
  }

  Node* NewNode() FLYBALL_REQUIRES(mu) {
    if (!free.empty()) {
      Node* node = free.back();
      free.pop_back();
      return node;
    }
    Node* node = &slab.emplace_back();
    node->number = static_cast<std::uint32_t>(slab.size() - 1);
    return node;
  }

  ObjectPtr Remove(std::string_view key) FLYBALL_REQUIRES(mu) {
    Node* node = Find(key);
    return node ? Remove(*node) : nullptr;
  }

  ObjectPtr Remove(Node& node) FLYBALL_REQUIRES(mu) {
    keys.Erase(node.hash, node.number);
    --count;
    Leave(namespaces, node.by_namespace);
    while (!node.more.empty()) LeaveMore(node, node.more.size() - 1);
    free.push_back(&node);
    node.key.clear();
    return std::exchange(node.object, nullptr);
  }

  void RemoveAllBut(const std::vector<Item>& items, std::vector<Item>* removed) FLYBALL_REQUIRES(mu) {
    std::unordered_set<std::string_view, TextHash> wanted_keys;
    wanted_keys.reserve(items.size());
    for (const Item& item : items) wanted_keys.insert(item.key);
    for (Node& node : slab) {
      if (!node.object || wanted_keys.contains(node.key)) continue;
      std::string key = node.key;
      removed->push_back({std::move(key), Remove(node)});
    }
  }

  // Removes the object from the bucket of a user-defined index; the last membership takes the place of the
  // removed one.
  void LeaveMore(Node& node, std::size_t i) FLYBALL_REQUIRES(mu) {
    const Membership membership = node.more[i];
    Leave(*indexes[membership.index], membership);
    const Membership last = node.more.back();
    node.more.pop_back();
    if (i == node.more.size()) return;
    node.more[i] = last;
    last.bucket->refs[last.position].member = static_cast<std::int32_t>(i);
  }

  // What the index functions say of an object, by index. Calls them, so without the lock.
  ValuesByIndex ValuesOf(const ObjectPtr& object) FLYBALL_EXCLUDES(mu) {
    ValuesByIndex values;
    for (const Index* index : IndexesNow()) values.push_back(ValuesIn(*index, object));
    return values;
  }

  static std::vector<std::string> ValuesIn(const Index& index, const ObjectPtr& object) {
    std::vector<std::string> values;
    index.fn(object.get(), &values);
    std::sort(values.begin(), values.end());
    values.erase(std::unique(values.begin(), values.end()), values.end());
    return values;
  }

  // Indexes are never removed, and their functions never change.
  std::vector<const Index*> IndexesNow() FLYBALL_EXCLUDES(mu) {
    std::vector<const Index*> now;
    if (index_count.load(std::memory_order_acquire) == 0) return now;
    LightLock lock(mu);
    for (const auto& index : indexes) now.push_back(index.get());
    return now;
  }

  // An index that was added after these values were asked for: they are to be asked for again.
  bool AreComplete(const ValuesByIndex& values) const FLYBALL_REQUIRES(mu) {
    return values.size() == indexes.size();
  }

  // Puts the object where its index values say now.
  void Reindex(Node& node, const ValuesByIndex& values) FLYBALL_REQUIRES(mu) {
    wanted.clear();
    for (std::uint32_t i = 0; i < indexes.size(); ++i)
      for (const std::string& value : values[i]) wanted.push_back({&BucketOf(*indexes[i], value), 0, i});
    const auto holds = [](const std::vector<Membership>& list, const Bucket* bucket) {
      return std::any_of(list.begin(), list.end(), [&](const Membership& m) { return m.bucket == bucket; });
    };
    for (std::size_t i = node.more.size(); i > 0; --i)
      if (!holds(wanted, node.more[i - 1].bucket)) LeaveMore(node, i - 1);
    for (const Membership& membership : wanted) {
      if (holds(node.more, membership.bucket)) continue;
      node.more.push_back(membership);
      Join(*membership.bucket, node, static_cast<std::int32_t>(node.more.size() - 1));
    }
  }

  const Index* FindIndex(std::string_view name) FLYBALL_REQUIRES(mu) {
    if (name == kNamespaceIndex) return &namespaces;
    for (const auto& index : indexes)
      if (index->name == name) return index.get();
    return nullptr;
  }

  const ObjectType& type;
  LightMutex mu;
  HashIndex keys FLYBALL_GUARDED_BY(mu);
  std::deque<Node> slab FLYBALL_GUARDED_BY(mu);
  std::vector<Node*> free FLYBALL_GUARDED_BY(mu);
  std::size_t count FLYBALL_GUARDED_BY(mu) = 0;
  Index namespaces FLYBALL_GUARDED_BY(mu);
  std::vector<std::unique_ptr<Index>> indexes FLYBALL_GUARDED_BY(mu);
  std::atomic<std::size_t> index_count{0};
  std::vector<Membership> wanted FLYBALL_GUARDED_BY(mu);
};

ObjectStore::ObjectStore(const ObjectType& type) : state_(std::make_unique<State>(type)) {}
ObjectStore::~ObjectStore() = default;

Status ObjectStore::AddIndex(std::string name, IndexFn fn) {
  {
    LightLock lock(state_->mu);
    if (state_->FindIndex(name))
      return Unexpected(Error(Reason::kAlreadyExists, "there is an index \"" + name + "\" already"));
    state_->indexes.push_back(std::make_unique<Index>(Index{std::move(name), std::move(fn), {}}));
    state_->index_count.store(state_->indexes.size(), std::memory_order_release);
  }
  // Whatever is put from now on is put with this index; what is there already is looked at here.
  for (const Item& item : Items()) {
    ValuesByIndex values = state_->ValuesOf(item.object);
    LightLock lock(state_->mu);
    Node* node = state_->Find(item.key);
    if (node && node->object == item.object && state_->AreComplete(values)) state_->Reindex(*node, values);
  }
  return {};
}

ObjectPtr ObjectStore::Put(std::string_view key, ObjectPtr object) {
  for (;;) {
    const ValuesByIndex values = state_->ValuesOf(object);
    LightLock lock(state_->mu);
    if (state_->AreComplete(values)) return state_->Put(key, std::move(object), values);
  }
}

ObjectPtr ObjectStore::Remove(std::string_view key) {
  LightLock lock(state_->mu);
  return state_->Remove(key);
}

ObjectStore::Replaced ObjectStore::Replace(std::vector<Item>& items) {
  Replaced result;
  result.previous.reserve(items.size());
  for (;;) {
    std::vector<ValuesByIndex> values;
    if (state_->index_count.load(std::memory_order_acquire) > 0)
      for (const Item& item : items) values.push_back(state_->ValuesOf(item.object));
    LightLock lock(state_->mu);
    const ValuesByIndex none;
    const auto of = [&](std::size_t i) -> const ValuesByIndex& { return values.empty() ? none : values[i]; };
    bool complete = true;
    for (std::size_t i = 0; i < items.size() && complete; ++i) complete = state_->AreComplete(of(i));
    if (!complete) continue;
    if (state_->count > 0) state_->RemoveAllBut(items, &result.removed);
    for (std::size_t i = 0; i < items.size(); ++i)
      result.previous.push_back(state_->Put(std::move(items[i].key), items[i].object, of(i)));
    return result;
  }
}

ObjectPtr ObjectStore::Get(std::string_view key) const {
  LightLock lock(state_->mu);
  const Node* node = state_->Find(key);
  return node ? node->object : nullptr;
}

ObjectPtr ObjectStore::Get(std::string_view ns, std::string_view name) const {
  return Get(ComposedKey(ns, name).view());
}

std::vector<ObjectPtr> ObjectStore::List() const {
  std::vector<ObjectPtr> objects;
  LightLock lock(state_->mu);
  objects.reserve(state_->count);
  for (const Node& node : state_->slab)
    if (node.object) objects.push_back(node.object);
  return objects;
}

std::vector<ObjectStore::Item> ObjectStore::Items() const {
  std::vector<Item> items;
  LightLock lock(state_->mu);
  items.reserve(state_->count);
  for (const Node& node : state_->slab)
    if (node.object) items.push_back({node.key, node.object});
  return items;
}

std::vector<ObjectPtr> ObjectStore::ByIndex(std::string_view name, std::string_view value) const {
  std::vector<ObjectPtr> objects;
  LightLock lock(state_->mu);
  const Index* index = state_->FindIndex(name);
  if (!index) return objects;
  const auto bucket = index->buckets.find(value);
  if (bucket == index->buckets.end()) return objects;
  objects.reserve(bucket->second.refs.size());
  for (const Ref& ref : bucket->second.refs) objects.push_back(ref.node->object);
  return objects;
}

std::vector<std::string> ObjectStore::IndexValues(std::string_view name) const {
  std::vector<std::string> values;
  LightLock lock(state_->mu);
  if (const Index* index = state_->FindIndex(name))
    for (const auto& [value, bucket] : index->buckets) values.push_back(value);
  return values;
}

std::size_t ObjectStore::size() const {
  LightLock lock(state_->mu);
  return state_->count;
}

}  // namespace flyball
