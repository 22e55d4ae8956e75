// The shape of a kustomization and of what it consists of.
#pragma once

#include "cli/kustomize/input/go_shape.h"

namespace flyball::cli::kustomize {

extern const GoShape kKustomizationShape;
extern const GoShape kReplacementShape;
// A file of `configurations`.
extern const GoShape kTransformerConfigShape;

}  // namespace flyball::cli::kustomize
