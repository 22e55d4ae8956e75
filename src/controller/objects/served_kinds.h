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
// Thread-safe; calls block.
class ServedKinds : public std::enable_shared_from_this<ServedKinds> {
 public:
  // Watches CustomResourceDefinitions through the manager's caches.
  static std::shared_ptr<ServedKinds> Make(Manager& manager);
  explicit ServedKinds(Client client) : mapper_(std::move(client)) {}

  // The kinds that can be listed and deleted, each once, at its preferred version.
  Result<std::vector<ApiResource>> Deletable();
  // NotFound if the kind is not served.
  Result<KindRef> Find(std::string_view api_version, std::string_view kind);
  // Calls fn (which must not block) whenever the kinds may have changed. Set it before the manager starts.
  void OnChange(std::function<void()> fn) { changed_ = std::move(fn); }

 private:
  RestMapper mapper_;
  std::function<void()> changed_;
};

}  // namespace flyball::controllers
