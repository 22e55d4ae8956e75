// How much work a request may be, known before it is begun: from its own size and the size of what it is
// about. Decides how many seats it takes, and whether it may run on an I/O thread.
#pragma once

#include <cstddef>

#include "net/http/http.h"
#include "server/catalog/catalog.h"
#include "server/request/request_info.h"

namespace flyball::server {

struct WorkSize {
  std::size_t objects = 0;  // that a list or watch looks at
  std::size_t bytes = 0;    // of the body and of the objects concerned

  // It may take longer than an I/O thread should be held (some 100 microseconds): it belongs on a worker.
  bool IsLarge() const;
  // Seats of a priority level (upstream: SizeBasedListCostEstimate): one for each 100 KB that are in memory
  // at once. At least one, and no more than the level allows.
  int Seats(int most) const;
};

// `resource` may be null: the request is about nothing that is stored.
WorkSize EstimateWork(const RequestInfo& info, const net::Request& request, const ServedResource* resource);

}  // namespace flyball::server
