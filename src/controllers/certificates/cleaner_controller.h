// The cleaner of certificate requests (upstream: csrcleaner): issued, denied and failed ones go an hour after
// the decision, those that wait for one or for their certificate after a day, and those whose certificate has
// expired at once. Each is looked at when its time has come; nothing is listed periodically.
#pragma once

#include "base/values/result.h"
#include "controller/manager.h"

namespace flyball::controllers {

Status AddCertificateCleaner(Manager& manager);

}  // namespace flyball::controllers
