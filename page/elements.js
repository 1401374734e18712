// SPDX-License-Identifier: Apache-2.0
// Small pieces that every part of the page is made of.

const byId = id => document.getElementById(id);

/** An element; attributes that are functions are listeners, null and false leave one out. */
function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name, value);
    else if (value !== null && value !== false) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat().filter(child => child !== null && child !== undefined));
  return element;
}

const prefixes = [[1e15, "P"], [1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"], [1, ""]];
function digits(value) {
  if (!(Math.abs(value) > 0)) return "0";
  const size = Math.abs(value);
  return size >= 1e6 || size < 1e-3 ? value.toExponential(2) : String(Number(value.toPrecision(4)));
}
function si(value, unit) {
  if (!Number.isFinite(value)) return "not known";
  const [factor, prefix] = prefixes.find(([least]) => Math.abs(value) >= least) ?? [1, ""];
  return `${digits(value / factor)} ${prefix}${unit}`;
}
function seconds(value) {
  if (!Number.isFinite(value)) return "not known";
  const [factor, unit] = value >= 1 ? [1, "s"] : value >= 1e-3 ? [1e-3, "ms"] : value >= 1e-6 ? [1e-6, "µs"] : [1e-9, "ns"];
  return `${digits(value / factor)} ${unit}`;
}
/** The same for ticks of an axis, in Vega's own language: "100 µs", "10 ms". */
const secondsTick = "datum.value >= 0.9999 ? format(datum.value, '~r') + ' s' : datum.value >= 0.9999e-3 ? format(datum.value * 1e3, '.6~r') + ' ms' " +
  ": datum.value >= 0.9999e-6 ? format(datum.value * 1e6, '.6~r') + ' µs' : format(datum.value * 1e9, '.6~r') + ' ns'";
const secondsLabels = {labels: {update: {text: {signal: secondsTick}}}};
/**
 * Places of ticks of a logarithmic axis: 1, 2 and 5 of each power of ten where they have room in its pixels, else powers
 * alone, and more of an axis that has hardly any of these.
 */
function logPlaces(low, high, width) {
  const most = width / 64;
  const first = Math.ceil(Math.log10(low)), last = Math.floor(Math.log10(high));
  const every = Math.max(1, Math.ceil((last - first + 1) / Math.max(2, most)));
  const placesOf = (steps, every) => {
    const places = [];
    for (let exponent = first - 1; exponent <= last; exponent++) {
      if (every === 1 || exponent % every === 0) places.push(...steps.map(step => Number(`${step}e${exponent}`)).filter(at => at >= low && at <= high));
    }
    return places;
  };
  const fine = placesOf([1, 2, 5], 1);
  if (fine.length < 3) return placesOf([1, 1.5, 2, 3, 4, 5, 7], 1);
  return fine.length <= Math.max(3, most) ? fine : placesOf([1], every);
}
/** Plain numbers below 1, which prefixes of units would make "100m". */
const countLabels = {labels: {update: {text: {signal: "format(datum.value, datum.value < 1 ? '~r' : '~s')"}}}};
/** Places of ticks and grid lines of ratios, as many as can be read beside each other; as in src/plot/chart.cpp. */
function ratioPlaces(low, high) {
  const most = 10;
  let places = [];
  const round = value => Number(value.toPrecision(6));
  if (high / low < 1.8) {
    const step = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2].find(step => (high - low) / step <= 7) ?? 0.2;
    for (let i = Math.ceil(low / step); i * step <= high; i++) places.push(round(i * step));
    return places;
  }
  for (const steps of [[1, 1.1, 1.25, 1.5, 1.75, 2, 2.5, 3, 4, 5, 6, 7, 8, 9], [1, 1.25, 1.5, 2, 3, 5, 8], [1, 2, 5], [1]]) {
    places = [];
    for (let exponent = Math.floor(Math.log10(low)); 10 ** exponent <= high; exponent++) {
      places.push(...steps.map(step => round(step * 10 ** exponent)).filter(at => at >= low && at <= high));
    }
    if (places.length <= most) break;
  }
  return places;
}
/** Neither toFixed's hundred digits of a huge number nor its 0.000 of a tiny one. */
const fixed = (value, places) => !Number.isFinite(value) ? "not known"
  : value === 0 || (Math.abs(value) >= 10 ** -places && Math.abs(value) < 1e6) ? value.toFixed(places) : digits(value);
const percent = part => Number.isFinite(100 * part) ? `${Math.abs(part) < 1e-3 ? (100 * part).toFixed(1) : fixed(100 * part, 1)} %` : "not known";
/** What rounds to nothing, or is not known, has no sign. */
function signedPercent(part) {
  const size = percent(Math.abs(part));
  return /[1-9]/.test(size) ? (part < 0 ? "−" : "+") + size : size;
}
/** Whether a chart can show a value: what lies beyond no device reaches, and a scale over it would show nothing else. */
const drawable = value => value > 1e-30 && value < 1e30;
/** A rate or a time by the name of its resource. */
function quantity(value, resource) {
  if (/^(floor|latency)/.test(resource)) return seconds(value);
  return si(value, resource.startsWith("byte") ? "B/s" : resource.startsWith("flop") ? "FLOP/s" : "op/s");
}
const plural = (count, noun) => `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;

/** A number that opens the row it stands in; plain text where no row is on the page. */
function rowLink(text, place) {
  if (!place) return make("span", {}, text);
  const file = page.data.files[place[0]];
  return make("button", {class: "row-link", type: "button", "data-row": place.join(","),
                         title: `${file.path}, line ${place[1]}`}, text);
}

/** A labelled choice. `choices`: [[value, text]], and of a group [its title, its own choices]. */
function choice(id, label, choices, changed, chosen) {
  const options = of => of.map(([value, text]) => Array.isArray(text) ? make("optgroup", {label: value}, options(text))
    : make("option", {value, selected: value === chosen}, text));
  const select = make("select", {id, change: () => changed(select.value)}, options(choices));
  return make("label", {for: id}, label, select);
}

const unique = values => [...new Set(values)].sort();

/** Lines of Markdown as far as lessons use it: paragraphs, lists, code, emphasis, tables as text. */
function markdown(text) {
  const inline = line => line.split(/(`[^`]+`|\*[^*\s][^*]*\*)/).map(part =>
    part.startsWith("`") && part.length > 2 ? make("code", {}, part.slice(1, -1))
    : part.startsWith("*") && part.length > 2 ? make("em", {}, part.slice(1, -1)) : part);
  return text.trim().split(/\n\s*\n/).filter(Boolean).map(block => {
    const lines = block.split("\n");
    if (lines.every(line => line.startsWith("|"))) return make("pre", {}, block);
    if (lines[0].startsWith("- ")) {
      const items = block.split(/\n?- /).filter(Boolean);
      return make("ul", {}, items.map(item => make("li", {}, inline(item))));
    }
    return make("p", {}, inline(block.replace(/\n/g, " ")));
  });
}
