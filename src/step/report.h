// What people get to read about a step: an HTML page and the log's last lines.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "step/story.h"

namespace trainstep::step {

// One self-contained page: no script, nothing from the network, light and dark, readable on a phone. Says the verdict, the first failure with its log
// lines, phases, metric curves, replicas, what was asked for, outputs and parameters. Values whose names say that they are secret are not shown.
std::string render_report(const Story& story);

// The few lines that stand at the end of the log, failures included (KFP v2 keeps nothing else of a failed step). Plain text, without line ends.
std::vector<std::string> summary(const Story& story);

}  // namespace trainstep::step
