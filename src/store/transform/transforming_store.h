// A store whose values pass a ValueTransformer on their way to and from another store.
#pragma once

#include <functional>
#include <memory>

#include "store/store.h"
#include "store/transform/value_transformer.h"

namespace flyball::store {

// The transformer must outlive the store. A value that cannot be read back is an error of Range and Get
// (ServiceUnavailable if it may be read later, as the transformer says), ends a watch that has to deliver it,
// and is left out (null) where it only says what was there before.
std::unique_ptr<Store> NewTransformingStore(std::unique_ptr<Store> inner,
                                            const ValueTransformer& transformer);

struct RewriteResult {
  std::size_t examined = 0, rewritten = 0;
};
// Writes every value of the store again that is stored in another way than it would be now. `inner` is the
// store below NewTransformingStore; `ttl_of` says how long a key is to live from now on (zero: for ever).
// Blocks; writers may go on meanwhile.
Result<RewriteResult> RewriteStaleValues(Store& inner, const ValueTransformer& transformer,
                                         const std::function<Duration(std::string_view key)>& ttl_of);

}  // namespace flyball::store
