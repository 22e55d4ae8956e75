// A store made of several: some prefixes have a store of their own (upstream: --etcd-servers-overrides), so
// that what changes most, or matters least, does not load the store of everything else.
//
// Each part has revisions of its own, which say nothing about another part's. What a Store says without a
// prefix (CurrentRevision, Compact, CompactedRevision, Health, the revisions of Stats) is about the rest;
// PartOf leads to the others. CatchUp, shared() and the sizes of Stats are about all of them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "store/store.h"

namespace flyball::store {

struct StorePart {
  std::vector<std::string> prefixes;  // of the keys it has; each ends with '/', none begins with another
  std::unique_ptr<Store> store;
};

// All keys without a part of their own are in `rest`. A prefix that is shorter than a part's ("/registry/")
// is a question to the rest alone. A transaction with keys of two parts is refused: it could not happen
// wholly or not at all.
std::unique_ptr<Store> NewPartitionedStore(std::unique_ptr<Store> rest, std::vector<StorePart> parts);

}  // namespace flyball::store
