// The page: asks /predict while a person types, and shows the answer.
import { byId, element, grouped, readable } from "./elements.js";
import { moveMarks, setMarks } from "./marks.js";
import { showNothing, showResult } from "./answer.js";
import { inputOf } from "./samples.js";

const DEBOUNCE_MS = 120;
const RETRY_MS = 2000;

const state = {
  input: null, // how samples are given, once the model is known
  against: null, // the label to compare with; null is the runner-up
  timer: 0,
  request: null,
};

function complain(message) {
  const problem = byId("problem");
  problem.hidden = !message;
  if (problem.textContent !== (message || "")) problem.textContent = message || "";
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

function later(milliseconds) {
  clearTimeout(state.timer);
  state.timer = setTimeout(ask, milliseconds);
}

function compare(label) {
  state.against = label;
  ask();
}

async function ask() {
  clearTimeout(state.timer);
  state.request?.abort();
  const sample = state.input?.read();
  byId("missing").hidden = !sample?.missing;
  byId("missing").textContent = sample?.missing || "";
  if (!sample || sample.missing) {
    complain("");
    showNothing();
    return;
  }
  if (sample.problem) {
    complain(sample.problem);
    byId("answer").classList.add("stale");
    return;
  }
  const request = new AbortController();
  state.request = request;
  try {
    const { results } = await fetched("predict", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ ...sample, explain: true, against: state.against }),
      signal: request.signal,
    });
    complain("");
    showResult(results[0], state.input.noun, compare);
    const marked = sample.text !== undefined && byId("text").value === sample.text &&
      setMarks(sample.text, results[0].explanation.features);
    byId("key").hidden = !marked;
  } catch (error) {
    if (error.name === "AbortError") return;
    byId("answer").classList.add("stale");
    complain(error.message);
    if (error.retryMs) later(error.retryMs);
  }
}

// ---------------------------------------------------------------- the beginning

function fact(value, name) {
  return element("li", {}, element("strong", {}, value), name ? ` ${name}` : "");
}

function showExamples(examples) {
  byId("examples").hidden = examples.length === 0;
  byId("examples").querySelector("ul").replaceChildren(...examples.map(({ text, row, label }) => {
    const name = text ?? (label === undefined ? JSON.stringify(row) : readable(label).name);
    const button = element("button", { type: "button" }, name);
    button.addEventListener("click", () => {
      state.input.fill(text ?? row);
      typed();
      ask();
      if (!byId("single").hidden) byId("text").focus();
    });
    return element("li", {}, button);
  }));
}

function showModel(model) {
  document.title = `${model.name} · multimargin`;
  byId("name").textContent = model.name;
  byId("version").textContent = `multimargin ${model.version}`;
  const features = model.analyzer === "word" && model.takes === "text" ? "words" : "features";
  byId("facts").replaceChildren(
    fact(grouped(model.classes), "classes"),
    fact(grouped(model.features), features),
    fact(model.formulation_title, model.C === null ? "" : `C = ${model.C}`),
    ...(model.gap === null ? [] : [fact(`${(100 * model.gap).toPrecision(2)} %`, "from the optimum")]));
  state.input = inputOf(model);
  byId("invitation").textContent =
    `The best classes, and the ${state.input.noun}s that decided, appear as you type.`;
  showExamples(model.examples);
}

function typed() {
  state.against = null;
  if (!byId("single").hidden) moveMarks(byId("text").value);
  byId("count").textContent = state.input?.count() ?? "";
}

async function meet() {
  try {
    showModel(await fetched("model"));
    complain("");
    typed();
    ask(); // about what the browser has kept over a reload
  } catch (error) {
    complain(error.message);
    setTimeout(meet, error.retryMs || RETRY_MS);
  }
}

byId("ask").addEventListener("input", () => {
  typed();
  later(DEBOUNCE_MS);
});
byId("columns").addEventListener("submit", (event) => event.preventDefault());
typed();
meet();
