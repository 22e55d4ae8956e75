#include "api/schema/go_type_name.h"

#include <algorithm>
#include <array>

namespace flyball::api {
namespace {

struct NamedField {
  std::string_view owner, field, go_type;
};

// String fields whose Go type has a name of its own.
constexpr std::array kNamed = {
    NamedField{"Container", "imagePullPolicy", "v1.PullPolicy"},
    NamedField{"Container", "terminationMessagePolicy", "v1.TerminationMessagePolicy"},
    NamedField{"ContainerPort", "protocol", "v1.Protocol"},
    NamedField{"CronJobSpec", "concurrencyPolicy", "v1.ConcurrencyPolicy"},
    NamedField{"DaemonSetUpdateStrategy", "type", "v1.DaemonSetUpdateStrategyType"},
    NamedField{"DeploymentStrategy", "type", "v1.DeploymentStrategyType"},
    NamedField{"EndpointSlice", "addressType", "v1.AddressType"},
    NamedField{"JobSpec", "completionMode", "v1.CompletionMode"},
    NamedField{"JobSpec", "podReplacementPolicy", "v1.PodReplacementPolicy"},
    NamedField{"LabelSelectorRequirement", "operator", "v1.LabelSelectorOperator"},
    NamedField{"ManagedFieldsEntry", "operation", "v1.ManagedFieldsOperationType"},
    NamedField{"NamespaceStatus", "phase", "v1.NamespacePhase"},
    NamedField{"NodeSelectorRequirement", "operator", "v1.NodeSelectorOperator"},
    NamedField{"ObjectMeta", "uid", "types.UID"},
    NamedField{"OwnerReference", "uid", "types.UID"},
    NamedField{"PodSpec", "dnsPolicy", "v1.DNSPolicy"},
    NamedField{"PodSpec", "preemptionPolicy", "v1.PreemptionPolicy"},
    NamedField{"PodSpec", "restartPolicy", "v1.RestartPolicy"},
    NamedField{"PodStatus", "phase", "v1.PodPhase"},
    NamedField{"PodStatus", "qosClass", "v1.PodQOSClass"},
    NamedField{"Secret", "type", "v1.SecretType"},
    NamedField{"ServicePort", "protocol", "v1.Protocol"},
    NamedField{"ServiceSpec", "sessionAffinity", "v1.ServiceAffinity"},
    NamedField{"ServiceSpec", "type", "v1.ServiceType"},
    NamedField{"StatefulSetSpec", "podManagementPolicy", "v1.PodManagementPolicyType"},
    NamedField{"StatefulSetUpdateStrategy", "type", "v1.StatefulSetUpdateStrategyType"},
    NamedField{"Taint", "effect", "v1.TaintEffect"},
    NamedField{"Toleration", "effect", "v1.TaintEffect"},
    NamedField{"Toleration", "operator", "v1.TolerationOperator"},
};

std::string NamedTypeName(const TypeInfo& type) {
  const std::size_t last = type.name.rfind('.');
  if (last == std::string_view::npos || last == 0) return std::string(type.name);
  const std::size_t before = type.name.rfind('.', last - 1);
  return std::string(type.name.substr(before == std::string_view::npos ? 0 : before + 1));
}

}  // namespace

std::string_view ShortTypeName(const TypeInfo& type) {
  return type.name.substr(type.name.rfind('.') + 1);
}

std::string GoTypeName(const TypeInfo& type) {
  switch (type.kind) {
    case TypeKind::kString:
      return "string";
    case TypeKind::kInt32:
      return "int32";
    case TypeKind::kInt64:
      return "int64";
    case TypeKind::kFloat64:
      return "float64";
    case TypeKind::kBool:
      return "bool";
    case TypeKind::kBytes:
      return "[]uint8";
    case TypeKind::kTime:
      return "v1.Time";
    case TypeKind::kMicroTime:
      return "v1.MicroTime";
    case TypeKind::kDuration:
      return "v1.Duration";
    case TypeKind::kQuantity:
      return "resource.Quantity";
    case TypeKind::kIntOrString:
      return "intstr.IntOrString";
    case TypeKind::kList:
      return "[]" + GoTypeName(*type.element);
    case TypeKind::kMap:
      return type.element->kind == TypeKind::kQuantity ? "v1.ResourceList"
                                                       : "map[string]" + GoTypeName(*type.element);
    case TypeKind::kObject:
    case TypeKind::kRaw:
    case TypeKind::kAny:
      break;
  }
  return type.name.empty() ? "interface {}" : NamedTypeName(type);
}

std::string GoFieldTypeName(const TypeInfo& owner, const FieldInfo& field) {
  const std::string_view name = ShortTypeName(owner);
  const auto* found = std::find_if(kNamed.begin(), kNamed.end(), [&](const NamedField& n) {
    return n.owner == name && n.field == field.name;
  });
  return found != kNamed.end() ? std::string(found->go_type) : GoTypeName(*field.type);
}

}  // namespace flyball::api
