// One sample, as a formulation sees it.
//
// A formulation is a struct of static functions over these types. It never sees
// features, threads, files or other samples; the engine never sees a loss.
#pragma once

#include <cstdint>

namespace multimargin {

// One sample i and some of its classes c != y_i, at fixed weights.
template <class T>
struct Block {
  int size;            // number of classes in the block
  const T* margin;     // [size] m_c = the formulation's gradient for class c
  const T* alpha;      // [size] current dual variables
  T box;               // U_i = C * sample weight * class weight of y_i
  T room;              // where a sample's variables share U_i: less those not in the block
  T curvature_own;     // curvature along the own class; k_i = x_i.x_i when alone
  const T* curvature;  // [size] along each class, or nullptr: curvature_own for all
};

// How far a sample is from its optimum before it is solved, and what the classes of the block imply
// for all others.
template <class T>
struct Report {
  T gap;        // added to primal - dual by the classes of the block, >= 0
  T violation;  // its largest projected gradient
  T least;      // another class violates by what its margin, if positive, exceeds this
  T loss;       // where the scan's sum, or maximum, over classes begins
};

// Summary of a sample's active pairs where no one has all of them: kept for each sample, and
// combined by the largest (most, violation) or smallest (least).
template <class T>
struct Account {
  T most;       // largest margin
  T least;      // smallest margin of a pair with something to give
  T violation;  // largest projected gradient that a pair has by itself
};

}  // namespace multimargin
