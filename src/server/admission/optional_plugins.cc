#include "server/admission/optional_plugins.h"

#include <set>
#include <string>

#include "server/admission/basis/requests.h"

namespace flyball::server {
namespace {

class AlwaysAdmit final : public AdmissionPlugin {
 public:
  std::string_view name() const override { return "AlwaysAdmit"; }
};

class AlwaysDeny final : public AdmissionPlugin {
 public:
  std::string_view name() const override { return "AlwaysDeny"; }
  Task<Status> Admit(AdmissionRequest& request) override { co_return Refuse(request); }
  Task<Status> Validate(const AdmissionRequest& request) override { co_return Refuse(request); }

 private:
  static Status Refuse(const AdmissionRequest& request) {
    return Unexpected(AdmissionForbidden(request, "admission control is denying all modifications"));
  }
};

class DenyServiceExternalIPs final : public AdmissionPlugin {
 public:
  std::string_view name() const override { return "DenyServiceExternalIPs"; }

  Task<Status> Validate(const AdmissionRequest& request) override {
    if (!Writes(request) || !IsAbout(request, "", "services") || !request.subresource.empty())
      co_return Status();
    std::set<std::string> before;
    if (request.old_object) Collect((*request.old_object)["spec"]["externalIPs"], before);
    std::set<std::string> now;
    Collect((*request.object)["spec"]["externalIPs"], now);
    for (const auto& ip : now)
      if (!before.contains(ip))
        co_return Unexpected(
            AdmissionForbidden(request, "Use of external IPs is denied by admission control"));
    co_return Status();
  }

 private:
  static void Collect(const json::Value& list, std::set<std::string>& out) {
    if (!list.is_array()) return;
    for (const auto& item : list.as_array()) out.emplace(item.string_or(""));
  }
};

}  // namespace

std::unique_ptr<AdmissionPlugin> NewAlwaysAdmit() {
  return std::make_unique<AlwaysAdmit>();
}
std::unique_ptr<AdmissionPlugin> NewAlwaysDeny() {
  return std::make_unique<AlwaysDeny>();
}
std::unique_ptr<AdmissionPlugin> NewDenyServiceExternalIPs() {
  return std::make_unique<DenyServiceExternalIPs>();
}

}  // namespace flyball::server
