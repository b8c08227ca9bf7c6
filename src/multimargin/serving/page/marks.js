// Marks in the text: which parts of it speak for the best class, and which against it.
import { byId, element } from "./elements.js";

const LEAST_SHOWN = 0.03; // of the largest contribution
const LEVELS = 4;

let marks = []; // {begin, end, kind}, in UTF-16 units of `marked`
let marked = "";

// Places in code points, as the server counts, to places in UTF-16 units, as JavaScript does.
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

function draw(text) {
  const parts = [];
  let done = 0;
  for (const { begin, end, kind } of marks) {
    parts.push(text.slice(done, begin), element("mark", { class: kind }, text.slice(begin, end)));
    done = end;
  }
  // A last line without characters has no height, but the text field shows it.
  byId("mirror").replaceChildren(...parts, text.slice(done), "\u200b");
}

// Marks the features of an explanation; returns whether there are any marks.
export function setMarks(text, features) {
  marks = marksOf(text, features);
  marked = text;
  draw(text);
  return marks.length > 0;
}

// Until the next answer, keep the marks before and after what was typed.
export function moveMarks(after) {
  const before = marked;
  const shorter = Math.min(before.length, after.length);
  let head = 0;
  while (head < shorter && before[head] === after[head]) head += 1;
  let tail = 0;
  while (tail < shorter - head && before.at(-1 - tail) === after.at(-1 - tail)) tail += 1;
  const shift = after.length - before.length;
  marks = marks.flatMap((mark) => {
    if (mark.end <= head) return [mark];
    if (mark.begin >= before.length - tail) {
      return [{ ...mark, begin: mark.begin + shift, end: mark.end + shift }];
    }
    return [];
  });
  marked = after;
  draw(after);
}
