// The answer: the best classes, and what decided between two of them.
import {
  breakable, byId, counted, element, percent, readable, score, setShare, showLabel, signed,
} from "./elements.js";

const FEATURES_SHOWN = 10;
const LEAST_SHOWN = 0.03; // of the largest contribution; the smaller ones are summed up

function classRow(entry, rank, share, against, compare) {
  const name = showLabel(element("span", { class: "name" }), entry.label);
  const gauge = element("span", { class: "gauge" });
  setShare(gauge, share);
  const number = "probability" in entry
    ? element("span", { class: "score", title: `score ${score(entry.score)}` },
      percent(entry.probability))
    : element("span", { class: "score" }, score(entry.score));
  if (rank === 0) {
    return element("li", { class: "best" },
      element("div", {}, element("span", { class: "tick", "aria-hidden": "true" }),
        name, number, gauge));
  }
  const radio = element("input", { type: "radio", name: "against" });
  radio.checked = entry.label === against;
  radio.addEventListener("change", () => compare(entry.label));
  return element("li", {}, element("label", {}, radio, name, number, gauge));
}

function showClasses(classes, against, compare) {
  const scores = classes.map((entry) => entry.score);
  const low = Math.min(0, ...scores);
  const width = Math.max(1e-9, Math.max(...scores) - low);
  const focused = document.activeElement?.name === "against";
  const rows = classes.map((entry, rank) =>
    classRow(entry, rank, entry.probability ?? (entry.score - low) / width, against, compare));
  if (rows.length > 2) {
    rows[1].prepend(element("p", { class: "caption" }, "Near misses — choose one to compare with"));
  }
  byId("classes").replaceChildren(...rows);
  // The rows are new; who moves through them with the arrow keys stays where they were.
  if (focused) byId("classes").querySelector("input:checked")?.focus();
}

// Rows are no rows of a table to CSS on phones, which would cost them their meaning without roles.
function featureRow(feature, low, width) {
  const side = feature.contribution > 0 ? "for" : "against";
  const blade = element("div", { class: `blade ${side}` });
  setShare(blade, Math.abs(feature.contribution) / width);
  const picture = element("div", { class: "picture", "aria-hidden": "true" }, blade);
  setShare(picture, -low / width, "--zero");
  // A blank at the end of a piece of a word is part of it.
  const name = feature.feature.replace(/^ | $/g, "\u00a0");
  return element("tr", { role: "row" },
    element("th", { scope: "row", role: "rowheader" }, ...breakable(name)),
    element("td", { role: "cell" }, picture),
    element("td", { class: "number", role: "cell" }, signed(feature.contribution)));
}

function sumRow(name, value, kind = null) {
  return element("tr", { class: kind, role: "row" },
    element("th", { scope: "row", colspan: "2", role: "rowheader" }, name),
    element("td", { class: "number", role: "cell" }, signed(value)));
}

function showExplanation(explanation, noun) {
  showLabel(byId("winner"), explanation.label);
  showLabel(byId("rival"), explanation.against);
  byId("key-for").replaceChildren(...breakable(readable(explanation.label).name));
  byId("key-against").replaceChildren(...breakable(readable(explanation.against).name));
  const least = LEAST_SHOWN * Math.abs(explanation.features[0]?.contribution || 0);
  const large = explanation.features.filter((feature) => Math.abs(feature.contribution) >= least);
  const listed = large.slice(0, FEATURES_SHOWN).sort((a, b) => b.contribution - a.contribution);
  const hidden = explanation.features.filter((feature) => !listed.includes(feature));
  const low = Math.min(0, ...listed.map((feature) => feature.contribution));
  const high = Math.max(0, ...listed.map((feature) => feature.contribution));
  const width = Math.max(1e-9, high - low);
  byId("words").replaceChildren(...listed.map((feature) => featureRow(feature, low, width)));
  const others = explanation.other_features;
  const count = hidden.length + others.count;
  const rest = hidden.reduce((sum, feature) => sum + feature.contribution, others.contribution);
  const sums = [];
  if (count) sums.push(sumRow(counted(count, `other ${noun}`), rest));
  if (explanation.intercept) sums.push(sumRow("intercept", explanation.intercept));
  sums.push(sumRow("difference of the scores", explanation.difference, "total"));
  byId("sums").replaceChildren(...sums);
}

// Shows a result with its explanation; `compare` is called with the label of a near miss.
export function showResult({ classes, explanation, note }, noun, compare) {
  showClasses(classes, explanation.against, compare);
  showExplanation(explanation, noun);
  byId("nothing-known").textContent = note || "";
  // Classes in the order of their intercepts, or of the alphabet, would look like an answer.
  for (const id of ["classes", "why"]) byId(id).hidden = Boolean(note);
  byId("nothing-known").hidden = !note;
  const unknown = note ? [] : explanation.unknown;
  byId("unknown").hidden = unknown.length === 0;
  byId("unknown").replaceChildren("Not known to the model: ", ...breakable(unknown.join(", ")));
  byId("answer").hidden = false;
  byId("answer").classList.remove("stale");
  byId("invitation").hidden = true;
  const best = readable(classes[0].label).name;
  const rival = readable(explanation.against).name;
  announce(note || `${best}, ahead of ${rival} by ${score(explanation.difference)}`);
}

export function showNothing() {
  byId("answer").hidden = true;
  byId("key").hidden = true;
  byId("invitation").hidden = false;
  announce("");
}

function announce(news) {
  const status = byId("announcement");
  if (status.textContent !== news) status.textContent = news;
}
