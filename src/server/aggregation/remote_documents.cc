#include "server/aggregation/remote_documents.h"

#include <utility>

namespace flyball::server {
namespace {

bool SameDiscovery(const api::RemoteVersion& a, const api::RemoteVersion& b) {
  return a.group == b.group && a.version == b.version && a.priority.group == b.priority.group &&
         a.priority.version == b.priority.version && a.stale == b.stale && a.resources == b.resources;
}

bool SameDocument(const RemoteDocument& a, const RemoteDocument& b) {
  return SameDiscovery(a.discovery, b.discovery) && a.open_api_v2 == b.open_api_v2 &&
         a.open_api_v3_url == b.open_api_v3_url && a.open_api_v3 == b.open_api_v3;
}

}  // namespace

std::shared_ptr<const RemoteDocuments::Snapshot> RemoteDocuments::snapshot() const {
  MutexLock lock(mu_);
  return snapshot_;
}

void RemoteDocuments::Set(const std::string& name, RemoteDocumentPtr document) {
  MutexLock lock(mu_);
  const auto there = documents_.find(name);
  if (there == documents_.end() && !document) return;
  if (there != documents_.end() && document && SameDocument(*there->second, *document)) return;
  if (document)
    documents_[name] = std::move(document);
  else
    documents_.erase(there);
  auto next = std::make_shared<Snapshot>();
  next->generation = snapshot_->generation + 1;
  for (const auto& [key, kept] : documents_) {
    next->documents.push_back(kept);
    next->versions.push_back(kept->discovery);
  }
  snapshot_ = std::move(next);
}

}  // namespace flyball::server
