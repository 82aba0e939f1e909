"use strict";
// Everything shown comes from the page's own data and is set as text, never as markup.
const data = JSON.parse(document.getElementById("data").textContent);
const table = document.getElementById("queries");
const body = table.tBodies[0];
const rows = [...body.rows];
const find = document.getElementById("find");
const tag = document.getElementById("tag");
const only = document.getElementById("only");
const measure = document.getElementById("measure");
const detail = document.getElementById("detail");
const byId = new Map(data.queries.map((query) => [query.id, query]));
let chosen = null;

function make(name, text, className) {
  const element = document.createElement(name);
  if (text !== undefined) element.textContent = text;
  if (className) element.className = className;
  return element;
}

function valueOf(row, system) {
  return byId.get(row.dataset.id).values[measure.value][system];
}

function percent(value) {
  return value === null ? "–" : (100 * value).toFixed(1);
}

function fill() {
  for (const row of rows) {
    data.systems.forEach((_, number) => { row.cells[number + 2].textContent = percent(valueOf(row, number)); });
  }
}

function filter() {
  const words = find.value.toLowerCase().split(/\s+/).filter(Boolean);
  let shown = 0;
  for (const row of rows) {
    const query = byId.get(row.dataset.id);
    const text = (query.id + " " + query.text).toLowerCase();
    const values = data.systems.map((_, number) => valueOf(row, number));
    const known = values.filter((value) => value !== null);
    const differs = known.length > 1 && Math.max(...known) - Math.min(...known) > 1e-9;
    row.hidden = !words.every((word) => text.includes(word))
      || (tag.value !== "" && !query.tags.includes(tag.value))
      || (only.value === "differ" && !differs)
      || (only.value === "missed" && !known.includes(0));
    if (!row.hidden) shown += 1;
  }
  document.getElementById("count").textContent = shown + " of " + rows.length + " queries";
}

function sortBy(header, column) {
  const down = header.getAttribute("aria-sort") === "ascending";
  for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
  header.setAttribute("aria-sort", down ? "descending" : "ascending");
  const key = (row) => column < 2 ? row.cells[column].textContent : valueOf(row, column - 2);
  const order = (a, b) => {
    if (a === null || b === null) return (a === null) - (b === null);
    const plain = typeof a === "number" ? a - b : a.localeCompare(b, undefined, { numeric: true });
    return down ? -plain : plain;
  };
  rows.sort((a, b) => order(key(a), key(b)));
  body.append(...rows);
}

function facts(answer) {
  const box = make("div", undefined, "card");
  box.append(make("h3", answer.label + ": candidate facts (● kept)"));
  const list = make("ul");
  for (const fact of answer.candidates) {
    const item = make("li", (fact.kept ? "● " : "○ ") + fact.similarity.toFixed(2) + " " + fact.text, fact.kept ? "" : "dropped");
    item.title = fact.sentence;
    item.append(make("span", " [" + fact.papers.join(", ") + "]", "soft"));
    list.append(item);
  }
  for (const text of answer.unmatched) list.append(make("li", "? no candidate: " + text));
  box.append(list, make("h3", "Seeds"));
  const seeds = make("ul");
  for (const seed of answer.seeds) {
    const item = make("li", seed.weight.toFixed(3) + " " + seed.entity);
    item.append(make("span", " (" + seed.because + ")", "soft"));
    seeds.append(item);
  }
  if (!answer.seeds.length) seeds.append(make("li", "none"));
  box.append(seeds);
  return box;
}

function ranking(answer, gold) {
  const box = make("div", undefined, "card");
  const head = make("h3", answer.label);
  if (answer.route !== answer.mode) head.append(make("span", " answered by " + answer.route, "soft"));
  box.append(head);
  if (answer.reason) box.append(make("p", answer.reason, "soft"));
  if (answer.written) {
    box.append(make("p", "Answer: " + (answer.written.text || "none (" + answer.written.kind + ")"), "answer"));
    if (answer.written.reason) box.append(make("p", answer.written.reason, "soft"));
  }
  const list = make("ol");
  for (const [id, score, way] of answer.hits) {
    const item = make("li", (data.titles[id] || id) + " ", id in gold ? "gold" : "");
    item.append(make("span", id + " · " + score.toPrecision(3) + (id in gold ? " · relevant (" + gold[id] + ")" : ""), "soft"));
    if (way) item.append(make("div", way, "soft"));
    list.append(item);
  }
  box.append(answer.hits.length ? list : make("p", "no result"));
  return box;
}

function open(row) {
  if (chosen) chosen.classList.remove("open");
  chosen = row;
  row.classList.add("open");
  const query = byId.get(row.dataset.id);
  detail.replaceChildren(make("h3", query.id + ": " + query.text));
  const relevant = Object.keys(query.gold).map((id) => (data.titles[id] || id) + " (" + id + ")");
  detail.append(make("p", relevant.length ? "Relevant: " + relevant.join("; ") : "No paper is relevant.", "soft"));
  const wanted = query.answers_wanted.map((text) => text || "that no paper says");
  if (wanted.length) detail.append(make("p", "Right answers: " + wanted.join("; "), "soft"));
  const lists = make("div", undefined, "lists");
  for (const answer of query.answers) if (answer.candidates.length) lists.append(facts(answer));
  for (const answer of query.answers) lists.append(ranking(answer, query.gold));
  detail.append(lists);
  detail.scrollIntoView({ block: "nearest" });
}

[...table.tHead.rows[0].cells].forEach((header, column) => {
  header.querySelector("button").addEventListener("click", () => sortBy(header, column));
});
for (const row of rows) {
  row.addEventListener("click", () => open(row));
  row.addEventListener("keydown", (event) => { if (event.key === "Enter") open(row); });
}
for (const control of [find, tag, only]) control.addEventListener("input", filter);
measure.addEventListener("input", () => { fill(); filter(); });
fill();
filter();
if (location.hash) {
  const wanted = rows.find((row) => row.dataset.id === decodeURIComponent(location.hash.slice(1)));
  if (wanted) open(wanted);
}
