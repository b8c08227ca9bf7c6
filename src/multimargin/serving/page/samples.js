// What people give: a text, pasted numbers, or the fields of a form. Each way to give a sample has
//   read()     the sample's member of a question; or {problem}, what is wrong; or {missing}, what to
//              do first; or null for nothing at all
//   fill(x)    shows an example
//   noun       what the model calls a feature
import { byId, counted, element, grouped } from "./elements.js";

const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;
const segmenter = "Segmenter" in Intl ? new Intl.Segmenter() : null;

// Characters as people count them: an emoji of several code points is one, and so is a letter with
// its marks. The server's limit is in code points, which `tooLong` counts.
export function characters(text) {
  if (/^[\x00-\x7f]*$/.test(text)) return text.length;
  let count = 0;
  for (const _ of segmenter ? segmenter.segment(text) : text) count += 1;
  return count;
}

function tooLong(text, most) {
  // A code point has one unit or two: counted only where there could be too many.
  const length = text.length > most ? [...text].length : 0;
  return length > most
    ? `The text has ${grouped(length)} characters (Unicode code points); at most ${grouped(most)} ` +
      "are read. Shorten it."
    : "";
}

function asText(model, field) {
  return {
    noun: model.analyzer === "word" ? "word" : "feature",
    fill: (text) => { field.value = text; },
    count: () => (field.value ? counted(characters(field.value), "character") : ""),
    read() {
      const text = field.value;
      if (!text.trim()) return null;
      const problem = tooLong(text, model.limits.max_chars);
      return problem ? { problem } : { text };
    },
  };
}

// ---------------------------------------------------------------- numbers

const quoted = (token) => `“${token.length > 30 ? `${token.slice(0, 29)}…` : token}”`;

// "3:0.5 17:2", as in LIBSVM text: features that are not there are 0.
function readPairs(tokens) {
  const row = {};
  for (const [place, token] of tokens.entries()) {
    const [name, value, ...more] = token.split(":");
    if (!/^\d+$/.test(name) || !NUMBER.test(value ?? "") || more.length) {
      return { problem: `Entry ${place + 1}, ${quoted(token)}, is not a feature and a number, such as 3:0.5.` };
    }
    if (name in row) return { problem: `Entry ${place + 1}: feature ${name} is there twice.` };
    row[name] = Number(value);
  }
  return { row };
}

function readJson(text) {
  try {
    return { row: JSON.parse(text) };
  } catch (error) {
    return { problem: `This is not JSON: ${error.message}` };
  }
}

const tokensOf = (text) => text.trim().replace(/^\[+|\]+$/g, "").split(/[\s,;]+/).filter(Boolean);

// Numbers separated by commas, semicolons or blanks, in brackets or not; pairs; or a JSON object.
function readNumbers(text, features) {
  if (text.trimStart().startsWith("{")) return readJson(text);
  const tokens = tokensOf(text);
  if (tokens.some((token) => token.includes(":"))) return readPairs(tokens);
  const wrong = tokens.findIndex((token) => !NUMBER.test(token));
  if (wrong >= 0) {
    return { problem: `Number ${grouped(wrong + 1)} of ${grouped(tokens.length)}, ${quoted(tokens[wrong])}, is not a number.` };
  }
  if (tokens.length !== features) {
    return { problem: `There ${tokens.length === 1 ? "is" : "are"} ${counted(tokens.length, "number")}; the model takes ${grouped(features)}.` };
  }
  return { row: tokens.map(Number) };
}

function asNumbers(model, field) {
  byId("prompt").textContent = `Paste ${counted(model.features, "number")}`;
  byId("hint").textContent = "Separated by commas or blanks; or as JSON; or as feature:number pairs, " +
    "where the others are 0.";
  byId("hint").hidden = false;
  return {
    noun: "feature",
    fill: (row) => {
      field.value = Array.isArray(row)
        ? row.join(", ")
        : Object.entries(row).map(([name, value]) => `${name}:${value}`).join(" ");
    },
    count: () => (field.value.trim() ? counted(tokensOf(field.value).length, "number") : ""),
    read: () => (field.value.trim() ? readNumbers(field.value, model.features) : null),
  };
}

// ---------------------------------------------------------------- a form

const rounded = (number) => Number(number.toPrecision(4));

function fieldOf(column, number) {
  const id = `column-${number}`;
  if (column.kind === "text") return [element("textarea", { id, rows: "3", spellcheck: "false" })];
  const input = element("input", { id, type: "text", autocomplete: "off", spellcheck: "false" });
  if (column.kind === "number") {
    input.inputMode = "decimal";
    if (column.mean !== null) input.placeholder = `missing: ${rounded(column.mean)}`;
    return [input];
  }
  input.setAttribute("list", `${id}-values`);
  const values = column.values.map((value) => element("option", { value }));
  return [input, element("datalist", { id: `${id}-values` }, ...values)];
}

function asForm(model, form) {
  const fields = model.columns.map(fieldOf);
  form.replaceChildren(...model.columns.map((column, number) =>
    element("div", { class: "field", "data-kind": column.kind },
      element("label", { for: `column-${number}` }, column.name), ...fields[number])));
  const named = model.columns.map((column, number) => [column, fields[number][0]]);
  const filled = () => named.filter(([, field]) => field.value.trim());
  return {
    noun: "feature",
    fill: (row) => named.forEach(([{ name }, field]) => { field.value = row[name] ?? ""; }),
    count: () => "",
    read() {
      const given = filled();
      if (!given.length) return null;
      const empty = named.filter(([column, field]) => column.required && !field.value.trim());
      if (empty.length) return { missing: `Still empty: ${empty.map(([{ name }]) => name).join(", ")}.` };
      for (const [{ name, kind }, field] of given) {
        const problem = tooLong(field.value, model.limits.max_chars);
        if (problem) return { problem: `${name}: ${problem}` };
        const wrong = kind === "number" && !NUMBER.test(field.value.trim());
        field.setAttribute("aria-invalid", String(wrong));
        if (wrong) return { problem: `${name}: ${quoted(field.value)} is not a number.` };
      }
      return { row: Object.fromEntries(given.map(([{ name, kind }, field]) =>
        [name, kind === "number" ? Number(field.value) : field.value])) };
    },
  };
}

// The way in which samples of this model are given.
export function inputOf(model) {
  const form = model.columns.length > 0;
  byId("single").hidden = form;
  byId("columns").hidden = !form;
  if (form) return asForm(model, byId("columns"));
  const field = byId("text");
  return model.takes === "text" ? asText(model, field) : asNumbers(model, field);
}
