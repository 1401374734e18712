// SPDX-License-Identifier: Apache-2.0
// What all charts share: Vega's view in the page's colours, tips under mouse and keyboard, legends.

/**
 * Okabe-Ito on dark; on light, where two of them would stand out too little, as in
 * src/plot/gnuplot_script.cpp. Black is the ink of the page.
 */
const palettes = {
  dark: ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"],
  light: ["#0072b2", "#d55e00", "#009e73", "#c46f9d", "#6b4400", "#7733dd"],
};
const palette = () => palettes[document.documentElement.dataset.theme];
/** In the order of src/plot/chart.cpp, whose pentagon is a cross here. */
const shapes = ["circle", "square", "triangle-up", "triangle-down", "diamond", "cross"];
/** Colour and mark repeat as late as they can; as peer_colour() and peer_mark() of src/plot/peer_looks.cpp. */
function lookOf(i) {
  const colours = palette();
  return {colour: colours[i % colours.length], shape: shapes[(i + Math.floor(i / colours.length)) % shapes.length]};
}

const ink = () => getComputedStyle(document.documentElement).getPropertyValue("--ink").trim();
const css = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

const paths = {
  "circle": "M4,0A4,4 0 1,1 -4,0A4,4 0 1,1 4,0Z", "square": "M-3.5,-3.5H3.5V3.5H-3.5Z",
  "triangle-up": "M0,-4.2L4,3.4H-4Z", "triangle-down": "M0,4.2L4,-3.4H-4Z", "diamond": "M0,-4.6L3.6,0L0,4.6L-3.6,0Z",
  "cross": "M-1.5,-4H1.5V-1.5H4V1.5H1.5V4H-1.5V1.5H-4V-1.5H-1.5Z",
};
function glyph({colour, shape, opacity = 1}, filled = true) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", "-5 -5 10 10");
  svg.setAttribute("aria-hidden", "true");
  const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  path.setAttribute("d", paths[shape]);
  path.setAttribute("fill", filled ? colour : "none");
  path.setAttribute("stroke", colour);
  path.setAttribute("opacity", opacity);
  path.setAttribute("stroke-width", "1.2");
  svg.append(path);
  return svg;
}
/**
 * Entries: [[text, look, filled, press]]. Stands below or above its chart, where it covers nothing; `press` makes one a
 * button. One without a look is a name alone, of what its chart has no such mark of.
 */
function legend(id, entries) {
  byId(id).replaceChildren(...entries.map(([text, look, filled, press]) => {
    const said = look ? [glyph(look, filled), text] : [text];
    return press ? make("button", {type: "button", title: `${text} alone, or all again`, click: press}, ...said) : make("span", {}, ...said);
  }));
}

function themed(spec) {
  const colour = ink();
  return {
    $schema: "https://vega.github.io/schema/vega/v5.json", autosize: {type: "fit-x", contains: "padding"}, padding: 4,
    ...spec,
    config: {
      axis: {labelColor: colour, titleColor: colour, domainColor: css("--faint"), tickColor: css("--faint"),
             gridColor: css("--line"), gridOpacity: 0.7, labelFontSize: 11, titleFontSize: 12, titleFontWeight: "normal"},
      text: {fill: colour},
    },
  };
}

/**
 * Draws `spec` into the element `id`. `points`: the cases it shows, in the order in which arrow keys
 * visit them; marks carry their number as `i`. `tell(point)` gives [[name, text]]; `open(point)` is
 * what Enter and a click do.
 */
function drawChart(id, spec, points, tell, open) {
  eraseChart(id);
  byId(id).style.minHeight = `${spec.height}px`;  // so that what stands below does not move once it is drawn
  const chart = page.charts[id] = {id, points, tell, open, at: -1, spec, view: null};
  whenNear(byId(id), () => page.charts[id] === chart && drawNow(chart));
}

function eraseChart(id) {
  page.charts[id]?.view?.finalize();
  delete page.charts[id];
  byId(id).replaceChildren();
  byId(id).style.minHeight = "";
}

/** Calls `then` once the element is on the screen, or nearly: what is below need not wait for it. */
function whenNear(element, then) {
  const watch = new IntersectionObserver(entries => {
    if (entries.some(entry => entry.isIntersecting)) {
      watch.disconnect();
      then();
    }
  }, {rootMargin: "300px"});
  watch.observe(element);
}

async function drawNow(chart) {
  const {id, spec, points, tell, open} = chart;
  const element = byId(id);
  // Vega describes the element that it gets in words of its own, which say less than ours.
  const inner = make("div", {"aria-hidden": "true"});
  element.replaceChildren(inner);
  // Canvas draws thousands of marks in the time of hundreds in SVG.
  const renderer = points.length > 1500 ? "canvas" : "svg";
  const view = new page.vega.View(page.vega.parse(themed(spec)), {renderer, container: inner, hover: false});
  // By place, not by mark: of marks that lie on each other the last one would hide the others.
  const here = event => {
    const box = element.getBoundingClientRect();
    return near(chart, event.clientX - box.left, event.clientY - box.top);
  };
  view.addEventListener("mousemove", event => {
    const points = here(event);
    if (points.length > 0) showTip(tellSeveral(tell, points), event.clientX, event.clientY);
    else hideTip();
  });
  view.addEventListener("mouseout", hideTip);
  view.addEventListener("click", event => {
    const points = here(event);
    if (points.length === 1) open?.(points[0]);
    else if (points.length > 1) chooseOne(tell, open, points);
  });
  await view.runAsync();
  if (page.charts[id] !== chart) {  // it was drawn anew meanwhile
    view.finalize();
    return;
  }
  chart.places = points.flatMap(point => [{}, ...(point.also ?? [])].map(other => [point, ...placeOf({view}, {...point, ...other})]));
  chart.view = view;
  element.dataset.drawn = String(Number(element.dataset.drawn ?? 0) + 1);
  element.onkeydown = event => stepThrough(chart, element, event);
  element.onblur = () => {
    hideTip();
    element.querySelector(".ring")?.remove();
  };
}

/** The number of the point that a key leads to; undefined if the key leads to none. */
function stepOf(key, at, count) {
  const leap = Math.max(2, Math.round(count / 20));
  const inside = to => Math.min(count - 1, Math.max(0, to));
  return {
    ArrowRight: (at + 1) % count, ArrowDown: (at + 1) % count,
    ArrowLeft: (Math.max(at, 0) + count - 1) % count, ArrowUp: (Math.max(at, 0) + count - 1) % count,
    PageDown: inside(at + leap), PageUp: inside(at - leap), Home: 0, End: count - 1}[key];
}

function stepThrough(chart, element, event) {
  const to = chart.points.length > 0 ? stepOf(event.key, chart.at, chart.points.length) : undefined;
  if (to !== undefined) {
    chart.at = to;
    const said = chart.tell(chart.points[to]);
    const box = element.getBoundingClientRect();
    const [x, y] = placeOf(chart, chart.points[to]);
    markPoint(element, x, y);
    showTip(said, box.left + x, box.top + y);
    byId("said").textContent = `${to + 1} of ${chart.points.length}; ${said.map(([name, text]) => `${name}: ${text}`).join("; ")}`;
    event.preventDefault();
  } else if (event.key === "Enter" && chart.at >= 0) {
    chart.open?.(chart.points[chart.at]);
    event.preventDefault();
  } else if (event.key === "Escape") {
    hideTip();
  }
}

/** A ring around the mark that the keyboard has come to. */
function markPoint(element, x, y) {
  const ring = element.querySelector(".ring") ?? make("div", {class: "ring", "aria-hidden": "true"});
  ring.style.left = `${x}px`;
  ring.style.top = `${y}px`;
  element.append(ring);
}

/** Where a point's measured mark stands, in pixels of the chart. */
function placeOf(chart, point) {
  const [left, top] = chart.view.origin();
  const padding = chart.view.padding();
  return [left + (padding.left ?? padding) + chart.view.scale("x")(point.x) + (point.right ?? 0),
          top + (padding.top ?? padding) + chart.view.scale("y")(point.y) + (point.down ?? 0)];
}

/** Points of which a mark stands within a few pixels of a place of the chart, the nearest first. */
function near(chart, x, y) {
  const reach = 7;
  const found = new Map();
  for (const [point, px, py] of chart.places ?? []) {
    const far = Math.hypot(px - x, py - y);
    if (far <= reach && !(found.get(point) <= far)) found.set(point, far);
  }
  return [...found].sort((a, b) => a[1] - b[1]).map(([point]) => point);
}

/** A point in few words, for a list of several: the first figures of its tip. */
const inBrief = said => said.slice(0, 5).map(([, text]) => text).join(", ");

/** The nearest point in full, and below it how many others stand at the same place: a tip cannot be scrolled, their list can. */
function tellSeveral(tell, points) {
  if (points.length === 1) return tell(points[0]);
  return [...tell(points[0]), ["also here", `${plural(points.length - 1, "other mark")}; a click lists all ${points.length}`]];
}

/** All points of a place as a list, each of which opens what it stands for. */
function chooseOne(tell, open, points) {
  hideTip();
  byId("row-title").textContent = `${points.length} marks at this place`;
  byId("row-body").replaceChildren(make("ul", {id: "marks-here"}, points.map(point =>
    make("li", {}, make("button", {class: "row-link", type: "button", click: () => {
      byId("row").close();
      open?.(point);
    }}, inBrief(tell(point)))))));
  if (!byId("row").open) byId("row").showModal();
}

/** Beside a place of the window; in a narrow one at the end of the window that is farther from it, so that it covers no mark there. */
function showTip(said, x, y) {
  const tip = byId("tip");
  const list = make("dl", {}, said.flatMap(([name, text]) => [make("dt", {}, name), make("dd", {}, text)]));
  tip.replaceChildren(list);
  tip.hidden = false;
  const narrow = innerWidth < 500;
  tip.classList.toggle("docked", narrow);
  const most = narrow ? innerHeight * 0.42 : innerHeight - 16;
  // What has no room stands in the row that Enter or a click opens; how many are here is the last to leave.
  const last = said.length > 1 && said.at(-1)[0] === "also here" ? 2 : 0;
  while (tip.getBoundingClientRect().height > most && list.childElementCount > 4) {
    list.children[list.childElementCount - last - 1].remove();
    list.children[list.childElementCount - last - 1].remove();
  }
  const {width, height} = tip.getBoundingClientRect();
  if (narrow) {
    tip.style.left = "4px";
    tip.style.top = `${y > innerHeight / 2 ? 4 : innerHeight - height - 4}px`;
    return;
  }
  const below = y + 18, above = y - height - 12;
  tip.style.left = `${Math.max(4, Math.min(x + 14, innerWidth - width - 8))}px`;
  tip.style.top = `${below + height <= innerHeight ? below : above >= 4 ? above : Math.max(4, innerHeight - height - 4)}px`;
}
function hideTip() {
  byId("tip").hidden = true;
}

/** Pixels that a chart may take in width. */
const widthOf = id => Math.max(280, Math.floor(byId(id).getBoundingClientRect().width));
