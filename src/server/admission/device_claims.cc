#include "server/admission/device_claims.h"

#include <map>
#include <set>

#include "api/rules/field_error.h"
#include "api/rules/format.h"
#include "api/schema/feature_gates.h"
#include "server/admission/basis/requests.h"

namespace flyball::server {
namespace {

constexpr std::string_view kDevicesGroup = "resource.k8s.io";
constexpr std::string_view kAdminLabel = "resource.kubernetes.io/admin-access";

const json::Array& ListOf(const json::Value& list) {
  static const json::Array kNone;
  return list.is_array() ? list.as_array() : kNone;
}

// The place of the first one with admin access; none if there is none.
std::optional<std::size_t> FirstAdmin(const json::Value& list, std::string_view member) {
  const auto& items = ListOf(list);
  for (std::size_t i = 0; i < items.size(); ++i) {
    const json::Value& item = member.empty() ? items[i] : items[i][member];
    if (item["adminAccess"].bool_or(false)) return i;
  }
  return std::nullopt;
}

// Drivers whose entries in status.devices were added, changed or removed.
std::set<std::string> ModifiedDrivers(const json::Value& now, const json::Value& before) {
  const auto key_of = [](const json::Value& device) {
    std::string key;
    for (const auto* part : {"driver", "pool", "device", "shareID"})
      key += std::string(device[part].string_or("")) + "\n";
    return key;
  };
  std::map<std::string, const json::Value*> left;
  for (const auto& device : ListOf(before["devices"])) left[key_of(device)] = &device;
  std::set<std::string> drivers;
  for (const auto& device : ListOf(now["devices"])) {
    const auto old = left.find(key_of(device));
    if (old == left.end() || !(*old->second == device)) drivers.emplace(device["driver"].string_or(""));
    if (old != left.end()) left.erase(old);
  }
  for (const auto& [key, device] : left) drivers.emplace((*device)["driver"].string_or(""));
  return drivers;
}

// The one node that the allocation names; "" if it names none or several.
std::string NodeOfAllocation(const json::Value& allocation) {
  const auto& terms = ListOf(allocation["nodeSelector"]["nodeSelectorTerms"]);
  if (terms.size() != 1 || !terms[0]["matchExpressions"].empty()) return {};
  const auto& fields = ListOf(terms[0]["matchFields"]);
  if (fields.size() != 1 || fields[0]["key"].string_or("") != "metadata.name" ||
      fields[0]["operator"].string_or("") != "In" || ListOf(fields[0]["values"]).size() != 1)
    return {};
  return std::string(ListOf(fields[0]["values"])[0].string_or(""));
}

// A service account whose token is bound to a pod on that node.
bool IsServiceAccountOn(const User& user, const std::string& node) {
  const auto names = user.extra.find("authentication.kubernetes.io/node-name");
  return !node.empty() && user.name.starts_with("system:serviceaccount:") && names != user.extra.end() &&
         names->second.size() == 1 && names->second[0] == node && api::DnsSubdomainProblems(node).empty();
}

class DeviceClaimCheck final : public AdmissionPlugin {
 public:
  DeviceClaimCheck(const Catalog& catalog, const Authorizer& authorizer)
      : namespaces_(catalog.Find("", "v1", "namespaces")), authorizer_(authorizer) {}
  std::string_view name() const override { return "DeviceClaimCheck"; }

  Task<Status> Validate(const AdmissionRequest& request) override {
    if (request.resource.kind->group != kDevicesGroup || !Writes(request)) co_return Status();
    api::FieldErrors errors;
    const auto& object = *request.object;
    if (Creates(request, kDevicesGroup, "resourceclaims")) {
      CheckRequests(request, object["spec"], errors);
    } else if (Creates(request, kDevicesGroup, "resourceclaimtemplates")) {
      CheckRequests(request, object["spec"]["spec"], errors);
    } else if (IsAbout(request, kDevicesGroup, "resourceclaims") && request.subresource == "status") {
      CheckResults(request, errors);
      co_await CheckRights(request, errors);
    }
    if (errors.empty()) co_return Status();
    co_return Unexpected(errors.ToError(kDevicesGroup, request.resource.kind->kind, request.name));
  }

 private:
  void CheckRequests(const AdmissionRequest& request, const json::Value& spec,
                     api::FieldErrors& errors) const {
    if (const auto place = FirstAdmin(spec["devices"]["requests"], "exactly"))
      CheckLabel(request, api::FieldPath("spec.devices.requests").Index(*place).Child("adminAccess"), errors);
  }

  void CheckResults(const AdmissionRequest& request, api::FieldErrors& errors) const {
    const auto results = [](const json::Value& claim) -> const json::Value& {
      return claim["status"]["allocation"]["devices"]["results"];
    };
    if (!request.old_object || FirstAdmin(results(*request.old_object), "")) return;
    if (const auto place = FirstAdmin(results(*request.object), ""))
      CheckLabel(request,
                 api::FieldPath("status.allocation.devices.results").Index(*place).Child("adminAccess"),
                 errors);
  }

  void CheckLabel(const AdmissionRequest& request, const api::FieldPath& path,
                  api::FieldErrors& errors) const {
    const auto space = namespaces_->cache->Get(request.namespace_name);
    if (space)
      for (std::size_t i = 0; i < space->label_count(); ++i)
        if (const auto [key, value] = space->label(i); key == kAdminLabel && value == "true") return;
    errors.Forbidden(path, "admin access to devices requires the `" + std::string(kAdminLabel) +
                               ": true` label on the containing namespace");
  }

  Task<void> CheckRights(const AdmissionRequest& request, api::FieldErrors& errors) const {
    if (!request.old_object || !api::GateEnabled("DRAResourceClaimGranularStatusAuthorization")) co_return;
    const json::Value &now = (*request.object)["status"], &before = (*request.old_object)["status"];
    if (!(now["allocation"] == before["allocation"]) || !(now["reservedFor"] == before["reservedFor"]))
      co_await CheckBinding(request, errors);
    if (!now["allocation"].is_object()) co_return;
    for (const auto& driver : ModifiedDrivers(now, before)) co_await CheckDriver(request, driver, errors);
  }

  AuthorizationAttributes Question(const AdmissionRequest& request, const std::string& verb,
                                   const std::string& subresource) const {
    AuthorizationAttributes attributes;
    attributes.user = &request.scope.user;
    attributes.verb = verb;
    attributes.group = request.resource.kind->group;
    attributes.version = request.resource.kind->version;
    attributes.resource = "resourceclaims";
    attributes.subresource = subresource;
    return attributes;
  }

  Task<void> CheckBinding(const AdmissionRequest& request, api::FieldErrors& errors) const {
    const std::string verb = request.scope.info.verb;
    const auto question = Question(request, verb, "binding");
    const Verdict verdict = co_await authorizer_.Authorize(question, request.scope.executor);
    if (verdict.decision == Decision::kAllow) co_return;
    errors.Forbidden(api::FieldPath("status.allocation"),
                     "changing status.allocation or status.reservedFor requires "
                     "resource=\"resourceclaims/binding\", verb=\"" +
                         verb + "\" permission: " + Why(question, verdict));
  }

  // One of the verbs is enough.
  Task<void> CheckDriver(const AdmissionRequest& request, const std::string& driver,
                         api::FieldErrors& errors) const {
    std::vector<std::string> verbs;
    if (IsServiceAccountOn(request.scope.user, NodeOfAllocation((*request.object)["status"]["allocation"])))
      verbs.push_back("associated-node:" + request.scope.info.verb);
    verbs.push_back("arbitrary-node:" + request.scope.info.verb);
    std::string why, shown;
    for (const auto& verb : verbs) {
      auto question = Question(request, verb, "driver");
      question.namespace_name = request.namespace_name;
      question.name = driver;
      const Verdict verdict = co_await authorizer_.Authorize(question, request.scope.executor);
      if (verdict.decision == Decision::kAllow) co_return;
      if (why.empty()) why = Why(question, verdict);
      shown += (shown.empty() ? "" : " ") + verb;
    }
    errors.Forbidden(api::FieldPath("status.devices"),
                     "changing status.devices requires resource=\"resourceclaims/driver\", verb=\"[" + shown +
                         "]\" permission: " + why);
  }

  static std::string Why(const AuthorizationAttributes& question, const Verdict& verdict) {
    std::string reason = verdict.reason;
    if (verdict.error)
      reason = verdict.error->message() + (verdict.reason.empty() ? "" : ": " + verdict.reason);
    return ForbiddenError(question, reason).message();
  }

  const ResourcePtr namespaces_;
  const Authorizer& authorizer_;
};

}  // namespace

std::unique_ptr<AdmissionPlugin> NewDeviceClaimCheck(const Catalog& catalog, const Authorizer& authorizer) {
  return std::make_unique<DeviceClaimCheck>(catalog, authorizer);
}

}  // namespace flyball::server
