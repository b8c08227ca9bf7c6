// The slots of some samples: classes, dual variables, and where the features of a slot lie in the
// weights of its class. Held by the whole active set and by every meeting of bundles.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "active_set/kernels.hpp"
#include "active_set/weight_layout.hpp"
#include "common/buffer.hpp"
#include "common/csr.hpp"
#include "common/label_costs.hpp"
#include "common/prefetch.hpp"
#include "common/team.hpp"

namespace multimargin {

// Slots of consecutive classes, class by class and in the order of samples.
struct ClassMembers {
  std::vector<std::int64_t> begin;  // [classes+1]
  Buffer<Member> member;

  // soon(sample, slot) is called for a slot some time before use(sample, slot).
  template <class Use, class Soon>
  void each(std::int32_t c, const Use& use, const Soon& soon) const {
    for (std::int64_t e = begin[c]; e < begin[c + 1]; ++e) {
      if (e + kMembersAhead < begin.back())
        soon(member[e + kMembersAhead].sample, member[e + kMembersAhead].slot);
      use(member[e].sample, member[e].slot);
    }
  }
  template <class Use>
  void each(std::int32_t c, const Use& use) const {
    each(c, use, [](std::int64_t, std::int64_t) {});
  }
};

template <class T>
struct Slots {
  std::vector<std::int64_t> begin{0};  // [n+1] where a sample's slots begin
  std::vector<std::int32_t> cls;       // slot 0 of each sample: its own class
  std::vector<T> alpha;                // slot 0: the sum of the others
  std::vector<T> asked;                // margins asked of the classes; empty: 1 of all
  std::vector<T> lone;                 // sum of x^2 over lone features
  // With an intercept: asked - (w_y - w_c).x_i without the part of x_i's own variables in w, at its
  // last visit. The margin is height + b_c - b_y - k_i (A_i + a_ic), whatever a_i has become.
  std::vector<T> height;
  std::vector<std::uint8_t> resting;
  std::vector<std::int64_t> place;  // [n+1] where a sample's positions begin
  Buffer<std::uint32_t> position;   // slot-major
  std::int32_t widest = 1;          // most slots of a sample

  std::int64_t samples() const { return static_cast<std::int64_t>(begin.size()) - 1; }

  // Notes what is asked of each slot. own(i): class of sample i; other(p): class of slot p.
  template <class Own, class Other>
  void ask(const LabelCosts* costs, const Own& own, const Other& other) {
    asked.clear();
    if (costs == nullptr) return;
    asked.assign(cls.size(), T(0));
    for (std::int64_t i = 0; i < samples(); ++i)
      for (std::int64_t p = begin[i] + 1; p < begin[i + 1]; ++p)
        asked[p] = static_cast<T>(costs->at(own(i), other(p)));
  }

  // Makes room for the positions. length(i): positions of a slot of sample i.
  template <class Length>
  void reserve_positions(const Length& length) {
    const std::int64_t n = samples();
    place.resize(n + 1);
    place[0] = 0;
    std::int64_t most = 1;
    for (std::int64_t i = 0; i < n; ++i) {
      const std::int64_t slots = begin[i + 1] - begin[i];
      place[i + 1] = place[i] + slots * length(i);
      most = std::max(most, slots);
    }
    widest = static_cast<std::int32_t>(most);
    position.reset(static_cast<std::size_t>(place[n]));
    lone.assign(cls.size(), T(0));
  }

  // Notes the places of a slot's features. The entries of sample i are [first, first + len) of X.
  template <class I>
  void put_places(const Csr<T, I>& X, std::int64_t i, std::int64_t slot, std::int64_t first,
                  std::int64_t len, const FeaturePlaces& places) {
    std::uint32_t* at = position.data() + place[i] + slot * len;
    const auto feature = X.features_from(first);
    double sum = 0;
    for (std::int64_t t = 0; t < len; ++t) {
      const std::int32_t known = places[feature[first + t]];
      at[t] = static_cast<std::uint32_t>(known);
      const double x = known == 0 ? static_cast<double>(X.data[first + t]) : 0.0;  // no branch
      sum += x * x;
    }
    lone[begin[i] + slot] = static_cast<T>(sum);
  }

  // The slots of classes first .. first + classes - 1. Each member of the team counts and places
  // those of samples that follow each other, so that a class has them in the order of samples.
  ClassMembers members(std::int32_t first, std::int32_t classes, Team& team) const {
    const std::int64_t n = samples(), parts = team.size();
    const auto each = [&](std::int64_t part, const auto& use) {
      for (std::int64_t i = n * part / parts; i < n * (part + 1) / parts; ++i)
        for (std::int64_t p = begin[i]; p < begin[i + 1]; ++p)
          if (cls[p] >= first && cls[p] < first + classes) use(cls[p] - first, i, p - begin[i]);
    };
    std::vector<std::vector<std::int64_t>> next(parts);
    team.for_each(parts, [&](int, std::int64_t part) {
      next[part].assign(classes, 0);
      each(part, [&](std::int32_t c, std::int64_t, std::int64_t) { ++next[part][c]; });
    });
    ClassMembers m;
    m.begin.assign(classes + 1, 0);
    for (std::int32_t c = 0; c < classes; ++c) {
      std::int64_t at = m.begin[c];
      for (auto& of_part : next) {
        const std::int64_t count = of_part[c];
        of_part[c] = at;
        at += count;
      }
      m.begin[c + 1] = at;
    }
    m.member.reset(static_cast<std::size_t>(m.begin.back()));
    team.for_each(parts, [&](int, std::int64_t part) {
      each(part, [&](std::int32_t c, std::int64_t i, std::int64_t slot) {
        m.member[next[part][c]++] = {static_cast<std::int32_t>(i), static_cast<std::int32_t>(slot)};
      });
    });
    return m;
  }

  // Points those members of the view here that belong to the slots.
  void fill(WorkView<T>& view) {
    view.slot_begin = begin.data();
    view.cls = cls.data();
    view.alpha = alpha.data();
    view.asked = asked.empty() ? nullptr : asked.data();
    view.height = height.empty() ? nullptr : height.data();
    view.resting = resting.data();
    view.place = place.data();
    view.position = position.data();
    view.lone = lone.data();
  }
};

// Whether a pair stays active after a scan: it has mass, or its class violates.
template <class T>
bool stays_active(T alpha, T margin, T least) {
  return alpha > 0 || margin > std::max(T(0), least);
}

}  // namespace multimargin
