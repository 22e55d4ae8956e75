// kubectl's commands. Each function adds its command to the program.
#pragma once

#include "cli/command/command.h"

namespace flyball::cli {

void AddGetCommand(const Command& root);
void AddDescribeCommand(const Command& root);
void AddCreateCommand(const Command& root);
void AddRunCommand(const Command& root);
void AddExposeCommand(const Command& root);
void AddApplyCommand(const Command& root);
void AddDiffCommand(const Command& root);
void AddEditCommand(const Command& root);
void AddReplaceCommand(const Command& root);
void AddPatchCommand(const Command& root);
void AddLabelCommands(const Command& root);
void AddDrainCommands(const Command& root);
void AddTaintCommand(const Command& root);
void AddCertificateCommand(const Command& root);
void AddExecCommands(const Command& root);
void AddCopyCommand(const Command& root);
void AddProxyCommand(const Command& root);
void AddDebugCommand(const Command& root);
void AddPortForwardCommand(const Command& root);
void AddDeleteCommand(const Command& root);
void AddScaleCommand(const Command& root);
void AddAutoscaleCommand(const Command& root);
void AddSetCommand(const Command& root);
void AddRolloutCommand(const Command& root);
void AddLogsCommand(const Command& root);
void AddWaitCommand(const Command& root);
void AddEventsCommand(const Command& root);
void AddExplainCommand(const Command& root);
void AddDiscoveryCommands(const Command& root);
void AddAuthCommand(const Command& root);
void AddConfigCommand(const Command& root);
// completion, plugin
void AddShellCommands(const Command& root);
void AddTopCommand(const Command& root);
// kuberc
void AddKubercCommand(const Command& root);
void AddVersionCommand(const Command& root);

}  // namespace flyball::cli
