// Small plugins that fill in what a new object does not say.
#pragma once

#include <memory>

#include "server/admission/basis/admission_options.h"
#include "server/catalog/catalog.h"
#include "server/registry/admission.h"

namespace flyball::server {

// Priority: spec.priority from the pod's PriorityClass or the global default.
std::unique_ptr<AdmissionPlugin> NewPriorityAdmission(const Catalog& catalog);
// DefaultTolerationSeconds: adds tolerations for nodes that are not ready or unreachable.
std::unique_ptr<AdmissionPlugin> NewDefaultTolerationSeconds(const TolerationSeconds& seconds);
// TaintNodesByCondition: a new node takes no pods until it has reported.
std::unique_ptr<AdmissionPlugin> NewTaintNodesByCondition();
// StorageObjectInUseProtection: volumes and claims in use are not removed.
std::unique_ptr<AdmissionPlugin> NewStorageObjectInUseProtection();
// PodGroupProtection: groups that have pods are not removed.
std::unique_ptr<AdmissionPlugin> NewPodGroupProtection();
// DefaultStorageClass and DefaultIngressClass: the class marked as default, for those who name none.
std::unique_ptr<AdmissionPlugin> NewDefaultStorageClass(const Catalog& catalog);
std::unique_ptr<AdmissionPlugin> NewDefaultIngressClass(const Catalog& catalog);

}  // namespace flyball::server
