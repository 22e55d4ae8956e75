#include "server/admission/pods/pod_defaults.h"

#include <array>

#include "server/admission/basis/requests.h"

namespace flyball::server {
namespace {

// Classes the system reserves: they may be used without being stored.
constexpr std::int64_t kHighestUserPriority = 1000000000;

class PriorityAdmission final : public AdmissionPlugin {
 public:
  explicit PriorityAdmission(const Catalog& catalog)
      : classes_(catalog.Find("scheduling.k8s.io", "v1", "priorityclasses")) {}
  std::string_view name() const override { return "Priority"; }

  Task<Status> Admit(AdmissionRequest& request) override {
    if (!WritesPod(request)) co_return Status();
    auto& spec = (*request.object)["spec"];
    if (!spec.is_object()) co_return Status();
    if (request.operation == AdmissionRequest::Operation::kUpdate) {
      Keep(*request.old_object, spec);
      co_return Status();
    }
    json::Value chosen;
    const std::string wanted(spec["priorityClassName"].string_or(""));
    if (wanted.empty()) {
      chosen = GlobalDefault();
      if (chosen.is_object()) spec["priorityClassName"] = chosen["metadata"]["name"];
    } else {
      const auto object = classes_->cache->Get(wanted);
      if (!object)
        co_return Unexpected(
            AdmissionForbidden(request, "no PriorityClass with name " + wanted + " was found"));
      chosen = object->Parsed();
    }
    const auto priority = chosen["value"].int_or(0);
    if (const auto* given = spec.Find("priority"); given && given->int_or(0) != priority)
      co_return Unexpected(AdmissionForbidden(
          request, "the integer value of priority (" + std::to_string(given->int_or(0)) +
                       ") must not be provided in pod spec; priority admission controller computed " +
                       std::to_string(priority) + " from the given PriorityClass name"));
    const std::string policy(chosen["preemptionPolicy"].string_or("PreemptLowerPriority"));
    if (const auto* given = spec.Find("preemptionPolicy"); given && given->string_or("") != policy)
      co_return Unexpected(AdmissionForbidden(
          request, "the string value of PreemptionPolicy (" + std::string(given->string_or("")) +
                       ") must not be provided in pod spec; priority admission controller computed " +
                       policy + " from the given PriorityClass name"));
    spec["priority"] = priority;
    spec["preemptionPolicy"] = policy;
    co_return Status();
  }

  Task<Status> Validate(const AdmissionRequest& request) override {
    if (IsAbout(request, "scheduling.k8s.io", "priorityclasses") && IsDeleteOfSystemClass(request))
      co_return Unexpected(
          AdmissionForbidden(request, "this is a system priority class and cannot be deleted"));
    if (!Writes(request) || !IsAbout(request, "scheduling.k8s.io", "priorityclasses") ||
        !request.subresource.empty() || !(*request.object)["globalDefault"].bool_or(false))
      co_return Status();
    const auto existing = GlobalDefault();
    const bool creates = request.operation == AdmissionRequest::Operation::kCreate;
    if (existing.is_object() && (creates || existing["metadata"]["name"].string_or("") != request.name))
      co_return Unexpected(AdmissionForbidden(
          request, "PriorityClass " + std::string(existing["metadata"]["name"].string_or("")) +
                       " is already marked as default. Only one default can exist"));
    co_return Status();
  }

 private:
  // The server's own two (upstream: the store of PriorityClasses refuses).
  static bool IsDeleteOfSystemClass(const AdmissionRequest& request) {
    return request.operation == AdmissionRequest::Operation::kDelete &&
           (request.name == "system-node-critical" || request.name == "system-cluster-critical");
  }
  // Clients that know nothing of the fields do not clear them.
  static void Keep(const json::Value& old_pod, json::Value& spec) {
    for (const std::string_view field : {"priority", "preemptionPolicy"})
      if (const auto* old = old_pod["spec"].Find(field); old && !spec.Find(field)) spec[field] = *old;
  }

  // The default class with the lowest value, as upstream picks when there are several.
  json::Value GlobalDefault() const {
    json::Value best;
    for (const auto& object : classes_->cache->List({}).objects) {
      // Every Pod made comes by here: most classes need not be parsed to see that they are not it.
      if (object->bytes()->find(R"("globalDefault":true)") == std::string::npos) continue;
      auto value = object->ToValue();
      if (!value["globalDefault"].bool_or(false)) continue;
      if (best.is_null() || value["value"].int_or(0) < best["value"].int_or(kHighestUserPriority))
        best = std::move(value);
    }
    return best;
  }

  const ResourcePtr classes_;
};

class DefaultTolerationSeconds final : public AdmissionPlugin {
 public:
  explicit DefaultTolerationSeconds(const TolerationSeconds& seconds) : seconds_(seconds) {}
  std::string_view name() const override { return "DefaultTolerationSeconds"; }

  Task<Status> Admit(AdmissionRequest& request) override {
    if (!WritesPod(request)) co_return Status();
    auto& spec = (*request.object)["spec"];
    if (!spec.is_object()) co_return Status();
    const std::pair<std::string_view, std::int64_t> taints[] = {
        {"node.kubernetes.io/not-ready", seconds_.not_ready},
        {"node.kubernetes.io/unreachable", seconds_.unreachable}};
    for (const auto& [key, seconds] : taints) {
      if (Tolerates(std::as_const(spec)["tolerations"], key)) continue;
      auto& list = spec["tolerations"];
      if (!list.is_array()) list = json::Array{};
      list.as_array().push_back(json::Object{
          {"key", key}, {"operator", "Exists"}, {"effect", "NoExecute"}, {"tolerationSeconds", seconds}});
    }
    co_return Status();
  }

 private:
  static bool Tolerates(const json::Value& tolerations, std::string_view key) {
    if (!tolerations.is_array()) return false;
    for (const auto& toleration : tolerations.as_array()) {
      const auto its_key = toleration["key"].string_or(""), effect = toleration["effect"].string_or("");
      if ((its_key == key || its_key.empty()) && (effect == "NoExecute" || effect.empty())) return true;
    }
    return false;
  }

  const TolerationSeconds seconds_;
};

class TaintNodesByCondition final : public AdmissionPlugin {
 public:
  std::string_view name() const override { return "TaintNodesByCondition"; }

  Task<Status> Admit(AdmissionRequest& request) override {
    if (!Creates(request, "", "nodes")) co_return Status();
    constexpr std::string_view kNotReady = "node.kubernetes.io/not-ready";
    auto& taints = (*request.object)["spec"]["taints"];
    if (!taints.is_array()) taints = json::Array{};
    for (const auto& taint : taints.as_array())
      if (taint["key"].string_or("") == kNotReady && taint["effect"].string_or("") == "NoSchedule")
        co_return Status();
    taints.as_array().push_back(json::Object{{"key", kNotReady}, {"effect", "NoSchedule"}});
    co_return Status();
  }
};

// Adds the finalizer to a new object.
void Hold(json::Value& object, std::string_view finalizer) {
  auto& finalizers = object["metadata"]["finalizers"];
  if (!finalizers.is_array()) finalizers = json::Array{};
  for (const auto& existing : finalizers.as_array())
    if (existing.string_or("") == finalizer) return;
  finalizers.as_array().push_back(finalizer);
}

class PodGroupProtection final : public AdmissionPlugin {
 public:
  std::string_view name() const override { return "PodGroupProtection"; }

  Task<Status> Admit(AdmissionRequest& request) override {
    if (Creates(request, "scheduling.k8s.io", "podgroups"))
      Hold(*request.object, "scheduling.k8s.io/podgroup-protection");
    co_return Status();
  }
};

class StorageObjectInUseProtection final : public AdmissionPlugin {
 public:
  std::string_view name() const override { return "StorageObjectInUseProtection"; }

  Task<Status> Admit(AdmissionRequest& request) override {
    if (Creates(request, "", "persistentvolumeclaims")) Hold(*request.object, "kubernetes.io/pvc-protection");
    if (Creates(request, "", "persistentvolumes")) Hold(*request.object, "kubernetes.io/pv-protection");
    if (Creates(request, "storage.k8s.io", "volumeattributesclasses"))
      Hold(*request.object, "kubernetes.io/vac-protection");
    co_return Status();
  }
};

// The newest object that carries the annotation with the value "true" (of several, the first by name); "" if
// there is none.
std::string DefaultClass(const ServedResource& resource, std::string_view annotation,
                         std::string_view older_annotation) {
  std::string name, created;
  for (const auto& object : resource.cache->List({}).objects) {
    const auto value = object->ToValue();
    const auto& annotations = value["metadata"]["annotations"];
    const bool marked = annotations[annotation].string_or("") == "true" ||
                        (!older_annotation.empty() && annotations[older_annotation].string_or("") == "true");
    const std::string time(value["metadata"]["creationTimestamp"].string_or(""));
    const bool before = time < created || (time == created && !name.empty() && object->name() > name);
    if (!marked || before) continue;
    name = object->name();
    created = time;
  }
  return name;
}

class DefaultClassAdmission final : public AdmissionPlugin {
 public:
  struct Row {
    std::string_view plugin, group, plural, class_group, class_plural, field, annotation, older_annotation;
  };
  DefaultClassAdmission(const Row& row, const Catalog& catalog)
      : row_(row), classes_(catalog.Find(row.class_group, "v1", row.class_plural)) {}
  std::string_view name() const override { return row_.plugin; }

  Task<Status> Admit(AdmissionRequest& request) override {
    if (!Creates(request, row_.group, row_.plural)) co_return Status();
    auto& spec = (*request.object)["spec"];
    if (!spec.is_object() || spec.Find(row_.field)) co_return Status();
    // The class that was named in the old way.
    const auto& annotations = std::as_const(*request.object)["metadata"]["annotations"];
    const auto old_way = row_.plural == "ingresses" ? "kubernetes.io/ingress.class"
                                                    : "volume.beta.kubernetes.io/storage-class";
    if (annotations.Find(old_way)) co_return Status();
    if (auto chosen = DefaultClass(*classes_, row_.annotation, row_.older_annotation); !chosen.empty())
      spec[row_.field] = std::move(chosen);
    co_return Status();
  }

 private:
  const Row row_;
  const ResourcePtr classes_;
};

constexpr DefaultClassAdmission::Row kStorageRow = {"DefaultStorageClass",
                                                    "",
                                                    "persistentvolumeclaims",
                                                    "storage.k8s.io",
                                                    "storageclasses",
                                                    "storageClassName",
                                                    "storageclass.kubernetes.io/is-default-class",
                                                    "storageclass.beta.kubernetes.io/is-default-class"};
constexpr DefaultClassAdmission::Row kIngressRow = {"DefaultIngressClass",
                                                    "networking.k8s.io",
                                                    "ingresses",
                                                    "networking.k8s.io",
                                                    "ingressclasses",
                                                    "ingressClassName",
                                                    "ingressclass.kubernetes.io/is-default-class",
                                                    ""};

}  // namespace

std::unique_ptr<AdmissionPlugin> NewPriorityAdmission(const Catalog& catalog) {
  return std::make_unique<PriorityAdmission>(catalog);
}
std::unique_ptr<AdmissionPlugin> NewDefaultTolerationSeconds(const TolerationSeconds& seconds) {
  return std::make_unique<DefaultTolerationSeconds>(seconds);
}
std::unique_ptr<AdmissionPlugin> NewTaintNodesByCondition() {
  return std::make_unique<TaintNodesByCondition>();
}
std::unique_ptr<AdmissionPlugin> NewPodGroupProtection() {
  return std::make_unique<PodGroupProtection>();
}
std::unique_ptr<AdmissionPlugin> NewStorageObjectInUseProtection() {
  return std::make_unique<StorageObjectInUseProtection>();
}
std::unique_ptr<AdmissionPlugin> NewDefaultStorageClass(const Catalog& catalog) {
  return std::make_unique<DefaultClassAdmission>(kStorageRow, catalog);
}
std::unique_ptr<AdmissionPlugin> NewDefaultIngressClass(const Catalog& catalog) {
  return std::make_unique<DefaultClassAdmission>(kIngressRow, catalog);
}

}  // namespace flyball::server
