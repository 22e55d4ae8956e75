// Defaults of pods and pod templates that depend on other fields (upstream: core/v1 defaults).
#pragma once

#include "json/value.h"

namespace flyball::api {

// What templates get too: pull policies by the image's tag, and the like.
void SetPodSpecDefaults(json::Value& spec);
// What only a Pod gets: requests from limits, host ports, service links.
void SetPodDefaults(json::Value& pod);
// What a Pod gets when it is created, after its fields have found their owners: requests of the pod as a
// whole.
void SetPodLevelDefaults(json::Value& pod);
// The template at `object`.spec.template, if it is there.
void SetTemplateDefaults(json::Value& object);

}  // namespace flyball::api
