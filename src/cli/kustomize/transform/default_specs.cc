// The fields that kustomize changes by default (upstream: builtinpluginconsts).
#include <initializer_list>
#include <string>
#include <string_view>

#include "cli/kustomize/transform/transformer_config.h"

namespace flyball::cli::kustomize {
namespace {

using Words = std::initializer_list<std::string_view>;

// Where a kind keeps its pod spec.
struct PodHome {
  std::string_view kind, spec, version = {};
};
constexpr PodHome kPod{"Pod", "spec/"};
constexpr PodHome kPodV1{"Pod", "spec/", "v1"};
constexpr PodHome kPodTemplate{"PodTemplate", "template/spec/"};
constexpr PodHome kCronJob{"CronJob", "spec/jobTemplate/spec/template/spec/"};
constexpr PodHome HomeOf(std::string_view kind) {
  return {kind, "spec/template/spec/"};
}
// Those whose ConfigMaps and Secrets are followed.
constexpr PodHome kDataHomes[] = {kPodV1,
                                  kPodTemplate,
                                  HomeOf("Deployment"),
                                  HomeOf("ReplicaSet"),
                                  HomeOf("DaemonSet"),
                                  HomeOf("StatefulSet"),
                                  HomeOf("Job"),
                                  kCronJob};
// Those whose accounts, claims and priority classes are followed.
constexpr PodHome kPlainHomes[] = {
    kPod,     HomeOf("StatefulSet"), HomeOf("Deployment"), HomeOf("ReplicationController"),
    kCronJob, HomeOf("Job"),         HomeOf("DaemonSet")};
constexpr PodHome kVarHomes[] = {kPod,          HomeOf("DaemonSet"),  HomeOf("Deployment"),
                                 HomeOf("Job"), HomeOf("ReplicaSet"), HomeOf("StatefulSet"),
                                 kCronJob};

FieldSpec Spec(std::string_view path, bool create, std::string_view kind = {}, std::string_view group = {},
               std::string_view version = {}) {
  return {{std::string(group), std::string(version), std::string(kind)}, std::string(path), create};
}

template <typename Homes>
void AddPodFields(FieldSpecs& specs, const Homes& homes, Words fields) {
  for (const PodHome& home : homes)
    for (const std::string_view field : fields)
      specs.push_back(Spec(std::string(home.spec) + std::string(field), false, home.kind, {}, home.version));
}

FieldSpecs MetadataLabels() {
  const char* const kTemplate = "spec/template/metadata/labels";
  return {Spec("metadata/labels", true),
          Spec(kTemplate, true, "ReplicationController", "", "v1"),
          Spec(kTemplate, true, "Deployment"),
          Spec(kTemplate, true, "ReplicaSet"),
          Spec(kTemplate, true, "DaemonSet"),
          Spec(kTemplate, true, "StatefulSet", "apps"),
          Spec("spec/volumeClaimTemplates[]/metadata/labels", true, "StatefulSet", "apps"),
          Spec(kTemplate, true, "Job", "batch"),
          Spec("spec/jobTemplate/metadata/labels", true, "CronJob", "batch"),
          Spec("spec/jobTemplate/spec/template/metadata/labels", true, "CronJob", "batch")};
}

// Selectors that choose pods beside those of their own template.
void AddSpreadSelectors(FieldSpecs& specs, std::string_view kind) {
  const std::string preferred =
      "/preferredDuringSchedulingIgnoredDuringExecution/podAffinityTerm/labelSelector/matchLabels";
  const std::string required = "/requiredDuringSchedulingIgnoredDuringExecution/labelSelector/matchLabels";
  for (const std::string affinity : {"podAffinity", "podAntiAffinity"})
    for (const std::string& rule : {preferred, required})
      specs.push_back(Spec("spec/template/spec/affinity/" + affinity + rule, false, kind, "apps"));
  specs.push_back(
      Spec("spec/template/spec/topologySpreadConstraints/labelSelector/matchLabels", false, kind, "apps"));
}

FieldSpecs CommonLabels() {
  const char* const kMatchLabels = "spec/selector/matchLabels";
  FieldSpecs specs = {Spec("spec/selector", true, "Service", "", "v1"),
                      Spec("spec/selector", true, "ReplicationController", "", "v1"),
                      Spec(kMatchLabels, true, "Deployment"),
                      Spec(kMatchLabels, true, "ReplicaSet"),
                      Spec(kMatchLabels, true, "DaemonSet"),
                      Spec(kMatchLabels, true, "StatefulSet", "apps"),
                      Spec(kMatchLabels, false, "Job", "batch"),
                      Spec("spec/jobTemplate/spec/selector/matchLabels", false, "CronJob", "batch"),
                      Spec(kMatchLabels, false, "PodDisruptionBudget", "policy")};
  AddSpreadSelectors(specs, "Deployment");
  AddSpreadSelectors(specs, "StatefulSet");
  for (const char* path : {"spec/podSelector/matchLabels", "spec/ingress/from/podSelector/matchLabels",
                           "spec/egress/to/podSelector/matchLabels"})
    specs.push_back(Spec(path, false, "NetworkPolicy", "networking.k8s.io"));
  for (FieldSpec& spec : MetadataLabels()) specs.push_back(std::move(spec));
  return specs;
}

FieldSpecs CommonAnnotations() {
  const char* const kTemplate = "spec/template/metadata/annotations";
  return {Spec("metadata/annotations", true),
          Spec(kTemplate, true, "ReplicationController", "", "v1"),
          Spec(kTemplate, true, "Deployment"),
          Spec(kTemplate, true, "ReplicaSet"),
          Spec(kTemplate, true, "DaemonSet"),
          Spec(kTemplate, true, "StatefulSet"),
          Spec(kTemplate, true, "Job", "batch"),
          Spec("spec/jobTemplate/metadata/annotations", true, "CronJob", "batch"),
          Spec("spec/jobTemplate/spec/template/metadata/annotations", true, "CronJob", "batch")};
}

FieldSpecs Namespaces() {
  return {Spec("metadata/name", true, "Namespace"),
          Spec("spec/service/namespace", true, "APIService", "apiregistration.k8s.io"),
          Spec("spec/conversion/webhook/clientConfig/service/namespace", false, "CustomResourceDefinition",
               "apiextensions.k8s.io")};
}

FieldSpecs Images() {
  FieldSpecs specs;
  for (const std::string pod : {"spec/", "spec/template/spec/"})
    for (const char* field : {"containers[]/image", "initContainers[]/image", "volumes[]/image/reference"})
      specs.push_back(Spec(pod + field, true));
  return specs;
}

FieldSpecs VarReferences() {
  FieldSpecs specs;
  AddPodFields(specs, kVarHomes,
               {"containers/args", "containers/command", "containers/env/value",
                "containers/volumeMounts/mountPath", "initContainers/args", "initContainers/command",
                "initContainers/env/value", "initContainers/volumeMounts/mountPath"});
  for (const char* kind : {"DaemonSet", "Deployment", "Job", "ReplicaSet"})
    specs.push_back(Spec("spec/template/spec/volumes/nfs/server", false, kind));
  for (FieldSpec& spec :
       FieldSpecs{Spec("spec/volumes/nfs/server", false, "Pod"),
                  Spec("spec/jobTemplate/spec/template/volumes/nfs/server", false, "CronJob"),
                  Spec("spec/volumeClaimTemplates/spec/nfs/server", false, "StatefulSet"),
                  Spec("spec/template/metadata/annotations", false, "Deployment"),
                  Spec("spec/rules/host", false, "Ingress"), Spec("spec/tls/hosts", false, "Ingress"),
                  Spec("spec/tls/secretName", false, "Ingress"), Spec("spec/ports/port", false, "Service"),
                  Spec("spec/ports/targetPort", false, "Service"),
                  Spec("spec/nfs/server", false, "PersistentVolume"), Spec("metadata/labels", false),
                  Spec("metadata/annotations", false)})
    specs.push_back(std::move(spec));
  return specs;
}

FieldSpecs ConfigMapReferrers() {
  FieldSpecs specs;
  AddPodFields(specs, kDataHomes,
               {"volumes/configMap/name", "containers/env/valueFrom/configMapKeyRef/name",
                "initContainers/env/valueFrom/configMapKeyRef/name", "containers/envFrom/configMapRef/name",
                "initContainers/envFrom/configMapRef/name", "volumes/projected/sources/configMap/name"});
  specs.push_back(Spec("spec/configSource/configMap", false, "Node"));
  specs.push_back(Spec("rules/resourceNames", false, "Role"));
  specs.push_back(Spec("rules/resourceNames", false, "ClusterRole"));
  specs.push_back(
      Spec("metadata/annotations/nginx.ingress.kubernetes.io\\/fastcgi-params-configmap", false, "Ingress"));
  return specs;
}

FieldSpecs SecretReferrers() {
  FieldSpecs specs;
  AddPodFields(specs, kDataHomes,
               {"volumes/secret/secretName", "containers/env/valueFrom/secretKeyRef/name",
                "initContainers/env/valueFrom/secretKeyRef/name", "containers/envFrom/secretRef/name",
                "initContainers/envFrom/secretRef/name", "imagePullSecrets/name",
                "volumes/projected/sources/secret/name"});
  for (const char* path : {"spec/tls/secretName", "metadata/annotations/ingress.kubernetes.io\\/auth-secret",
                           "metadata/annotations/nginx.ingress.kubernetes.io\\/auth-secret",
                           "metadata/annotations/nginx.ingress.kubernetes.io\\/auth-tls-secret"})
    specs.push_back(Spec(path, false, "Ingress"));
  specs.push_back(Spec("imagePullSecrets/name", false, "ServiceAccount"));
  for (const char* path : {"parameters/secretName", "parameters/adminSecretName", "parameters/userSecretName",
                           "parameters/secretRef"})
    specs.push_back(Spec(path, false, "StorageClass"));
  specs.push_back(Spec("rules/resourceNames", false, "Role"));
  specs.push_back(Spec("rules/resourceNames", false, "ClusterRole"));
  specs.push_back(Spec("spec/template/spec/containers/env/valueFrom/secretKeyRef/name", false, "Service",
                       "serving.knative.dev", "v1"));
  specs.push_back(Spec("spec/azureFile/secretName", false, "PersistentVolume"));
  return specs;
}

FieldSpecs ServiceReferrers() {
  const char* const kAdmission = "admissionregistration.k8s.io";
  FieldSpecs specs = {
      Spec("spec/serviceName", false, "StatefulSet", "apps"),
      Spec("spec/service/name", false, "APIService", "apiregistration.k8s.io"),
      Spec("webhooks/clientConfig/service", false, "ValidatingWebhookConfiguration", kAdmission),
      Spec("webhooks/clientConfig/service", false, "MutatingWebhookConfiguration", kAdmission)};
  for (const char* path : {"spec/rules/http/paths/backend/serviceName", "spec/backend/serviceName",
                           "spec/rules/http/paths/backend/service/name", "spec/defaultBackend/service/name"})
    specs.push_back(Spec(path, false, "Ingress"));
  return specs;
}

FieldSpecs InPlainHomes(std::string_view field, FieldSpecs specs = {}) {
  AddPodFields(specs, kPlainHomes, {field});
  return specs;
}

std::vector<NameReference> NameReferences() {
  constexpr const char* kRbac = "rbac.authorization.k8s.io";
  const FieldSpec role_binding = Spec("roleRef/name", false, "RoleBinding", kRbac);
  std::vector<NameReference> references;
  for (const char* kind : {"Deployment", "ReplicationController", "ReplicaSet", "StatefulSet"})
    references.push_back(
        {{"", "", kind}, {Spec("spec/scaleTargetRef/name", false, "HorizontalPodAutoscaler")}});
  references.push_back({{"", "v1", "ConfigMap"}, ConfigMapReferrers()});
  references.push_back({{"", "v1", "Secret"}, SecretReferrers()});
  references.push_back({{"", "v1", "Service"}, ServiceReferrers()});
  references.push_back({{kRbac, "", "Role"}, {role_binding}});
  references.push_back(
      {{kRbac, "", "ClusterRole"}, {role_binding, Spec("roleRef/name", false, "ClusterRoleBinding", kRbac)}});
  references.push_back(
      {{"", "v1", "ServiceAccount"},
       InPlainHomes("serviceAccountName", {Spec("subjects", false, "RoleBinding", kRbac),
                                           Spec("subjects", false, "ClusterRoleBinding", kRbac)})});
  references.push_back(
      {{"", "v1", "PersistentVolumeClaim"}, InPlainHomes("volumes/persistentVolumeClaim/claimName")});
  references.push_back({{"", "v1", "PersistentVolume"},
                        {Spec("spec/volumeName", false, "PersistentVolumeClaim"),
                         Spec("rules/resourceNames", false, "ClusterRole")}});
  references.push_back({{"storage.k8s.io", "v1", "StorageClass"},
                        {Spec("spec/storageClassName", false, "PersistentVolume"),
                         Spec("spec/storageClassName", false, "PersistentVolumeClaim"),
                         Spec("spec/volumeClaimTemplates/spec/storageClassName", false, "StatefulSet")}});
  references.push_back({{"scheduling.k8s.io", "v1", "PriorityClass"}, InPlainHomes("priorityClassName")});
  // The group is what kustomize has, though no object is of it.
  references.push_back(
      {{"networking.k8s.io/v1", "v1", "IngressClass"}, {Spec("spec/ingressClassName", false, "Ingress")}});
  references.push_back(
      {{"admissionregistration.k8s.io", "", "ValidatingAdmissionPolicy"},
       {Spec("spec/policyName", false, "ValidatingAdmissionPolicyBinding", "admissionregistration.k8s.io")}});
  return references;
}

TransformerConfig MakeDefaults() {
  TransformerConfig made, config;
  made.name_prefix = {Spec("metadata/name", false)};
  made.name_suffix = made.name_prefix;
  made.ns = Namespaces();
  made.common_labels = CommonLabels();
  made.template_labels = MetadataLabels();
  made.common_annotations = CommonAnnotations();
  made.var_reference = VarReferences();
  made.images = Images();
  for (const char* kind : {"Deployment", "ReplicationController", "ReplicaSet", "StatefulSet"})
    made.replicas.push_back(Spec("spec/replicas", true, kind));
  made.name_references = NameReferences();
  static_cast<void>(config.Merge(made));  // sorts; cannot fail, because `config` is empty
  return config;
}

}  // namespace

const TransformerConfig& DefaultTransformerConfig() {
  static const TransformerConfig config = MakeDefaults();
  return config;
}

}  // namespace flyball::cli::kustomize
