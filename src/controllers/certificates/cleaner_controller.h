// The cleaner of certificate requests (upstream: csrcleaner). It deletes issued, denied and failed requests
// an hour after the decision, requests that wait for a decision or for their certificate after a day, and
// requests whose certificate has expired at once. Each request is checked when its time has come; nothing is
// listed periodically.
#pragma once

#include "base/values/result.h"
#include "controller/manager.h"

namespace flyball::controllers {

Status AddCertificateCleaner(Manager& manager);

// podcertificaterequest-cleaner-controller: deletes PodCertificateRequests half an hour after they were made.
Status AddPodCertificateCleaner(Manager& manager);

}  // namespace flyball::controllers
