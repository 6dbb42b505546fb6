// Filters the rows of the page, and hands the same numbers to the chart, the table and the downloads of each figure.
(function () {
"use strict";

const page = JSON.parse(document.getElementById("page-data").textContent);
const FILTERS = ["design", "program", "machine"];
const INK = "#1b1f24";
const LEGEND_PIXELS = 170;
// Letters that a file of XML cannot contain.
const NOT_IN_XML = /[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]/g;

// Rows of a table from its columns: text is stored once, and rows have its index.
function decoded(table) {
  const rows = Array.from({length: table.length}, () => ({}));
  for (const [name, stored] of Object.entries(table.columns)) {
    const {names, values} = Array.isArray(stored) ? {values: stored} : stored;
    values.forEach((value, index) => { rows[index][name] = names && value !== null ? names[value] : value; });
  }
  return rows;
}

const tables = Object.fromEntries(Object.entries(page.tables).map(([name, table]) => [name, decoded(table)]));

function chosen() {
  return Object.fromEntries(FILTERS.map((name) => {
    const boxes = [...document.querySelectorAll(`input[name=${name}]`)];
    return [name, boxes.length ? new Set(boxes.filter((box) => box.checked).map((box) => page.filters[name][box.value])) : null];
  }));
}

function visible(figure, wanted) {
  const fixed = Object.entries(figure.where);
  return tables[figure.table].filter((row) =>
    fixed.every(([name, value]) => row[name] === value) &&
    FILTERS.every((name) => row[name] == null || wanted[name] === null || wanted[name].has(row[name])));
}

function mean(values) {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

// Half of the 95 % interval of the mean of some values, one for each seed; null for a single value.
function half(values) {
  if (values.length < 2) return null;
  const centre = mean(values);
  const spread = Math.sqrt(values.reduce((sum, value) => sum + (value - centre) ** 2, 0) / (values.length - 1));
  return page.student[Math.min(values.length, page.student.length - 1)] * spread / Math.sqrt(values.length);
}

function grouped(items, key) {
  const groups = new Map();
  for (const item of items) {
    const name = key(item);
    if (groups.has(name)) groups.get(name).push(item); else groups.set(name, [item]);
  }
  return groups;
}

// The number of runs of some rows: one each, or as many as a row states that is a mean over seeds.
function runs(rows) {
  return rows.reduce((sum, row) => sum + (row.runs ?? 1), 0);
}

// Groups of rows that have a measure, reduced to the programs, swept values and seeds that all compared groups have.
function comparable(rows, figure, by, compare, measure) {
  const within = page.within.filter((name) => !by.includes(name));
  const usable = rows.filter((row) => row[measure.name] != null && by.every((name) => row[name] != null));
  const cell = (row) => JSON.stringify(within.map((name) => row[name]));
  const groups = grouped(usable, (row) => JSON.stringify(by.map((name) => row[name])));
  const sets = grouped([...groups.values()], ([row]) =>
    JSON.stringify(by.filter((name) => !compare.includes(name)).map((name) => row[name])));
  const found = [];
  for (const members of sets.values()) {
    const cells = members.map((member) => new Set(member.map(cell)));
    const common = new Set([...cells[0]].filter((key) => cells.every((keys) => keys.has(key))));
    for (const member of members) {
      const kept = member.filter((row) => common.has(cell(row)));
      if (kept.length) found.push({row: kept[0], kept, cells: grouped(kept, cell), left: runs(member) - runs(kept)});
    }
  }
  return found;
}

// The mean of a group: first over the programs and swept values of each seed, then over the seeds.
function measured(group, measure) {
  const cells = [...group.cells.values()].map((rows) => ({seed: rows[0].seed, value: mean(rows.map((r) => r[measure.name]))}));
  const seeds = [...grouped(cells, (one) => one.seed).values()].map((ones) => mean(ones.map((one) => one.value)));
  const halves = group.kept.map((row) => row[measure.half]);
  const sampled = halves.length && halves.every((value) => value != null);
  const own = sampled ? Math.sqrt(halves.reduce((sum, value) => sum + value ** 2, 0)) / halves.length : null;
  const count = Math.max(seeds.length, ...group.kept.map((row) => row.seeds ?? 1));
  return {value: mean(seeds), half: half(seeds) ?? own, seeds: count, runs: runs(group.kept), left: group.left};
}

// Rows of a figure: one for each group, with the mean and half of the interval of each measure.
function means(rows, figure, by, compare) {
  const found = new Map();
  for (const measure of figure.measures) {
    for (const group of comparable(rows, figure, by, compare, measure)) {
      const key = JSON.stringify(by.map((name) => group.row[name]));
      const row = found.get(key) ?? Object.fromEntries(by.map((name) => [name, group.row[name]]));
      const {value, half: width, seeds, runs: used, left} = measured(group, measure);
      Object.assign(row, {
        [measure.name]: value, [`${measure.name}_half`]: measure.varies ? width : null, seeds: Math.max(row.seeds ?? 0, seeds),
        runs: Math.max(row.runs ?? 0, used), left: Math.max(row.left ?? 0, left),
      });
      found.set(key, row);
    }
  }
  return ordered([...found.values()], by);
}

function ordered(rows, by) {
  const position = (name, value) => page.order[name]?.indexOf(value) ?? 0;
  return rows.sort((a, b) => by.reduce((way, name) => way || position(name, a[name]) - position(name, b[name]), 0));
}

// Marks the designs that no other design beats in both measures: the first is a cost, the second a benefit.
function marked(rows, [cost, gain]) {
  const better = (a, b) => a[cost.name] <= b[cost.name] && a[gain.name] >= b[gain.name] &&
    (a[cost.name] < b[cost.name] || a[gain.name] > b[gain.name]);
  const whole = rows.filter((row) => row[cost.name] != null && row[gain.name] != null);
  return whole.map((row) => ({...row, front: !whole.some((other) => better(other, row))}));
}

function numbers(figure, wanted) {
  const rows = visible(figure, wanted);
  if (figure.layout === "cells") return rows;
  let found = means(rows, figure, figure.by, figure.compare);
  if (figure.overall && new Set(found.map((row) => row.program)).size > 1) {
    const over = figure.by.filter((name) => name !== "program");
    found = found.concat(means(rows, figure, over, over).map((row) => ({...row, program: page.all_programs})));
  }
  return figure.layout === "points" ? marked(found, figure.measures) : found;
}

// Rows in the form that the chart of the figure draws.
function drawn(figure, rows) {
  const [first] = figure.measures;
  if (figure.layout === "dots") {
    return rows.map((row) => {
      const [value, width] = [row[first.name], row[`${first.name}_half`]];
      return {...row, lane: page.order.label.indexOf(row.label), value, low: width === null ? null : value - width, high: width === null ? null : value + width};
    });
  }
  if (!["stack", "series"].includes(figure.layout)) return rows;
  return rows.flatMap((row) => figure.measures.filter((each) => row[each.name] != null).map((each, order) => (
    {...row, part: each.label, order, value: row[each.name]})));
}

// Columns of the table and of the CSV file: name, heading, and the digits of numbers.
function columns(figure, rows) {
  if (figure.layout === "cells") return figure.columns;
  const listed = figure.by.map((name) => ({name, label: page.headings[name] ?? name}));
  for (const {name, label, digits} of figure.measures) {
    const half = rows.some((row) => row[`${name}_half`] != null) ? `${name}_half` : undefined;
    listed.push({name, label, digits, half});
  }
  if (figure.layout === "points") listed.push({name: "front", label: "not beaten"});
  return listed.concat([{name: "seeds", label: "seeds", digits: 0}, {name: "runs", label: "runs", digits: 0}]);
}

// Columns of the CSV file, which has the half of an interval in a column of its own.
function separate(listed) {
  return listed.flatMap((column) => column.half ? [column, {name: column.half}] : [column]);
}

function shown(value, digits) {
  if (value == null) return "";
  if (typeof value === "boolean") return value ? "yes" : "no";
  return typeof value === "number" && digits != null ? value.toFixed(digits) : String(value);
}

function element(tag, text, attributes = {}) {
  const made = document.createElement(tag);
  made.textContent = text;
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  return made;
}

function fill(table, listed, rows) {
  const head = document.createElement("tr");
  head.append(...listed.map(({label, digits}) =>
    element("th", label, {scope: "col", class: digits == null ? "" : "number"})));
  const body = rows.map((row) => {
    const line = document.createElement("tr");
    line.append(...listed.map(({name, digits, half}) => {
      const interval = half && row[half] != null ? ` ± ${shown(row[half], digits)}` : "";
      return element("td", shown(row[name], digits) + interval, {class: digits == null ? "" : "number"});
    }));
    return line;
  });
  table.tHead.replaceChildren(head);
  table.tBodies[0].replaceChildren(...body);
}

function csv(listed, rows) {
  const quoted = (value) => /[",\r\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value;
  const line = (cells) => cells.map((cell) => quoted(shown(cell))).join(",");
  return [listed.map(({name}) => page.headings[name] ?? name), ...rows.map((row) => listed.map(({name}) => row[name]))].map(line).join("\n") + "\n";
}

function save(name, text, type) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], {type}));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

// The number of rows of each kind, for tables that show rows as they are.
function counted(figure, rows) {
  if (!figure.count) {
    return rows.filter((row) => row.paper != null).map((row) =>
      `${row.series}: ours ${shown(row.value, 3)}, the paper's ${shown(row.paper, 3)}.`).join(" ") || `${rows.length} numbers.`;
  }
  const kinds = [...grouped(rows, (row) => row[figure.count])].map(([name, members]) => `${name}: ${members.length}`);
  const against = rows.filter((row) => row.agrees === false).length;
  return `${kinds.join(", ")}${against ? `; ends that contradict the claim: ${against}` : ""}.`;
}

// A sentence with the range of a figure: the text for readers who do not see the chart.
function said(figure, rows) {
  if (!rows.length) {
    return visible(figure, chosen()).length ? "No program, value and seed is common to all designs: nothing can be compared."
      : "No rows with the chosen designs, programs and machines.";
  }
  if (!figure.measures.length) return counted(figure, rows);
  const total = (row) => figure.layout === "stack"
    ? figure.measures.reduce((sum, each) => sum + (row[each.name] ?? 0), 0) : row[figure.measures[figure.about].name];
  const named = (row) => figure.by.map((name) => row[name]).join(", ");
  const {label, digits} = figure.measures[figure.about];
  const sorted = rows.filter((row) => total(row) != null).sort((a, b) => total(a) - total(b));
  if (!sorted.length) return "No numbers with the chosen designs, programs and machines.";
  const [least, most] = [sorted[0], sorted[sorted.length - 1]];
  const what = figure.layout === "stack" ? "sum" : label;
  const left = Math.max(...rows.map((row) => row.left));
  const unused = left ? ` Up to ${left} runs of a row are not used: another row lacks their program, value or seed.` : "";
  return `Lowest ${what}: ${named(least)}, ${shown(total(least), digits)}. ` +
    `Highest: ${named(most)}, ${shown(total(most), digits)}.${unused}`;
}

// States the machines, seeds and programs of the runs that a figure shows.
function conditions(figure, wanted) {
  const rows = visible(figure, wanted);
  const machines = [...new Set(rows.map((row) => row.machine))].filter((name) => name in page.machines);
  const seeds = [...new Set(rows.map((row) => row.seed).filter((seed) => seed != null))].sort((a, b) => a - b);
  const shownSeeds = seeds.length > 6 ? `${seeds.length} seeds from ${seeds[0]}` : `seed${seeds.length > 1 ? "s" : ""} ${seeds.join(", ")}`;
  const parts = [...machines.map((name) => page.machines[name]), ...(seeds.length ? [shownSeeds] : []), ...figure.conditions];
  return parts.length ? `Conditions: ${parts.join("; ")}.` : "";
}

async function update(state, wanted) {
  const {figure, section} = state;
  state.rows = numbers(figure, wanted);
  state.listed = columns(figure, state.rows);
  fill(section.querySelector("table"), state.listed, state.rows);
  section.querySelector(".said").textContent = said(figure, state.rows);
  section.querySelector(".conditions").textContent = conditions(figure, wanted);
  const place = section.querySelector(".chart");
  if (!place) return;
  place.setAttribute("aria-label", `${figure.title}. ${said(figure, state.rows)} The table below has all numbers.`);
  place.hidden = !state.rows.length;
  section.querySelector("[data-save=svg]").disabled = place.hidden;
  if (!state.rows.length) return;
  const values = drawn(figure, state.rows);
  if (state.view) {
    await state.view.data("rows", values).runAsync();
  } else {
    const spec = {...figure.chart, data: figure.chart.data.map((each) => each.name === "rows" ? {...each, values} : each)};
    spec.config.legend.columns = Math.max(1, Math.floor(place.clientWidth / LEGEND_PIXELS));
    const {view} = await window.vegaEmbed(place.firstChild, spec, {mode: "vega", actions: false, renderer: "svg", defaultStyle: false, logLevel: 1});
    state.view = view;
  }
}

const states = page.figures.map((figure) => ({figure, section: document.getElementById(figure.name)}));

async function refresh() {
  const wanted = chosen();
  const ready = states.map((state) => update(state, wanted));
  await Promise.all(ready);
  document.documentElement.dataset.ready = String(Number(document.documentElement.dataset.ready ?? 0) + 1);
}

for (const state of states) {
  const {figure, section} = state;
  section.querySelector("[data-save=csv]").addEventListener("click", () =>
    save(`${figure.name}.csv`, csv(separate(state.listed), state.rows), "text/csv"));
  section.querySelector("[data-save=svg]")?.addEventListener("click", async () => {
    const text = (await state.view.toSVG()).replaceAll('"currentColor"', `"${INK}"`);
    save(`${figure.name}.svg`, text.replace(NOT_IN_XML, "\ufffd"), "image/svg+xml");
  });
}
const form = document.getElementById("filters");
form?.addEventListener("change", refresh);
form?.addEventListener("reset", () => setTimeout(refresh, 0));
window.casemate = {states, refresh};
refresh();
})();
