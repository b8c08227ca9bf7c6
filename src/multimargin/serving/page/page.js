// The page: asks /predict while a person types, and shows the answer.
// Whatever comes from a person or from the model is set as text, never as HTML.
"use strict";

const DEBOUNCE_MS = 120;
const RETRY_MS = 2000;
const WORDS_SHOWN = 10;
const LEAST_SHOWN = 0.03; // of the largest contribution; the smaller ones are summed up
const LEVELS = 4;
const PARTS_OF_SPEECH = { n: "noun", v: "verb", a: "adjective", r: "adverb" };

const byId = (id) => document.getElementById(id);
const page = Object.fromEntries(
  ["name", "facts", "text", "mirror", "count", "key", "problem", "examples", "announcement",
    "answer", "classes", "nothing-known", "why", "winner", "rival", "words",
    "sums", "invitation", "version", "key-for", "key-against"].map((id) => [id, byId(id)]));

const state = {
  limits: { max_chars: 100000 },
  unit: "word",
  against: null, // the label to compare with; null is the runner-up
  marks: [], // {begin, end, level}, in UTF-16 units of `marked`
  marked: "",
  timer: 0,
  request: null,
};

// ---------------------------------------------------------------- small things

function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null) made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
}

const grouped = (number) => number.toLocaleString("en-US");
const score = (number) => number.toFixed(3);
const signed = (number) => (number < 0 ? "−" : "+") + Math.abs(number).toFixed(3);

// The demo's labels are WordNet's, "stringed_instrument.n#n04338517": read them out.
function readable(label) {
  const text = String(label);
  const found = /^(.+)\.([nvar])#[nvar]\d{8}$/.exec(text);
  return found
    ? { name: found[1].replaceAll("_", " "), note: PARTS_OF_SPEECH[found[2]] }
    : { name: text === "" ? "(empty)" : text, note: null };
}

function showLabel(parent, label) {
  const { name, note } = readable(label);
  parent.replaceChildren(name);
  parent.title = String(label);
  if (note) parent.append(element("span", { class: "note" }, note));
  return parent;
}

function setShare(target, fraction, name = "--share") {
  target.style.setProperty(name, `${(100 * Math.min(1, Math.max(0, fraction))).toFixed(1)}%`);
}

function complain(message) {
  page.problem.hidden = !message;
  if (page.problem.textContent !== (message || "")) page.problem.textContent = message || "";
}

// ---------------------------------------------------------------- marks in the text

// Places in characters, as the server counts, to places in UTF-16 units, as JavaScript does.
function unitsOf(text) {
  if (!/[\ud800-\udfff]/.test(text)) return (place) => place;
  const units = [0];
  for (const character of text) units.push(units.at(-1) + character.length);
  return (place) => units[Math.min(place, units.length - 1)];
}

// How strongly each character speaks, as runs of equal strength.
function marksOf(text, features) {
  const units = unitsOf(text);
  const edges = new Map(); // place -> change of what all features there add up to
  const change = (place, by) => edges.set(place, (edges.get(place) || 0) + by);
  for (const { contribution, spans } of features) {
    for (const [begin, end] of spans) {
      change(units(begin), contribution);
      change(units(end), -contribution);
    }
  }
  const places = [...edges.keys()].sort((a, b) => a - b);
  const runs = [];
  let sum = 0;
  places.forEach((place, number) => {
    sum += edges.get(place);
    if (number + 1 < places.length) runs.push({ begin: place, end: places[number + 1], sum });
  });
  const most = Math.max(1e-9, ...runs.map((run) => Math.abs(run.sum)));
  return runs
    .filter((run) => Math.abs(run.sum) >= LEAST_SHOWN * most)
    .map(({ begin, end, sum: total }) => ({
      begin, end,
      kind: `${total > 0 ? "for" : "against"}${Math.max(1, Math.ceil((LEVELS * Math.abs(total)) / most))}`,
    }));
}

function drawMarks() {
  const text = page.text.value;
  const parts = [];
  let done = 0;
  for (const { begin, end, kind } of state.marks) {
    parts.push(text.slice(done, begin), element("mark", { class: kind }, text.slice(begin, end)));
    done = end;
  }
  // A last line without characters has no height, but the text field shows it.
  page.mirror.replaceChildren(...parts, text.slice(done), "\u200b");
}

// Until the next answer, keep the marks before and after what was typed.
function moveMarks() {
  const before = state.marked;
  const after = page.text.value;
  const shorter = Math.min(before.length, after.length);
  let head = 0;
  while (head < shorter && before[head] === after[head]) head += 1;
  let tail = 0;
  while (tail < shorter - head && before.at(-1 - tail) === after.at(-1 - tail)) tail += 1;
  const shift = after.length - before.length;
  state.marks = state.marks.flatMap((mark) => {
    if (mark.end <= head) return [mark];
    if (mark.begin >= before.length - tail) {
      return [{ ...mark, begin: mark.begin + shift, end: mark.end + shift }];
    }
    return [];
  });
  state.marked = after;
  drawMarks();
}

// ---------------------------------------------------------------- the answer

function showClasses(classes, explanation) {
  const scores = classes.map((entry) => entry.score);
  const low = Math.min(0, ...scores);
  const width = Math.max(1e-9, Math.max(...scores) - low);
  const focused = document.activeElement?.name === "against";
  const rows = classes.map((entry, rank) => {
    const name = showLabel(element("span", { class: "name" }), entry.label);
    const gauge = element("span", { class: "gauge" });
    setShare(gauge, (entry.score - low) / width);
    const number = element("span", { class: "score" }, score(entry.score));
    if (rank === 0) {
      return element("li", { class: "best" },
        element("div", {}, element("span", { class: "tick", "aria-hidden": "true" }),
          name, number, gauge));
    }
    const radio = element("input", { type: "radio", name: "against" });
    radio.checked = entry.label === explanation.against;
    radio.addEventListener("change", () => {
      state.against = entry.label;
      ask();
    });
    return element("li", {}, element("label", {}, radio, name, number, gauge));
  });
  if (rows.length > 2) {
    rows[1].prepend(element("p", { class: "caption" }, "Near misses — choose one to compare with"));
  }
  page.classes.replaceChildren(...rows);
  // The rows are new; who moves through them with the arrow keys stays where they were.
  if (focused) page.classes.querySelector("input:checked")?.focus();
}

function wordRow(feature, low, width) {
  const side = feature.contribution > 0 ? "for" : "against";
  const blade = element("div", { class: `blade ${side}` });
  setShare(blade, Math.abs(feature.contribution) / width);
  const picture = element("div", { class: "picture", "aria-hidden": "true" }, blade);
  setShare(picture, -low / width, "--zero");
  return element("tr", {},
    element("th", { scope: "row" }, feature.feature.replaceAll(" ", "\u00a0")),
    element("td", {}, picture),
    element("td", { class: "number" }, signed(feature.contribution)));
}

function sumRow(name, value, kind = null) {
  return element("tr", { class: kind }, element("th", { scope: "row", colspan: "2" }, name),
    element("td", { class: "number" }, signed(value)));
}

function showExplanation(explanation) {
  showLabel(page.winner, explanation.label);
  showLabel(page.rival, explanation.against);
  page["key-for"].textContent = readable(explanation.label).name;
  page["key-against"].textContent = readable(explanation.against).name;
  const least = LEAST_SHOWN * Math.abs(explanation.features[0]?.contribution || 0);
  const large = explanation.features.filter((feature) => Math.abs(feature.contribution) >= least);
  const listed = large.slice(0, WORDS_SHOWN).sort((a, b) => b.contribution - a.contribution);
  const hidden = explanation.features.filter((feature) => !listed.includes(feature));
  const low = Math.min(0, ...listed.map((feature) => feature.contribution));
  const high = Math.max(0, ...listed.map((feature) => feature.contribution));
  const width = Math.max(1e-9, high - low);
  page.words.replaceChildren(...listed.map((feature) => wordRow(feature, low, width)));
  const others = explanation.other_features;
  const count = hidden.length + others.count;
  const rest = hidden.reduce((sum, feature) => sum + feature.contribution, others.contribution);
  const sums = [];
  if (count) sums.push(sumRow(`${grouped(count)} other ${state.unit}${count > 1 ? "s" : ""}`, rest));
  if (explanation.intercept) sums.push(sumRow("intercept", explanation.intercept));
  sums.push(sumRow("difference of the scores", explanation.difference, "total"));
  page.sums.replaceChildren(...sums);
}

function showAnswer(text, result) {
  const { classes, explanation } = result;
  showClasses(classes, explanation);
  showExplanation(explanation);
  page["nothing-known"].hidden = result.known_features > 0;
  // Classes in the order of their intercepts, or of the alphabet, would look like an answer.
  for (const part of ["classes", "why", "key"]) page[part].hidden = result.known_features === 0;
  page.answer.hidden = false;
  page.answer.classList.remove("stale");
  page.invitation.hidden = true;
  const best = readable(classes[0].label).name;
  const news = result.known_features
    ? `${best}, ahead of ${readable(explanation.against).name} by ${score(explanation.difference)}`
    : page["nothing-known"].textContent;
  if (page.announcement.textContent !== news) page.announcement.textContent = news;
  if (page.text.value === text) {
    state.marks = marksOf(text, explanation.features);
    state.marked = text;
    drawMarks();
  }
}

function showNothing() {
  page.answer.hidden = true;
  page.key.hidden = true;
  page.invitation.hidden = false;
  page.announcement.textContent = "";
}

// ---------------------------------------------------------------- asking

class Refused extends Error {
  constructor(message, retryMs = 0) {
    super(message);
    this.retryMs = retryMs;
  }
}

async function fetched(path, options) {
  let response;
  try {
    response = await fetch(path, options);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refused("The server does not answer. Is it still running? Asking again …", RETRY_MS);
  }
  if (response.ok) return response.json();
  const answer = await response.json().catch(() => null);
  const message = answer?.error?.message || `the server answered with status ${response.status}`;
  const again = [429, 503].includes(response.status);
  throw new Refused(`The server refused: ${message}.`,
    again ? 1000 * (Number(response.headers.get("retry-after")) || 1) : 0);
}

// Longer than the server reads? Characters are counted only where units could exceed the limit.
function tooLong(text) {
  const most = state.limits.max_chars;
  const length = text.length > most ? [...text].length : 0;
  return length > most
    ? `The text has ${grouped(length)} characters; at most ${grouped(most)} are read. Shorten it.`
    : "";
}

function later(milliseconds) {
  clearTimeout(state.timer);
  state.timer = setTimeout(ask, milliseconds);
}

async function ask() {
  clearTimeout(state.timer);
  state.request?.abort();
  const text = page.text.value;
  if (!text.trim()) {
    complain("");
    showNothing();
    return;
  }
  const problem = tooLong(text);
  if (problem) {
    complain(problem);
    page.answer.classList.add("stale");
    return;
  }
  const request = new AbortController();
  state.request = request;
  try {
    const { results } = await fetched("predict", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ text, explain: true, against: state.against }),
      signal: request.signal,
    });
    complain("");
    showAnswer(text, results[0]);
  } catch (error) {
    if (error.name === "AbortError") return;
    page.answer.classList.add("stale");
    complain(error.message);
    if (error.retryMs) later(error.retryMs);
  }
}

// ---------------------------------------------------------------- the beginning

function fact(value, name) {
  return element("li", {}, element("strong", {}, value), name ? ` ${name}` : "");
}

function showModel(model) {
  document.title = `${model.name} · multimargin`;
  page.name.textContent = model.name;
  page.version.textContent = `multimargin ${model.version}`;
  state.limits = model.limits;
  state.unit = model.analyzer === "word" ? "word" : "feature";
  const units = model.analyzer === "word" ? "words" : "features";
  page.facts.replaceChildren(
    fact(grouped(model.classes), "classes"),
    fact(grouped(model.features), units),
    fact(model.formulation_title, model.C === null ? "" : `C = ${model.C}`),
    ...(model.gap === null ? [] : [fact(`${(100 * model.gap).toPrecision(2)} %`, "from the optimum")]));
  page.examples.hidden = model.examples.length === 0;
  page.examples.querySelector("ul").replaceChildren(...model.examples.map((text) => {
    const button = element("button", { type: "button" }, text);
    button.addEventListener("click", () => {
      page.text.value = text;
      state.against = null;
      typed();
      ask();
      page.text.focus();
    });
    return element("li", {}, button);
  }));
}

function typed() {
  moveMarks();
  const length = page.text.value.length;
  page.count.textContent = length ? `${grouped(length)} character${length > 1 ? "s" : ""}` : "";
}

async function meet() {
  try {
    showModel(await fetched("model"));
    complain("");
    if (page.text.value) ask(); // what the browser has kept over a reload
  } catch (error) {
    complain(error.message);
    setTimeout(meet, error.retryMs || RETRY_MS);
  }
}

page.text.addEventListener("input", () => {
  state.against = null;
  typed();
  later(DEBOUNCE_MS);
});
typed();
meet();
