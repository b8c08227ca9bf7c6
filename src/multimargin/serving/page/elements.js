// What several parts of the page use. Whatever comes from a person or from the model is set as text,
// never as HTML.

const PARTS_OF_SPEECH = { n: "noun", v: "verb", a: "adjective", r: "adverb" };
// A label may be broken after these, such as "comp.sys.mac" or "Home/Garden", before a word is.
const PARTS = /[^_./|:>\\-]*[_./|:>\\-]+|[^_./|:>\\-]+/g;

export const byId = (id) => document.getElementById(id);

export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null) made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
}

export const grouped = (number) => number.toLocaleString("en-US");
export const score = (number) => number.toFixed(3);
export const percent = (share) => `${(100 * share).toFixed(1)} %`;
export const signed = (number) => (number < 0 ? "−" : "+") + Math.abs(number).toFixed(3);
export const counted = (count, noun) => `${grouped(count)} ${noun}${count === 1 ? "" : "s"}`;

// The text in parts, between which a line may end.
export function breakable(text) {
  return (text.match(PARTS) || []).flatMap((part, n) => (n ? [element("wbr"), part] : [part]));
}

// The demo's labels are WordNet's, "stringed_instrument.n#n04338517": read them out.
export function readable(label) {
  const text = String(label);
  const found = /^(.+)\.([nvar])#[nvar]\d{8}$/.exec(text);
  return found
    ? { name: found[1].replaceAll("_", " "), note: PARTS_OF_SPEECH[found[2]] }
    : { name: text === "" ? "(empty)" : text, note: null };
}

export function showLabel(parent, label) {
  const { name, note } = readable(label);
  parent.replaceChildren(...breakable(name));
  parent.title = String(label);
  if (note) parent.append(element("span", { class: "note" }, note));
  return parent;
}

export function setShare(target, fraction, name = "--share") {
  target.style.setProperty(name, `${(100 * Math.min(1, Math.max(0, fraction))).toFixed(1)}%`);
}
