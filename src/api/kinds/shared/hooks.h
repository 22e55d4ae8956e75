// The hooks of every kind that has some, one constant a kind, defined in the file named after it.
#pragma once

#include <span>

#include "api/rules/kind_hooks.h"

namespace flyball::api {

extern const KindHooks kApiServiceHooks;
extern const KindHooks kCertificateSigningRequestHooks;
extern const KindHooks kClusterRoleBindingHooks;
extern const KindHooks kClusterRoleHooks;
extern const KindHooks kClusterTrustBundleHooks;
extern const KindHooks kConfigMapHooks;
extern const KindHooks kControllerRevisionHooks;
extern const KindHooks kCronJobHooks;
extern const KindHooks kCsiDriverHooks;
extern const KindHooks kCsiNodeHooks;
extern const KindHooks kCsiStorageCapacityHooks;
extern const KindHooks kCustomResourceDefinitionHooks;
extern const KindHooks kDaemonSetHooks;
extern const KindHooks kDeploymentHooks;
extern const KindHooks kDeviceClassHooks;
extern const KindHooks kDeviceTaintRuleHooks;
extern const KindHooks kEndpointSliceHooks;
extern const KindHooks kEndpointsHooks;
extern const KindHooks kEventHooks;
extern const KindHooks kEventsEventHooks;
extern const KindHooks kFlowSchemaHooks;
extern const KindHooks kHorizontalPodAutoscalerHooks;
extern const KindHooks kIngressClassHooks;
extern const KindHooks kIngressHooks;
extern const KindHooks kIpAddressHooks;
extern const KindHooks kJobHooks;
extern const KindHooks kLeaseHooks;
extern const KindHooks kLimitRangeHooks;
extern const KindHooks kMutatingAdmissionPolicyBindingHooks;
extern const KindHooks kMutatingAdmissionPolicyHooks;
extern const KindHooks kMutatingWebhookConfigurationHooks;
extern const KindHooks kNamespaceHooks;
extern const KindHooks kNetworkPolicyHooks;
extern const KindHooks kNodeHooks;
extern const KindHooks kPersistentVolumeClaimHooks;
extern const KindHooks kPersistentVolumeHooks;
extern const KindHooks kPodCertificateRequestHooks;
extern const KindHooks kPodDisruptionBudgetHooks;
extern const KindHooks kPodHooks;
extern const KindHooks kPodTemplateHooks;
extern const KindHooks kPriorityClassHooks;
extern const KindHooks kPriorityLevelConfigurationHooks;
extern const KindHooks kReplicaSetHooks;
extern const KindHooks kReplicationControllerHooks;
extern const KindHooks kResourceClaimHooks;
extern const KindHooks kResourceClaimTemplateHooks;
extern const KindHooks kResourceQuotaHooks;
extern const KindHooks kResourceSliceHooks;
extern const KindHooks kRoleBindingHooks;
extern const KindHooks kRoleHooks;
extern const KindHooks kRuntimeClassHooks;
extern const KindHooks kSecretHooks;
extern const KindHooks kServiceAccountHooks;
extern const KindHooks kServiceCidrHooks;
extern const KindHooks kServiceHooks;
extern const KindHooks kStatefulSetHooks;
extern const KindHooks kStorageClassHooks;
extern const KindHooks kStorageVersionMigrationHooks;
extern const KindHooks kValidatingAdmissionPolicyBindingHooks;
extern const KindHooks kValidatingAdmissionPolicyHooks;
extern const KindHooks kValidatingWebhookConfigurationHooks;
extern const KindHooks kVolumeAttachmentHooks;
extern const KindHooks kVolumeAttributesClassHooks;

// Every kind's hooks, in no particular order.
std::span<const KindHooks* const> AllKindHooks();

}  // namespace flyball::api
