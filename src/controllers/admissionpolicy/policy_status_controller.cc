#include "controllers/admissionpolicy/policy_status_controller.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <tuple>

#include "api/openapi/inline_schema.h"
#include "api/schema/schema.h"
#include "client/discovery.h"
#include "client/unstructured.h"
#include "controllers/admissionpolicy/expression_type_check.h"

namespace flyball::controllers {
namespace {

constexpr char kPolicyStatusManager[] = "validatingadmissionpolicy-status";
const KindRef kValidatingPolicy{"admissionregistration.k8s.io", "v1", "ValidatingAdmissionPolicy",
                                "validatingadmissionpolicies", false};

// With apiVersion, kind and all of metadata, as expressions may use them.
json::Value WithObjectMeta(json::Value schema) {
  static const json::Value kText = json::Object{{"type", "string"}};
  static const json::Value kMetadata = api::ResolvedSchema(api::ObjectMetaType());
  schema["properties"]["apiVersion"] = kText;
  schema["properties"]["kind"] = kText;
  schema["properties"]["metadata"] = kMetadata;
  return schema;
}

bool IsSchemaOf(const json::Value& schema, const KindRef& ref) {
  const json::Value& kinds = schema["x-kubernetes-group-version-kind"];
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    const json::Value& kind = kinds.as_array()[i];
    if (kind["group"].string_or("") == ref.group && kind["version"].string_or("") == ref.version &&
        kind["kind"].string_or("") == ref.kind)
      return true;
  }
  return false;
}

// The kinds and schemas that a server has. Thread-safe.
class SchemaReader {
 public:
  explicit SchemaReader(const Client& client) : client_(client), mapper_(client) {}

  // As a RESTMapper finds kinds: a resource may be given by its singular, and no group means any.
  std::vector<KindRef> FindResource(const RuleResource& wanted) {
    return Find([&](const ApiResource& resource) {
      return (wanted.group.empty() || resource.ref.group == wanted.group) &&
             resource.ref.version == wanted.version &&
             (resource.ref.plural == wanted.resource || resource.singular == wanted.resource);
    });
  }
  std::vector<KindRef> FindKind(std::string_view group, std::string_view version, std::string_view kind) {
    return Find([&](const ApiResource& resource) {
      return resource.ref.group == group && resource.ref.version == version && resource.ref.kind == kind;
    });
  }
  // Nothing if the kind has no schema, or it cannot be read.
  std::optional<TypedKind> Read(const KindRef& ref) const {
    if (const auto* builtin = api::FindBuiltinKind(ref.group, ref.version, ref.kind))
      return TypedKind{ref.group, ref.version, ref.kind, WithObjectMeta(api::ResolvedSchema(*builtin->type))};
    // From the documents that everybody may read: the controller's role has no right to definitions.
    RestRequest request{.verb = "GET", .path = "/openapi/v3/apis/" + ref.group + "/" + ref.version};
    const auto document = client_.rest().DoJson(std::move(request));
    if (!document || !(*document)["components"]["schemas"].is_object()) return std::nullopt;
    for (const auto& [name, schema] : (*document)["components"]["schemas"].as_object())
      if (IsSchemaOf(schema, ref)) return TypedKind{ref.group, ref.version, ref.kind, WithObjectMeta(schema)};
    return std::nullopt;
  }

 private:
  template <typename Wanted>
  std::vector<KindRef> Find(Wanted&& wanted) {
    std::vector<KindRef> found;
    for (const bool again : {false, true}) {
      if (again) mapper_.Reset();  // a custom kind may have been added since
      const auto all = mapper_.Resources();
      if (!all) break;
      for (const ApiResource& resource : *all)
        if (wanted(resource)) found.push_back(resource.ref);
      if (!found.empty()) break;
    }
    return found;
  }

  const Client client_;
  RestMapper mapper_;
};

// Adds the kinds that one rule names. False if that are so many that no further rule is looked at.
bool AddKinds(const std::vector<RuleResource>& rule, SchemaReader& reader, std::vector<KindRef>& kinds) {
  std::size_t count = 0;
  for (const RuleResource& resource : rule)
    for (const KindRef& found : reader.FindResource(resource)) {
      if (std::find(kinds.begin(), kinds.end(), found) == kinds.end()) kinds.push_back(found);
      if (++count == kMaxTypesToCheck) return false;
    }
  return true;
}

std::vector<KindRef> KindsToCheck(const json::Value& policy, SchemaReader& reader) {
  std::vector<KindRef> kinds;
  for (const auto& rule : NamedResources(policy))
    if (!AddKinds(rule, reader, kinds)) break;
  std::sort(kinds.begin(), kinds.end(), [](const KindRef& a, const KindRef& b) {
    return std::tie(a.group, a.version, a.kind) < std::tie(b.group, b.version, b.kind);
  });
  return kinds;
}

std::optional<TypedKind> ParamsOf(const json::Value& policy, SchemaReader& reader) {
  const json::Value& kind = policy["spec"]["paramKind"];
  if (kind.is_null()) return std::nullopt;
  const auto [group, version] = SplitApiVersion(kind["apiVersion"].string_or(""));
  const auto found = reader.FindKind(group, version, kind["kind"].string_or(""));
  return found.empty() ? std::nullopt : reader.Read(found.front());
}

json::Value CheckedStatus(const json::Value& policy, SchemaReader& reader) {
  std::vector<TypedKind> kinds;
  for (const KindRef& ref : KindsToCheck(policy, reader))
    if (auto kind = reader.Read(ref)) kinds.push_back(std::move(*kind));
  const auto params = ParamsOf(policy, reader);
  json::Array warnings = CheckExpressionTypes(policy, kinds, params ? &*params : nullptr);
  json::Object checking;
  if (!warnings.empty()) checking.Set("expressionWarnings", std::move(warnings));
  return json::Object{{"observedGeneration", policy["metadata"]["generation"]},
                      {"typeChecking", std::move(checking)}};
}

Result<Action> ReconcilePolicyStatus(const json::Value& policy, SchemaReader& reader, Context& ctx) {
  const auto generation = policy["metadata"]["generation"].int_or(0);
  if (generation <= policy["status"]["observedGeneration"].int_or(0)) return Done();
  json::Object wanted{{"apiVersion", "admissionregistration.k8s.io/v1"},
                      {"kind", "ValidatingAdmissionPolicy"},
                      {"metadata", json::Object{{"name", policy["metadata"]["name"]}}},
                      {"status", CheckedStatus(policy, reader)}};
  const auto applied =
      ctx.client()
          .Dynamic(kValidatingPolicy)
          .Apply(json::Value(std::move(wanted)),
                 {.field_manager = kPolicyStatusManager, .force = true, .subresource = "status"});
  if (!applied && !applied.error().Is(Reason::kNotFound)) return Unexpected(applied.error());
  return Done();
}

}  // namespace

Status AddPolicyStatusController(Manager& manager, int workers) {
  const auto informer = manager.informers().Dynamic(kValidatingPolicy);
  const auto reader = std::make_shared<SchemaReader>(manager.client());
  const auto controller =
      manager.AddController({.name = "validatingadmissionpolicy-status-controller", .workers = workers},
                            [informer, reader](const ObjectKey& key, Context& ctx) -> Result<Action> {
                              const auto policy = informer.lister().Get("", key.name);
                              return policy ? ReconcilePolicyStatus(policy->value(), *reader, ctx) : Done();
                            });
  EventHandler<Unstructured> on;
  const auto enqueue = [weak = std::weak_ptr(controller)](const std::shared_ptr<const Unstructured>& policy) {
    if (const auto target = weak.lock()) target->Enqueue({"", std::string(policy->name())});
  };
  on.on_add = [enqueue](const auto& policy, bool) { enqueue(policy); };
  on.on_update = [enqueue](const auto&, const auto& policy) { enqueue(policy); };
  controller->DependOn(informer.AddHandler(std::move(on)));
  return {};
}

}  // namespace flyball::controllers
