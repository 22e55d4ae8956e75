#include "base/values/result.h"

namespace flyball {

const Error& Result<void>::NoError() {
  static const Error none(Reason::kUnknown, 0, "");
  return none;
}

}  // namespace flyball
