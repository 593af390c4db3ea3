// Recognizes lines with values that are not measured by this training: commands, settings, what a loaded checkpoint had, tracebacks.
//   + python train.py lr=0.5
//   hyperparameters: lr0=0.01, momentum=0.9
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace trainstep::result {

// A command and its arguments: "+ python train.py lr=0.5", as a shell with -x prints it; Hydra's "[HYDRA] #0 : lr=0.1".
bool is_command(std::string_view text);

// "Loaded checkpoint from epoch 5 with val_loss=0.2": what it had then.
bool tells_of_loading(std::string_view text);

// A panel of local variables within one of rich's tracebacks, and its line of code.
bool is_rich_traceback(std::string_view text);

// config, hyperparameters, args, …
bool names_settings(std::string_view word);

// "hyperparameters: lr0=0.01, momentum=0.9"; "reg_alpha=0.0 will be ignored" (LightGBM).
bool heads_settings(std::string_view text);

}  // namespace trainstep::result
