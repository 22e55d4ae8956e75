// ObjectGraph: which object owns which, over all kinds, by UID (upstream: the garbage collector's
// GraphBuilder).
//
// A node is observed once its object has arrived through a watch. An owner that is only known from a
// reference is virtual until then, or until the server was asked and it was removed.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "api/types/meta.h"
#include "base/run/mutex.h"
#include "client/unstructured.h"

namespace flyball::controllers {

inline constexpr char kForegroundFinalizer[] = "foregroundDeletion";
inline constexpr char kOrphanFinalizer[] = "orphan";

struct GraphNode {
  // For a virtual node: as in the reference. `ns` is then the namespace of the object that refers to it.
  std::string api_version, kind, ns, name, uid;
  std::shared_ptr<const KindRef> ref;  // null if virtual
  std::vector<OwnerReference> owners;
  bool deleting = false;
  bool foreground = false;  // has the finalizer foregroundDeletion
  bool orphan = false;      // has the finalizer orphan

  bool is_virtual() const { return ref == nullptr; }
  bool waits_for_dependents() const { return deleting && foreground; }
};

// The owner references in an object's metadata.
std::vector<OwnerReference> OwnersIn(const json::Value& object);
std::vector<std::string> FinalizersIn(const json::Value& object);

// Thread-safe.
class ObjectGraph {
 public:
  using Uids = std::vector<std::string>;

  // Adds or updates an object. Returns what to look at now.
  Uids Observe(const std::shared_ptr<const KindRef>& kind, const PartialObject& object);
  // The object is gone, or never existed.
  Uids Remove(const std::string& uid);

  std::optional<GraphNode> Find(const std::string& uid) const;
  std::vector<GraphNode> DependentsOf(const std::string& uid) const;
  bool HasDependents(const std::string& uid) const;
  Uids VirtualNodes() const;

 private:
  struct Node {
    GraphNode state;
    std::set<std::string> dependents;
  };
  void Link(const Node& dependent, const OwnerReference& owner, Uids& look_at) FLYBALL_REQUIRES(mu_);
  void Unlink(const Node& dependent, const std::string& owner_uid, Uids& look_at) FLYBALL_REQUIRES(mu_);
  void ReplaceOwners(Node& node, std::vector<OwnerReference> owners, Uids& look_at) FLYBALL_REQUIRES(mu_);

  mutable Mutex mu_;
  std::unordered_map<std::string, Node> nodes_ FLYBALL_GUARDED_BY(mu_);
};

}  // namespace flyball::controllers
