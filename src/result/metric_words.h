// The words by which a program's sentences about its training are known.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace trainstep::result {

enum class Word {
  unknown,
  metric,     // loss, accuracy: a number behind it is one
  weak,       // error, score: other things are called so, too
  beside,     // learning rate, grad norm: worth keeping on a line that says how far the training is
  qualifier,  // average, best, top: may stand before a metric
  link,       // with, from: no name has them
  setting,    // weight, threshold: "loss weight: 0.5" is no loss
  train,      // which data the numbers are of
  test,
  epoch,
  step,
  level,  // INFO, WARNING: what logging libraries put before a line
};

// What the word is, by its parts: "val_loss", "train-logloss", "Acc@1", "trainLoss". Letters of any case.
Word kind_of(std::string_view word);

// What its last part is: "bestIteration" is a step.
Word kind_of_last(std::string_view word);

// Word::level, without looking at parts.
bool is_level(std::string_view word);

// Of a word or one of its parts: the data it names ("val" of "val_loss"); empty: none.
std::string_view role_of(std::string_view word);

// As a metric's name: "Loss" and "LOSS" are "loss"; "mAP50" stays.
std::string plain_name(std::string_view word);

}  // namespace trainstep::result
