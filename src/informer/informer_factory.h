// InformerFactory: one informer per kind, shared by everyone who asks for it.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <typeindex>
#include <vector>

#include "base/run/mutex.h"
#include "informer/shared_informer.h"

namespace flyball {

struct FactoryOptions {
  std::string ns{};  // for every namespaced kind; empty: all
  bool streaming_lists = false;
  bool drop_managed_fields = false;  // see ReflectorOptions
};

// What one informer watches. Different scopes get different informers.
struct InformerScope {
  std::string ns{};
  std::string label_selector{}, field_selector{};
};

// Thread-safe. Destroying it stops its informers.
class InformerFactory {
 public:
  explicit InformerFactory(Client client, FactoryOptions options = {})
      : client_(std::move(client)), options_(std::move(options)) {}
  ~InformerFactory() { Stop(); }

  // Returns the informer of a kind, created on first use. It starts with the factory, or at once if the
  // factory has started.
  template <ApiObject T>
  SharedInformer<T> For(const InformerScope& scope = {}, std::function<void(T&)> transform = nullptr) {
    return SharedInformer<T>(
        Core(typeid(T), ObjectTypeOf<T>(), KindRefOf<T>(), scope, Erase(std::move(transform))));
  }
  // Any kind, as JSON.
  SharedInformer<Unstructured> Dynamic(const KindRef& kind, const InformerScope& scope = {}) {
    return SharedInformer<Unstructured>(
        Core(typeid(Unstructured), ObjectTypeOf<Unstructured>(), kind, scope, nullptr));
  }
  // Only the metadata of any kind: a fraction of the traffic and memory.
  SharedInformer<PartialObject> MetadataOnly(const KindRef& kind, const InformerScope& scope = {}) {
    return SharedInformer<PartialObject>(
        Core(typeid(PartialObject), ObjectTypeOf<PartialObject>(), kind, scope, nullptr));
  }

  // Returns the cache of the kind, whatever its C++ type; null unless someone has asked for it before.
  std::shared_ptr<InformerCore> Find(const KindRef& kind, const InformerScope& scope = {});

  void Start();
  void Stop();

  // Waits for every informer requested so far.
  bool HasSynced();
  void OnSynced(Closure fn);
  // Blocks; for main functions.
  void WaitForCacheSync();

  std::vector<std::shared_ptr<InformerCore>> All();

 private:
  using Key = std::tuple<std::type_index, std::string, std::string, std::string, std::string>;
  std::shared_ptr<InformerCore> Core(std::type_index type_index, const ObjectType& type, const KindRef& kind,
                                     const InformerScope& scope, std::function<void(void*)> transform);
  template <typename T>
  static std::function<void(void*)> Erase(std::function<void(T&)> transform) {
    if (!transform) return nullptr;
    return [fn = std::move(transform)](void* object) { fn(*static_cast<T*>(object)); };
  }

  const Client client_;
  const FactoryOptions options_;
  Mutex mu_;
  std::map<Key, std::shared_ptr<InformerCore>> informers_ FLYBALL_GUARDED_BY(mu_);
  bool started_ FLYBALL_GUARDED_BY(mu_) = false;
  bool stopped_ FLYBALL_GUARDED_BY(mu_) = false;
};

}  // namespace flyball
