#include "controller/pods/pod_from_template.h"

#include <utility>

namespace flyball::controllers {

Pod PodFromTemplate(const PodTemplateSpec& pod_template, std::string ns, std::string generate_name,
                    OwnerReference controller) {
  Pod pod;
  pod.metadata.namespace_ = std::move(ns);
  pod.metadata.generate_name = std::move(generate_name);
  pod.metadata.labels = pod_template.metadata.labels;
  pod.metadata.annotations = pod_template.metadata.annotations;
  pod.metadata.finalizers = pod_template.metadata.finalizers;
  pod.metadata.owner_references.push_back(std::move(controller));
  pod.spec = pod_template.spec;
  return pod;
}

}  // namespace flyball::controllers
