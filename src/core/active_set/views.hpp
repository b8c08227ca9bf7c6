// Raw pointers that visits work on. Owned by ActiveSet, Meeting and Engine.
#pragma once

#include <cstdint>

namespace multimargin {

// Samples with their active classes ("pairs") and the weights these touch.
//
// Slot 0 of a sample is its own class; slots 1.. are active classes. Weights are
// kept per class; `position` says where each feature of a sample lies in each class's
// weights, so that a visit is a gather and a scatter and never a search.
//
// Most features of a pair are had by no other active sample of the class. The weight of
// such a *lone* feature is just the pair's coefficient times x, so it is not stored: its
// position is 0, where every class keeps a zero, and `lone` holds the sum of x^2 over
// them. What visits touch becomes smaller and stays nearer: on 12,582 classes inner passes
// took 4.3 s instead of 5.5 s.
template <class T>
struct WorkView {
  const T* x;                     // values of X, rows one after the other
  const std::int64_t* row;        // [n] where rows begin in x
  const std::int64_t* row_end;    // [n] where they end
  const T* norm2;                 // [n] k_i = x_i.x_i, intercept included
  const T* box;                   // [n]
  T bias;                         // value of the constant feature, 0: none
  const std::int64_t* pair;       // [n+1] where a sample's slots begin
  const std::int32_t* cls;        // [pairs] class of each slot; slot 0, < 0: not at hand
  T* alpha;                       // [pairs] dual variables; slot 0: their sum
  std::uint8_t* resting;          // [pairs] slots that only visits to everything look at
  const std::int64_t* place;      // [n+1] where a sample's positions begin
  const std::uint32_t* position;  // slot-major: slot s, feature t at place + s*len + t
  const T* lone;                  // [pairs] sum of x^2 over the slot's lone features
  T* const* w;                    // [K] the weights of each class; first comes a zero
  T* w_bias;                      // [K] weight of the constant feature
  const T* outside;  // [n] sum of a sample's variables that have no slot here; nullptr: zero
};

// A slot whose class other samples of the batch touch too.
struct SharedSlot {
  std::int32_t k;  // index of the sample in the pass
  std::int32_t slot;
};

// How a pass treats what it finds.
template <class T>
struct VisitRule {
  T leave_below;    // samples with a smaller gap are left as they are
  T idle;           // coordinates violated by no more than this stay; < 0: none stay
  bool everything;  // resting slots are looked at too, and rest is decided anew
  T coupling;       // assumed |cosine| between samples of one batch that share a class
};

}  // namespace multimargin
