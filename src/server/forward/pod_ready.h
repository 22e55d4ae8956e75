#pragma once

#include "json/value.h"

namespace flyball::server {

// Whether the Ready condition of a pod says True.
bool IsPodReady(const json::Value& pod);

}  // namespace flyball::server
