#include <unordered_map>
#include <utility>

#include "api/kinds/shared/hooks.h"

namespace flyball::api {

std::span<const KindHooks* const> AllKindHooks() {
  static constexpr const KindHooks* kAll[] = {
      &kApiServiceHooks,
      &kCertificateSigningRequestHooks,
      &kClusterRoleBindingHooks,
      &kClusterRoleHooks,
      &kConfigMapHooks,
      &kControllerRevisionHooks,
      &kCronJobHooks,
      &kCsiDriverHooks,
      &kCsiNodeHooks,
      &kCsiStorageCapacityHooks,
      &kCustomResourceDefinitionHooks,
      &kDaemonSetHooks,
      &kDeploymentHooks,
      &kDeviceClassHooks,
      &kEndpointSliceHooks,
      &kEndpointsHooks,
      &kEventHooks,
      &kEventsEventHooks,
      &kFlowSchemaHooks,
      &kHorizontalPodAutoscalerHooks,
      &kIngressClassHooks,
      &kIngressHooks,
      &kJobHooks,
      &kLeaseHooks,
      &kLimitRangeHooks,
      &kMutatingWebhookConfigurationHooks,
      &kNamespaceHooks,
      &kNetworkPolicyHooks,
      &kNodeHooks,
      &kPersistentVolumeClaimHooks,
      &kPersistentVolumeHooks,
      &kPodDisruptionBudgetHooks,
      &kPodHooks,
      &kPodTemplateHooks,
      &kPriorityClassHooks,
      &kPriorityLevelConfigurationHooks,
      &kReplicaSetHooks,
      &kReplicationControllerHooks,
      &kResourceQuotaHooks,
      &kResourceSliceHooks,
      &kRoleBindingHooks,
      &kRoleHooks,
      &kRuntimeClassHooks,
      &kSecretHooks,
      &kClusterTrustBundleHooks,
      &kDeviceTaintRuleHooks,
      &kMutatingAdmissionPolicyBindingHooks,
      &kMutatingAdmissionPolicyHooks,
      &kPodCertificateRequestHooks,
      &kResourceClaimHooks,
      &kResourceClaimTemplateHooks,
      &kStorageVersionMigrationHooks,
      &kIpAddressHooks,
      &kServiceCidrHooks,
      &kServiceAccountHooks,
      &kServiceHooks,
      &kStatefulSetHooks,
      &kStorageClassHooks,
      &kValidatingAdmissionPolicyBindingHooks,
      &kValidatingAdmissionPolicyHooks,
      &kValidatingWebhookConfigurationHooks,
      &kVolumeAttachmentHooks,
      &kVolumeAttributesClassHooks,
  };
  return kAll;
}

const KindHooks& HooksFor(std::string_view group, std::string_view kind) {
  static const KindHooks kDefault;
  static const auto* const by_kind = [] {
    auto* hooks_by_kind = new std::unordered_multimap<std::string_view, const KindHooks*>();
    for (const KindHooks* hooks : AllKindHooks()) hooks_by_kind->emplace(hooks->kind, hooks);
    return hooks_by_kind;
  }();
  const auto [begin, end] = by_kind->equal_range(kind);
  for (auto it = begin; it != end; ++it) {
    if (it->second->group == group) return *it->second;
  }
  return kDefault;
}

}  // namespace flyball::api
