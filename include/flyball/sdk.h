// Everything to write a controller with: docs/controllers.md begins with the smallest one.
#pragma once

#include <chrono>

#include "flyball/client.h"
#include "flyball/controller.h"
#include "flyball/informer.h"
#include "flyball/types.h"

namespace flyball {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace): RequeueAfter(5min)

}  // namespace flyball
