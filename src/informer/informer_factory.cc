#include "informer/informer_factory.h"

#include <atomic>
#include <utility>

#include "base/run/notification.h"

namespace flyball {

std::shared_ptr<InformerCore> InformerFactory::Core(std::type_index type_index, const ObjectType& type,
                                                    const KindRef& kind, const InformerScope& scope,
                                                    std::function<void(void*)> transform) {
  const std::string& ns = !kind.namespaced ? std::string() : scope.ns.empty() ? options_.ns : scope.ns;
  const Key key{type_index, kind.ApiVersion() + "/" + kind.plural, ns, scope.label_selector,
                scope.field_selector};
  std::shared_ptr<InformerCore> core;
  bool start = false;
  {
    MutexLock lock(mu_);
    auto& slot = informers_[key];
    if (!slot) {
      InformerOptions options;
      options.reflector = {.kind = kind,
                           .ns = ns,
                           .label_selector = scope.label_selector,
                           .field_selector = scope.field_selector,
                           .streaming_list = options_.streaming_lists,
                           .drop_managed_fields = options_.drop_managed_fields,
                           .transform = std::move(transform)};
      slot = InformerCore::Make(client_, type, std::move(options));
      start = started_ && !stopped_;
    }
    core = slot;
  }
  if (start) core->Start();
  return core;
}

std::shared_ptr<InformerCore> InformerFactory::Find(const KindRef& kind, const InformerScope& scope) {
  const std::string& ns = !kind.namespaced ? std::string() : scope.ns.empty() ? options_.ns : scope.ns;
  MutexLock lock(mu_);
  for (const auto& [key, core] : informers_) {
    const bool same = core->kind().group == kind.group && core->kind().plural == kind.plural &&
                      std::get<2>(key) == ns && std::get<3>(key) == scope.label_selector &&
                      std::get<4>(key) == scope.field_selector;
    if (same) return core;
  }
  return nullptr;
}

std::vector<std::shared_ptr<InformerCore>> InformerFactory::All() {
  std::vector<std::shared_ptr<InformerCore>> all;
  MutexLock lock(mu_);
  for (const auto& [key, core] : informers_) all.push_back(core);
  return all;
}

void InformerFactory::Start() {
  {
    MutexLock lock(mu_);
    if (std::exchange(started_, true)) return;
  }
  for (const auto& core : All()) core->Start();
}

void InformerFactory::Stop() {
  {
    MutexLock lock(mu_);
    if (std::exchange(stopped_, true)) return;
  }
  for (const auto& core : All()) core->Stop();
}

bool InformerFactory::HasSynced() {
  for (const auto& core : All())
    if (!core->HasSynced()) return false;
  return true;
}

void InformerFactory::OnSynced(Closure fn) {
  struct Countdown {
    std::atomic<std::size_t> left;
    Closure fn;
  };
  const auto all = All();
  auto countdown = std::make_shared<Countdown>();
  countdown->left = all.size() + 1;
  countdown->fn = std::move(fn);
  const auto arrive = [countdown] {
    if (--countdown->left == 0) countdown->fn();
  };
  for (const auto& core : all) core->OnSynced(arrive);
  arrive();
}

void InformerFactory::WaitForCacheSync() {
  auto done = std::make_shared<Notification<bool>>();
  OnSynced([done] { done->Set(true); });
  done->Wait();
}

}  // namespace flyball
