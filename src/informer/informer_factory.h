// InformerFactory: one informer a kind, shared by everyone who asks.
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
  std::string ns{};  // of every namespaced kind; empty: all
  bool streaming_lists = false;
  bool drop_managed_fields = false;  // see ReflectorOptions
};

// What one informer sees. Informers that differ in it are different.
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

  // The informer of a kind, made when first asked for; started with the factory, or at once if that has been.
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
  // Any kind, only its metadata: a fraction of the traffic and the memory.
  SharedInformer<PartialObject> MetadataOnly(const KindRef& kind, const InformerScope& scope = {}) {
    return SharedInformer<PartialObject>(
        Core(typeid(PartialObject), ObjectTypeOf<PartialObject>(), kind, scope, nullptr));
  }

  // Null unless somebody asked for it before: whoever holds the kind's cache, any C++ type.
  std::shared_ptr<InformerCore> Find(const KindRef& kind, const InformerScope& scope = {});

  void Start();
  void Stop();

  // Waiting for every informer asked for so far.
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
