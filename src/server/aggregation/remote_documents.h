// RemoteDocuments: the discovery and OpenAPI documents of the API servers behind this one, as they were last
// fetched. They become parts of this server's own documents.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "api/wire/discovery.h"
#include "base/run/mutex.h"

namespace flyball::server {

// What was fetched of one group version.
struct RemoteDocument {
  api::RemoteVersion discovery;
  std::string open_api_v2;      // a JSON document of its paths only; "" if it has none
  std::string open_api_v3_url;  // as the other server's index has it; "" if it has none
  std::string open_api_v3;      // made of open_api_v2, if the other server has no v3
};
using RemoteDocumentPtr = std::shared_ptr<const RemoteDocument>;

// Thread-safe.
class RemoteDocuments {
 public:
  struct Snapshot {
    std::vector<RemoteDocumentPtr> documents;  // by the names of their APIServices
    std::vector<api::RemoteVersion> versions;  // their discovery, for the makers of documents
    std::uint64_t generation = 0;              // changes with every change
  };

  std::shared_ptr<const Snapshot> snapshot() const;
  // By the name of the APIService; null removes it. Nothing changes if the document is equal.
  void Set(const std::string& name, RemoteDocumentPtr document);

 private:
  mutable Mutex mu_;
  std::map<std::string, RemoteDocumentPtr> documents_ FLYBALL_GUARDED_BY(mu_);
  std::shared_ptr<const Snapshot> snapshot_ FLYBALL_GUARDED_BY(mu_) = std::make_shared<Snapshot>();
};

}  // namespace flyball::server
