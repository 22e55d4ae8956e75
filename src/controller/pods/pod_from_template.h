// Creates pods from the template of the object that controls them.
#pragma once

#include <string>

#include "api/types/core.h"
#include "controller/objects/owner.h"

namespace flyball::controllers {

// Copies the template's labels, annotations, finalizers and spec; the server completes the name from
// generate_name.
Pod PodFromTemplate(const PodTemplateSpec& pod_template, std::string ns, std::string generate_name,
                    OwnerReference controller);

template <ApiObject Owner>
Pod PodFromTemplate(const PodTemplateSpec& pod_template, const Owner& owner) {
  return PodFromTemplate(pod_template, owner.metadata.namespace_, owner.metadata.name + "-",
                         ControllerRefTo(owner));
}

}  // namespace flyball::controllers
