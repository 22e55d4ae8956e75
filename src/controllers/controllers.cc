#include "controllers/controllers.h"

#include <algorithm>
#include <array>

#include "controllers/admissionpolicy/policy_status_controller.h"
#include "controllers/autoscaling/horizontal_controller.h"
#include "controllers/bootstrap/bootstrap_controllers.h"
#include "controllers/certificates/approving_controller.h"
#include "controllers/certificates/cleaner_controller.h"
#include "controllers/clusterrole/clusterrole_aggregation_controller.h"
#include "controllers/cronjob/cronjob_controller.h"
#include "controllers/daemonset/daemonset_controller.h"
#include "controllers/deployment/deployment_controller.h"
#include "controllers/devicetaints/device_taint_eviction_controller.h"
#include "controllers/disruption/disruption_controller.h"
#include "controllers/endpoints/endpoints_controller.h"
#include "controllers/endpoints/endpointslice_controller.h"
#include "controllers/endpoints/endpointslice_mirroring_controller.h"
#include "controllers/gc/garbage_collector.h"
#include "controllers/job/job_controller.h"
#include "controllers/namespace/namespace_controller.h"
#include "controllers/node/node_lifecycle_controller.h"
#include "controllers/node/node_ttl_controller.h"
#include "controllers/node/taint_eviction_controller.h"
#include "controllers/podgc/pod_garbage_collector.h"
#include "controllers/replicaset/replicaset_controller.h"
#include "controllers/resourceclaim/resourceclaim_controller.h"
#include "controllers/resourcequota/resourcequota_controller.h"
#include "controllers/serviceaccount/serviceaccount_controller.h"
#include "controllers/servicecidr/service_cidr_controller.h"
#include "controllers/statefulset/statefulset_controller.h"
#include "controllers/storage/attach_detach_controller.h"
#include "controllers/storage/attributes_class_protection_controller.h"
#include "controllers/storage/claim_protection_controller.h"
#include "controllers/storage/ephemeral_volume_controller.h"
#include "controllers/storage/volume_binder_controller.h"
#include "controllers/storage/volume_expand_controller.h"
#include "controllers/storage/volume_protection_controller.h"
#include "controllers/storagemigration/storage_version_migrator.h"

namespace flyball::controllers {
namespace {

struct Entry {
  std::string_view name;
  std::string_view alias;    // its name before v1.28
  std::string_view account;  // the service account it acts as
  Status (*add)(Manager& manager, const ControllersOptions& options);
  bool by_default = true;  // "*" turns it on
};

template <Status (*kAdd)(Manager&)>
Status Alone(Manager& manager, const ControllersOptions&) {
  return kAdd(manager);
}

template <Status (*kAdd)(Manager&, int)>
Status WithWorkers(Manager& manager, const ControllersOptions& options) {
  return kAdd(manager, options.workers);
}

Status AddRootCa(Manager& manager, const ControllersOptions& options) {
  return AddRootCaPublisher(manager, options.root_ca_pem);
}

Status AddSigner(Manager& manager, const ControllersOptions& options) {
  return AddCertificateSigner(manager, options.workers, options.certificate_signing);
}
Status AddNodeLifecycle(Manager& manager, const ControllersOptions& options) {
  return AddNodeLifecycleController(manager, options.workers, options.node_lifecycle);
}
Status AddNodeIpam(Manager& manager, const ControllersOptions& options) {
  return AddNodeIpamController(manager, options.node_ipam);
}
Status AddPodCollector(Manager& manager, const ControllersOptions& options) {
  return AddPodGarbageCollector(manager, options.workers, options.terminated_pod_threshold);
}

constexpr std::array kControllers = {
    Entry{"serviceaccount-controller", "serviceaccount", "service-account-controller",
          &Alone<&AddServiceAccountController>},
    Entry{"root-ca-certificate-publisher-controller", "root-ca-cert-publisher", "root-ca-cert-publisher",
          &AddRootCa},
    Entry{"namespace-controller", "namespace", "namespace-controller", &WithWorkers<&AddNamespaceController>},
    Entry{"garbage-collector-controller", "garbagecollector", "generic-garbage-collector",
          &WithWorkers<&AddGarbageCollector>},
    Entry{"replicaset-controller", "replicaset", "replicaset-controller",
          &WithWorkers<&AddReplicaSetController>},
    Entry{"replicationcontroller-controller", "replicationcontroller", "replication-controller",
          &WithWorkers<&AddReplicationControllerController>},
    Entry{"deployment-controller", "deployment", "deployment-controller",
          &WithWorkers<&AddDeploymentController>},
    Entry{"statefulset-controller", "statefulset", "statefulset-controller",
          &WithWorkers<&AddStatefulSetController>},
    Entry{"daemonset-controller", "daemonset", "daemon-set-controller",
          &WithWorkers<&AddDaemonSetController>},
    Entry{"persistentvolume-binder-controller", "persistentvolume-binder", "persistent-volume-binder",
          &Alone<&AddVolumeBinderController>},
    Entry{"persistentvolume-attach-detach-controller", "attachdetach", "attachdetach-controller",
          &WithWorkers<&AddAttachDetachController>},
    Entry{"persistentvolumeclaim-protection-controller", "pvc-protection", "pvc-protection-controller",
          &WithWorkers<&AddClaimProtectionController>},
    Entry{"persistentvolume-protection-controller", "pv-protection", "pv-protection-controller",
          &WithWorkers<&AddVolumeProtectionController>},
    Entry{"ephemeral-volume-controller", "ephemeral-volume", "ephemeral-volume-controller",
          &WithWorkers<&AddEphemeralVolumeController>},
    Entry{"persistentvolume-expander-controller", "persistentvolume-expander", "expand-controller",
          &WithWorkers<&AddVolumeExpandController>},
    Entry{"volumeattributesclass-protection-controller", "volumeattributesclass-protection-controller",
          "volumeattributesclass-protection-controller",
          &WithWorkers<&AddAttributesClassProtectionController>},
    Entry{"clusterrole-aggregation-controller", "clusterrole-aggregation",
          "clusterrole-aggregation-controller", &WithWorkers<&AddClusterRoleAggregation>},
    Entry{"validatingadmissionpolicy-status-controller",
          {},
          "validatingadmissionpolicy-status-controller",
          &WithWorkers<&AddPolicyStatusController>},
    Entry{"resourcequota-controller", "resourcequota", "resourcequota-controller",
          &WithWorkers<&AddResourceQuotaController>},
    Entry{"resourceclaim-controller", "resource-claim-controller", "resource-claim-controller",
          &WithWorkers<&AddResourceClaimController>},
    Entry{"device-taint-eviction-controller",
          {},
          "device-taint-eviction-controller",
          &WithWorkers<&AddDeviceTaintEvictionController>},
    Entry{"ttl-controller", "ttl", "ttl-controller", &WithWorkers<&AddNodeTtlController>},
    Entry{"job-controller", "job", "job-controller", &WithWorkers<&AddJobController>},
    Entry{"cronjob-controller", "cronjob", "cronjob-controller", &WithWorkers<&AddCronJobController>},
    Entry{"ttl-after-finished-controller", "ttl-after-finished", "ttl-after-finished-controller",
          &WithWorkers<&AddTtlAfterFinishedController>},
    Entry{"disruption-controller", "disruption", "disruption-controller",
          &WithWorkers<&AddDisruptionController>},
    Entry{"horizontal-pod-autoscaler-controller", "horizontalpodautoscaling", "horizontal-pod-autoscaler",
          &WithWorkers<&AddHorizontalPodAutoscaler>},
    Entry{"node-lifecycle-controller", "nodelifecycle", "node-controller", &AddNodeLifecycle},
    Entry{"node-ipam-controller", "nodeipam", "node-controller", &AddNodeIpam},
    Entry{"taint-eviction-controller", "taint-eviction", "node-controller",
          &WithWorkers<&AddTaintEvictionController>},
    Entry{"pod-garbage-collector-controller", "podgc", "pod-garbage-collector", &AddPodCollector},
    Entry{"endpointslice-controller", "endpointslice", "endpointslice-controller",
          &WithWorkers<&AddEndpointSliceController>},
    Entry{"endpointslice-mirroring-controller", "endpointslicemirroring", "endpointslicemirroring-controller",
          &WithWorkers<&AddEndpointSliceMirroringController>},
    Entry{"certificatesigningrequest-approving-controller", "csrapproving", "certificate-controller",
          &WithWorkers<&AddCertificateApprover>},
    Entry{"certificatesigningrequest-signing-controller", "csrsigning", "certificate-controller", &AddSigner},
    Entry{"certificatesigningrequest-cleaner-controller", "csrcleaner", "certificate-controller",
          &Alone<&AddCertificateCleaner>},
    Entry{"podcertificaterequest-cleaner-controller",
          {},
          "podcertificaterequestcleaner",
          &Alone<&AddPodCertificateCleaner>},
    Entry{"service-cidr-controller", {}, "service-cidrs-controller", &WithWorkers<&AddServiceCidrController>},
    Entry{"storage-version-migrator-controller",
          {},
          "storage-version-migrator-controller",
          &WithWorkers<&AddStorageVersionMigrator>},
    Entry{"kubelet-serving-certificate-approving-controller",
          {},
          "certificate-controller",
          &WithWorkers<&AddKubeletServingApprover>,
          false},
    Entry{"bootstrap-signer-controller", "bootstrapsigner", "bootstrap-signer", &Alone<&AddBootstrapSigner>,
          false},
    Entry{"token-cleaner-controller", "tokencleaner", "token-cleaner", &Alone<&AddTokenCleaner>, false},
    Entry{"endpoints-controller", "endpoint", "endpoint-controller", &WithWorkers<&AddEndpointsController>},
};

const Entry* FindEntry(std::string_view name) {
  const auto found = std::find_if(kControllers.begin(), kControllers.end(), [&](const Entry& entry) {
    return entry.name == name || (!entry.alias.empty() && entry.alias == name);
  });
  return found == kControllers.end() ? nullptr : &*found;
}

}  // namespace

std::vector<std::string_view> ControllerNames() {
  std::vector<std::string_view> names;
  for (const Entry& entry : kControllers) names.push_back(entry.name);
  return names;
}

std::vector<std::string> ControllerAccounts() {
  std::set<std::string> accounts;
  for (const Entry& entry : kControllers) accounts.emplace(entry.account);
  return {accounts.begin(), accounts.end()};
}

Result<std::vector<std::string>> ParseControllers(std::string_view text) {
  std::vector<std::string> out;
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    const std::string_view item = text.substr(0, comma);
    text.remove_prefix(std::min(comma + 1, text.size()));
    if (item == "*") {
      out.emplace_back(item);
      continue;
    }
    const bool off = item.starts_with('-');
    const Entry* entry = FindEntry(off ? item.substr(1) : item);
    if (!entry)
      return Unexpected(BadRequest("\"" + std::string(off ? item.substr(1) : item) +
                                   "\" is not in the list of known controllers"));
    out.push_back((off ? "-" : "") + std::string(entry->name));
  }
  return out;
}

bool IsEnabled(const std::vector<std::string>& enabled, std::string_view name) {
  bool star = false;
  for (const std::string& item : enabled) {
    if (item == name) return true;
    if (item.starts_with('-') && std::string_view(item).substr(1) == name) return false;
    if (item == "*") star = true;
  }
  const Entry* entry = FindEntry(name);
  return star && entry && entry->by_default;
}

Status AddControllers(Manager& manager, const ControllersOptions& options) {
  for (const Entry& entry : kControllers) {
    if (!IsEnabled(options.enabled, entry.name)) continue;
    if (options.client_of_account) manager.ActAs(options.client_of_account(std::string(entry.account)));
    FLYBALL_TRY(entry.add(manager, options));
  }
  return {};
}

}  // namespace flyball::controllers
