// CsiNodeObject: what the API says about the CSI drivers of a node: the CSINode, and the Node's annotation
// and topology labels (upstream: volume/csi/nodeinfomanager).
#pragma once

#include <map>
#include <string>

#include "base/run/mutex.h"
#include "client/client.h"
#include "node/csi/csi_messages.h"

namespace flyball::node {

// Thread-safe. Methods block.
class CsiNodeObject {
 public:
  CsiNodeObject(Client client, std::string node) : client_(std::move(client)), node_(std::move(node)) {}

  const std::string& node() const { return node_; }
  // Makes the CSINode of the Node with this UID, unless it is there: with the drivers that were installed
  // here. One that belongs to an earlier Node of the name is replaced.
  Status Ensure(const std::string& node_uid);
  Status Install(const std::string& driver, const CsiNodeInfo& info);
  Status Uninstall(const std::string& driver);

 private:
  Status Write(const std::string& driver) FLYBALL_REQUIRES(mu_);
  Status TryWrite(const std::string& driver) FLYBALL_REQUIRES(mu_);
  Status WriteNode(const std::string& driver) FLYBALL_REQUIRES(mu_);

  const Client client_;
  const std::string node_;
  Mutex mu_;
  std::string node_uid_ FLYBALL_GUARDED_BY(mu_);
  std::map<std::string, CsiNodeInfo> installed_ FLYBALL_GUARDED_BY(mu_);
};

}  // namespace flyball::node
