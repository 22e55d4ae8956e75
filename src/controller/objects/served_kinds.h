// ServedKinds: every kind that the server has, including custom ones that appear while the program runs.
#pragma once

#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "base/run/mutex.h"
#include "client/discovery.h"
#include "controller/manager.h"

namespace flyball::controllers {

// Reads discovery on first use, and again after a CustomResourceDefinition has changed. Nothing is polled.
// The server may list a new kind a moment after its definition has been seen: MissesAny says so. Thread-safe;
// calls block.
class ServedKinds : public std::enable_shared_from_this<ServedKinds> {
 public:
  // Watches CustomResourceDefinitions through the manager's caches.
  static std::shared_ptr<ServedKinds> Make(Manager& manager);
  ServedKinds(Client client, SharedInformer<PartialObject> definitions)
      : mapper_(std::move(client)), definitions_(std::move(definitions)) {}

  // The kinds that can be listed and deleted, each once, at its preferred version.
  Result<std::vector<ApiResource>> Deletable();
  // Some definition has no kind among `kinds`, the result of Deletable: it is not listed yet, or never will
  // be because its names are taken.
  bool MissesAny(const std::vector<ApiResource>& kinds) const;
  // NotFound if the kind is not served.
  Result<KindRef> Find(std::string_view api_version, std::string_view kind);
  // Calls fn (which must not block) whenever the kinds may have changed. Set it before the manager starts.
  void OnChange(std::function<void()> fn) { changed_ = std::move(fn); }

 private:
  RestMapper mapper_;
  const SharedInformer<PartialObject> definitions_;
  std::function<void()> changed_;
};

}  // namespace flyball::controllers
