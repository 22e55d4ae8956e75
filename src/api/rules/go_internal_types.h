// Where upstream's internal types differ from the API's: in the order of fields, or in what Go calls them.
// Internal to go_dump.cc.
#pragma once

#include <string_view>

namespace flyball::api {

struct GoInternalType {
  std::string_view type;    // its OpenAPI name, without "io.k8s.api."
  std::string_view fields;  // JSON names in Go's order; "json=Go" where the Go name does not follow from it
};

// Sorted by type. From pkg/apis/*/types.go of Kubernetes v1.37.
inline constexpr GoInternalType kGoInternalTypes[] = {
    {"admissionregistration.v1.MutatingWebhook",
     "name clientConfig rules failurePolicy matchPolicy namespaceSelector objectSelector sideEffects "
     "timeoutSeconds admissionReviewVersions reinvocationPolicy matchConditions"},
    {"admissionregistration.v1.Mutation", "patchType applyConfiguration jsonPatch=JSONPatch"},
    {"admissionregistration.v1.ValidatingWebhook",
     "name clientConfig rules failurePolicy matchPolicy namespaceSelector objectSelector sideEffects "
     "timeoutSeconds admissionReviewVersions matchConditions"},
    {"admissionregistration.v1.WebhookClientConfig", "url=URL service caBundle=CABundle"},
    {"apps.v1.DeploymentCondition", "type status lastUpdateTime lastTransitionTime reason message"},
    {"apps.v1.DeploymentStatus",
     "observedGeneration replicas updatedReplicas readyReplicas availableReplicas unavailableReplicas "
     "terminatingReplicas conditions collisionCount"},
    {"apps.v1.ReplicaSetSpec", "replicas minReadySeconds selector template"},
    {"apps.v1.ReplicaSetStatus",
     "replicas fullyLabeledReplicas readyReplicas availableReplicas terminatingReplicas observedGeneration "
     "conditions"},
    {"autoscaling.v2.ContainerResourceMetricSource", "name container target"},
    {"autoscaling.v2.ContainerResourceMetricStatus", "name container current"},
    {"autoscaling.v2.HPAScalingRules", "stabilizationWindowSeconds selectPolicy policies tolerance"},
    {"autoscaling.v2.MetricSpec", "type object pods resource containerResource external"},
    {"autoscaling.v2.MetricStatus", "type object pods resource containerResource external"},
    {"batch.v1.CronJobSpec",
     "schedule timeZone startingDeadlineSeconds concurrencyPolicy suspend jobTemplate "
     "successfulJobsHistoryLimit failedJobsHistoryLimit"},
    {"batch.v1.JobSpec",
     "parallelism completions activeDeadlineSeconds podFailurePolicy successPolicy backoffLimit "
     "backoffLimitPerIndex maxFailedIndexes selector manualSelector template "
     "ttlSecondsAfterFinished=TTLSecondsAfterFinished completionMode suspend podReplacementPolicy managedBy "
     "scheduling"},
    {"batch.v1.JobStatus",
     "conditions startTime completionTime active succeeded failed terminating completedIndexes failedIndexes "
     "uncountedTerminatedPods ready"},
    {"certificates.v1.CertificateSigningRequestCondition",
     "type status reason message lastUpdateTime lastTransitionTime"},
    {"certificates.v1.CertificateSigningRequestSpec",
     "request signerName expirationSeconds usages username uid groups extra"},
    {"certificates.v1.PodCertificateRequestSpec",
     "signerName podName podUID serviceAccountName serviceAccountUID nodeName nodeUID maxExpirationSeconds "
     "stubPKCS10Request unverifiedUserAnnotations"},
    {"core.v1.AzureDiskVolumeSource", "diskName diskURI=DataDiskURI cachingMode fsType readOnly kind"},
    {"core.v1.ClusterTrustBundleProjection", "name signerName labelSelector optional path user"},
    {"core.v1.Container",
     "name image command args workingDir ports envFrom env resources resizePolicy restartPolicy "
     "restartPolicyRules volumeMounts volumeDevices livenessProbe readinessProbe startupProbe lifecycle "
     "terminationMessagePath terminationMessagePolicy imagePullPolicy securityContext stdin stdinOnce tty"},
    {"core.v1.ContainerStatus",
     "name state lastState=LastTerminationState ready restartCount image imageID containerID started "
     "allocatedResources resources volumeMounts user allocatedResourcesStatus stopSignal"},
    {"core.v1.EndpointAddress", "ip=IP hostname nodeName targetRef"},
    {"core.v1.EphemeralContainer",
     "name image command args workingDir ports envFrom env resources resizePolicy restartPolicy "
     "restartPolicyRules volumeMounts volumeDevices livenessProbe readinessProbe startupProbe lifecycle "
     "terminationMessagePath terminationMessagePolicy imagePullPolicy securityContext stdin stdinOnce tty "
     "targetContainerName"},
    {"core.v1.GlusterfsPersistentVolumeSource", "endpoints=EndpointsName path readOnly endpointsNamespace"},
    {"core.v1.GlusterfsVolumeSource", "endpoints=EndpointsName path readOnly"},
    {"core.v1.HostAlias", "ip=IP hostnames"},
    {"core.v1.HostIP", "ip=IP"},
    {"core.v1.ISCSIPersistentVolumeSource",
     "targetPortal iqn lun iscsiInterface fsType readOnly portals chapAuthDiscovery=DiscoveryCHAPAuth "
     "chapAuthSession=SessionCHAPAuth secretRef initiatorName"},
    {"core.v1.ISCSIVolumeSource",
     "targetPortal iqn lun iscsiInterface fsType readOnly portals chapAuthDiscovery=DiscoveryCHAPAuth "
     "chapAuthSession=SessionCHAPAuth secretRef initiatorName"},
    {"core.v1.LinuxContainerUser", "uid gid=GID supplementalGroups"},
    {"core.v1.LoadBalancerIngress", "ip=IP hostname ipMode=IPMode ports"},
    {"core.v1.PersistentVolumeClaimSpec",
     "accessModes selector resources volumeName storageClassName volumeMode dataSource dataSourceRef "
     "volumeAttributesClassName"},
    {"core.v1.PhotonPersistentDiskVolumeSource", "pdID=PdID fsType"},
    {"core.v1.PodCondition",
     "type observedGeneration status lastProbeTime lastTransitionTime reason message"},
    {"core.v1.PodIP", "ip=IP"},
    {"core.v1.PodSecurityContext",
     "seLinuxOptions windowsOptions runAsUser runAsGroup runAsNonRoot supplementalGroups "
     "supplementalGroupsPolicy fsGroup sysctls fsGroupChangePolicy seccompProfile appArmorProfile "
     "seLinuxChangePolicy"},
    {"core.v1.PodStatus",
     "observedGeneration phase conditions message reason nominatedNodeName hostIP hostIPs podIP podIPs "
     "startTime initContainerStatuses containerStatuses qosClass=QOSClass ephemeralContainerStatuses resize "
     "resourceClaimStatuses extendedResourceClaimStatus allocatedResources resources "
     "nodeAllocatableResourceClaimStatuses volumeHealth"},
    {"core.v1.RBDPersistentVolumeSource",
     "monitors=CephMonitors image=RBDImage fsType pool=RBDPool user=RadosUser keyring secretRef readOnly"},
    {"core.v1.RBDVolumeSource",
     "monitors=CephMonitors image=RBDImage fsType pool=RBDPool user=RadosUser keyring secretRef readOnly"},
    {"core.v1.ReplicationControllerSpec", "replicas minReadySeconds selector template"},
    {"core.v1.ReplicationControllerStatus",
     "replicas fullyLabeledReplicas readyReplicas availableReplicas observedGeneration conditions"},
    {"core.v1.ScaleIOPersistentVolumeSource",
     "gateway system secretRef sslEnabled=SSLEnabled protectionDomain storagePool storageMode volumeName "
     "fsType readOnly"},
    {"core.v1.ScaleIOVolumeSource",
     "gateway system secretRef sslEnabled=SSLEnabled protectionDomain storagePool storageMode volumeName "
     "fsType readOnly"},
    {"core.v1.SecurityContext",
     "capabilities privileged seLinuxOptions windowsOptions runAsUser runAsGroup runAsNonRoot "
     "readOnlyRootFilesystem allowPrivilegeEscalation procMount seccompProfile appArmorProfile"},
    {"core.v1.ServicePort", "name protocol appProtocol port targetPort nodePort"},
    {"core.v1.ServiceSpec",
     "ports selector clusterIP clusterIPs type externalIPs sessionAffinity loadBalancerIP "
     "loadBalancerSourceRanges externalName externalTrafficPolicy healthCheckNodePort "
     "publishNotReadyAddresses sessionAffinityConfig ipFamilies=IPFamilies ipFamilyPolicy=IPFamilyPolicy "
     "allocateLoadBalancerNodePorts loadBalancerClass internalTrafficPolicy trafficDistribution"},
    {"core.v1.Volume",
     "name hostPath emptyDir gcePersistentDisk awsElasticBlockStore gitRepo secret nfs iscsi glusterfs "
     "persistentVolumeClaim rbd flexVolume cinder cephfs flocker downwardAPI fc azureFile configMap "
     "vsphereVolume quobyte azureDisk photonPersistentDisk projected portworxVolume scaleIO storageos csi "
     "ephemeral image"},
    {"core.v1.VolumeMount",
     "name readOnly recursiveReadOnly mountPath subPath mountPropagation subPathExpr bindMountOptions"},
    {"flowcontrol.v1.Subject", "kind user group serviceAccount=ServiceAccount"},
    {"networking.v1.HTTPIngressPath", "path pathType backend"},
    {"networking.v1.IPBlock", "cidr=CIDR except"},
    {"networking.v1.IngressBackend", "service resource"},
    {"networking.v1.IngressLoadBalancerIngress", "ip=IP hostname ports"},
    {"networking.v1.IngressSpec", "ingressClassName defaultBackend tls=TLS rules"},
    {"networking.v1.NetworkPolicyPeer", "podSelector namespaceSelector ipBlock=IPBlock"},
    {"networking.v1.ServiceCIDRSpec", "cidrs=CIDRs"},
    {"resource.v1.AllocatedDeviceStatus", "driver pool device shareID conditions data networkData"},
    {"resource.v1.DeviceAttribute",
     "int=IntValue bool=BoolValue string=StringValue version=VersionValue ints=IntValues bools=BoolValues "
     "strings=StringValues versions=VersionValues"},
    {"resource.v1.DeviceSelector", "cel=CEL"},
    {"resource.v1.NetworkDeviceData", "interfaceName ips=IPs hardwareAddress"},
};

}  // namespace flyball::api
