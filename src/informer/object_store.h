// ObjectStore and Indexer<T>: the local copy of the server's objects, by key and by index.
//
// Objects are immutable and shared. A read copies a pointer, never an object, and the object stays valid and
// unchanged, whatever happens next.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/run/mutex.h"
#include "base/values/result.h"
#include "client/kind_ref.h"
#include "informer/object_type.h"

namespace flyball {

// The index that every store has: by namespace.
inline constexpr std::string_view kNamespaceIndex = "namespace";

// The key of an object: "ns/name" or "name".
std::string KeyOf(const MetaView& meta);

// Type-erased; see Indexer<T>. Thread-safe: any number of readers, and writers (the informer is the only one
// in practice). No user code runs under its lock: an index function may read the store it belongs to.
class ObjectStore {
 public:
  using IndexFn = std::function<void(const void* object, std::vector<std::string>* values)>;
  struct Item {
    std::string key;
    ObjectPtr object;
  };

  explicit ObjectStore(const ObjectType& type);
  ~ObjectStore();

  // Adds an index and fills it with the stored objects. AlreadyExists if the name is taken.
  Status AddIndex(std::string name, IndexFn fn);

  // Stores the object and returns the previous one.
  ObjectPtr Put(std::string_view key, ObjectPtr object);
  ObjectPtr Remove(std::string_view key);
  // Replaces the whole content with the items, in one step for readers. Their keys are moved, their objects
  // shared.
  struct Replaced {
    std::vector<ObjectPtr> previous;  // for each item: the previous object, or null
    std::vector<Item> removed;        // objects that are no longer there
  };
  Replaced Replace(std::vector<Item>& items);

  // Null if absent.
  ObjectPtr Get(std::string_view key) const;
  ObjectPtr Get(std::string_view ns, std::string_view name) const;
  std::vector<ObjectPtr> List() const;
  std::vector<Item> Items() const;
  // Empty if there is no such index or value. The index kNamespaceIndex always exists.
  std::vector<ObjectPtr> ByIndex(std::string_view index, std::string_view value) const;
  std::vector<std::string> IndexValues(std::string_view index) const;
  std::size_t size() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// A typed view of a store. A small value; thread-safe.
template <typename T>
class Indexer {
 public:
  using Ptr = std::shared_ptr<const T>;

  Indexer() : store_(std::make_shared<ObjectStore>(ObjectTypeOf<T>())) {}
  explicit Indexer(std::shared_ptr<ObjectStore> store) : store_(std::move(store)) {}

  // fn(const T&) -> std::vector<std::string>: the index values of the object.
  template <typename Fn>
  Status AddIndex(std::string name, Fn fn) {
    return store_->AddIndex(std::move(name),
                            [fn = std::move(fn)](const void* object, std::vector<std::string>* values) {
                              *values = fn(*static_cast<const T*>(object));
                            });
  }

  Ptr Get(std::string_view ns, std::string_view name) const { return Cast(store_->Get(ns, name)); }
  Ptr Get(const ObjectKey& key) const { return Cast(store_->Get(key.ns, key.name)); }
  Ptr GetByKey(std::string_view key) const { return Cast(store_->Get(key)); }
  std::vector<Ptr> List() const { return CastAll(store_->List()); }
  std::vector<Ptr> ByIndex(std::string_view index, std::string_view value) const {
    return CastAll(store_->ByIndex(index, value));
  }
  std::vector<Ptr> ListNamespace(std::string_view ns) const { return ByIndex(kNamespaceIndex, ns); }
  std::vector<std::string> IndexValues(std::string_view index) const { return store_->IndexValues(index); }
  std::size_t size() const { return store_->size(); }

  // For code that fills an indexer itself (tests, custom caches).
  Ptr Put(Ptr object) {
    const std::string key = KeyOf(MetaOf(*object));
    return Cast(store_->Put(key, std::move(object)));
  }
  Ptr Remove(const T& object) { return Cast(store_->Remove(KeyOf(MetaOf(object)))); }

  ObjectStore& store() const { return *store_; }

 private:
  static Ptr Cast(ObjectPtr object) { return std::static_pointer_cast<const T>(std::move(object)); }
  static std::vector<Ptr> CastAll(std::vector<ObjectPtr> objects) {
    std::vector<Ptr> typed;
    typed.reserve(objects.size());
    for (ObjectPtr& object : objects) typed.push_back(Cast(std::move(object)));
    return typed;
  }

  std::shared_ptr<ObjectStore> store_;
};

}  // namespace flyball
