#include "server/admission_plugins.h"

#include <functional>

#include "server/admission/namespace_lifecycle.h"
#include "server/admission/pod_defaults.h"
#include "server/admission/service_account.h"

namespace flyball::server {
namespace {

struct Needs {
  const ApiServerOptions& options;
  const Catalog& catalog;
  const Authorizer& authorizer;
  Random& random;
};

struct PluginRow {
  std::string_view name;
  std::unique_ptr<AdmissionPlugin> (*make)(const Needs& needs);
  bool on_by_default = true;
};

// kube-apiserver's order: it decides what later plugins see.
const PluginRow kPlugins[] = {
    {"NamespaceLifecycle", [](const Needs& n) { return NewNamespaceLifecycle(n.catalog); }},
    {"ServiceAccount", [](const Needs& n) { return NewServiceAccountAdmission(n.catalog, n.random); }},
    {"TaintNodesByCondition", [](const Needs&) { return NewTaintNodesByCondition(); }},
    {"Priority", [](const Needs& n) { return NewPriorityAdmission(n.catalog); }},
    {"DefaultTolerationSeconds", [](const Needs&) { return NewDefaultTolerationSeconds(); }},
    {"DefaultStorageClass", [](const Needs& n) { return NewDefaultStorageClass(n.catalog); }},
    {"StorageObjectInUseProtection", [](const Needs&) { return NewStorageObjectInUseProtection(); }},
    {"DefaultIngressClass", [](const Needs& n) { return NewDefaultIngressClass(n.catalog); }},
};

Status CheckNames(const std::set<std::string>& names) {
  for (const auto& name : names) {
    bool known = false;
    for (const auto& row : kPlugins) known |= row.name == name;
    if (!known) return Unexpected(BadRequest("unknown admission plugin \"" + name + "\""));
  }
  return {};
}

}  // namespace

Result<std::vector<std::unique_ptr<AdmissionPlugin>>> AdmissionPlugins(const ApiServerOptions& options,
                                                                       const Catalog& catalog,
                                                                       const Authorizer& authorizer,
                                                                       Random& random) {
  FLYBALL_TRY(CheckNames(options.enable_admission));
  FLYBALL_TRY(CheckNames(options.disable_admission));
  const Needs needs{options, catalog, authorizer, random};
  std::vector<std::unique_ptr<AdmissionPlugin>> plugins;
  for (const auto& row : kPlugins) {
    const std::string name(row.name);
    const bool on = (row.on_by_default || options.enable_admission.contains(name)) &&
                    !options.disable_admission.contains(name);
    if (on) plugins.push_back(row.make(needs));
  }
  return plugins;
}

}  // namespace flyball::server
