// SPDX-License-Identifier: Apache-2.0
// The choices, the roofline and the table of the cases that they leave.

const levels = [["dram", "DRAM"], ["l2", "L2 (a CPU's last-level cache)"], ["smem", "shared memory (a CPU's L1)"]];
const roofOfLevel = {dram: ["byte.dram_read"], l2: ["byte.l2", "byte.llc"], smem: ["byte.smem_lsu", "byte.l1"]};
const chosen = {level: "dram", device: "", suite: "", kernel: ""};

function casesLeft() {
  const {device, suite, kernel} = chosen;
  return page.data.cases.filter(one => one.device === device && (suite === "" || one.suite === suite) &&
                                       (kernel === "" || one.kernel === kernel));
}

const suiteName = suite => suite || "(single shapes)";

function showFilters() {
  const {cases} = page.data;
  const count = new Map();
  cases.forEach(one => count.set(one.device, (count.get(one.device) ?? 0) + 1));
  const devices = [...count].sort((a, b) => b[1] - a[1]);
  if (!count.has(chosen.device)) chosen.device = devices[0]?.[0] ?? "";
  const here = cases.filter(one => one.device === chosen.device);
  const suites = unique(here.map(one => one.suite));
  if (chosen.suite !== "" && !suites.includes(chosen.suite)) chosen.suite = "";
  const kernels = unique(here.filter(one => chosen.suite === "" || one.suite === chosen.suite).map(one => one.kernel));
  if (!kernels.includes(chosen.kernel)) chosen.kernel = "";
  const changed = name => value => {
    chosen[name] = value;
    showFilters();
    showCases();
    byId(`choose-${name}`).focus();
  };
  byId("filters").replaceChildren(
    choice("choose-device", "Device", devices.map(([name, n]) => [name, `${name} (${plural(n, "case")})`]), changed("device"), chosen.device),
    choice("choose-level", "Memory level", levels, changed("level"), chosen.level),
    choice("choose-suite", "Suite", [["", "all"], ...suites.filter(Boolean).map(name => [name, name])], changed("suite"), chosen.suite),
    choice("choose-kernel", "Kernel", [["", "all"], ...kernels.map(name => [name, name])], changed("kernel"), chosen.kernel));
}

function tellCase(point) {
  const one = point.of;
  return [
    ["kernel", one.kernel], ["tile", one.tile || "none"], ["shape", one.shape],
    ["predicted", one.predicted === undefined ? "no prediction" : seconds(one.predicted)],
    ["measured", `${seconds(one.measured)} (${seconds(one.low)} to ${seconds(one.high)})`],
    ["error", one.predicted === undefined ? "not known" : signedPercent(one.predicted / one.measured - 1)],
    ["limiter", one.limiter ?? "not known"],
    ["of roof", one.bound > 0 ? percent(one.bound / one.measured) : "not known"],
    ["rate", si(one.flops / one.measured, "FLOP/s")],
    ...(one.sight ? [["class", one.sight]] : []),
    ...(one.stale ? [["stale", "the kernel has changed since"]] : []),
  ];
}

/** Straight lines of the chart: [{name, points, engine}]; memory ends at the fastest engine. */
function roofLines(low, high) {
  const roofs = page.data.roofs[chosen.device] ?? {memory: [], engines: []};
  const top = Math.max(0, ...roofs.engines.map(([, , rate]) => rate));
  const memory = roofs.memory.filter(([, resource]) => roofOfLevel[chosen.level].includes(resource));
  const slowest = Math.max(0, ...memory.map(([, , rate]) => rate));
  const lines = memory.map(([name, , rate, measured]) => {
    const end = top > 0 ? Math.min(high, top / rate) : high;
    return {name: `${name} ${si(rate, "B/s")}${measured ? "" : " (datasheet)"}`, x1: low, y1: low * rate, x2: end, y2: end * rate, engine: false, rate};
  });
  for (const [name, , rate, measured] of roofs.engines) {
    const begin = slowest > 0 ? Math.max(low, rate / slowest) : low;
    if (begin < high) {
      lines.push({name: `${name} ${si(rate, "FLOP/s")}${measured ? "" : " (datasheet)"}`, x1: begin, y1: rate, x2: high, y2: rate, engine: true, rate});
    }
  }
  return lines;
}

/** Names of roofs, as far as they do not stand on each other. */
function roofLabels(lines, range) {
  const labels = [];
  const least = Math.log(range[1] / range[0]) * 0.045;
  for (const line of lines.filter(one => one.engine).sort((a, b) => b.rate - a.rate)) {
    if (labels.every(other => Math.abs(Math.log(other.y / line.y2)) > least)) {
      labels.push({text: line.name, x: line.x2, y: line.y2, align: "right"});
    }
  }
  for (const line of lines.filter(one => !one.engine)) {
    labels.push({text: line.name, x: line.x1, y: Math.max(line.y1, range[0] * 1.05), align: "left"});
  }
  return labels;
}

function rooflineSpec(points, looks, width) {
  const xs = points.map(point => point.x);
  const ys = points.flatMap(point => [point.y, point.predicted ?? point.y]);
  const low = Math.min(...xs) / 1.6, high = Math.max(...xs) * 2.2;
  const lines = roofLines(low, high);
  const yLow = Math.min(...ys) / 2, yHigh = Math.max(...ys, ...lines.map(line => line.y2).filter(y => y < 100 * Math.max(...ys))) * 1.8;
  const mark = (name, field, filled) => ({
    type: "symbol", name, from: {data: name},
    encode: {update: {
      x: {scale: "x", field: "x"}, y: {scale: "y", field}, shape: {field: "shape"}, size: {value: width < 500 ? 34 : 48},
      stroke: {field: "colour"}, strokeWidth: {value: 1.3}, fill: filled ? {field: "colour"} : {value: css("--paper")},
      fillOpacity: {value: filled ? 0.9 : 0.4}, cursor: {value: "pointer"},
    }},
  });
  const values = points.map((point, i) => ({i, x: point.x, y: point.y, predicted: point.predicted, ...looks.get(point.of.kernel)}));
  return {
    width, height: width < 500 ? 380 : 500,
    data: [{name: "measured", values}, {name: "hollow", values: values.filter(value => value.predicted)},
           {name: "roofs", values: lines}, {name: "labels", values: roofLabels(lines, [yLow, yHigh])}],
    scales: [{name: "x", type: "log", domain: [low, high], range: "width"},
             {name: "y", type: "log", domain: [yLow, yHigh], range: "height"}],
    axes: [
      {orient: "bottom", scale: "x", title: `FLOP per byte of ${levels.find(([id]) => id === chosen.level)[1]}`, format: "~s", tickCount: width < 500 ? 4 : 8, grid: true, labelOverlap: "greedy"},
      {orient: "left", scale: "y", title: "FLOP/s", format: "~s", tickCount: 8, grid: true, labelOverlap: "greedy"}],
    marks: [{
      type: "group", clip: true, encode: {update: {width: {signal: "width"}, height: {signal: "height"}}},
      marks: [
        {type: "rule", from: {data: "roofs"}, interactive: false, encode: {update: {
          x: {scale: "x", field: "x1"}, x2: {scale: "x", field: "x2"}, y: {scale: "y", field: "y1"}, y2: {scale: "y", field: "y2"},
          stroke: {value: css("--faint")}, strokeWidth: {value: 1.2}}}},
        {type: "rule", from: {data: "hollow"}, interactive: false, encode: {update: {
          x: {scale: "x", field: "x"}, y: {scale: "y", field: "predicted"}, y2: {scale: "y", field: "y"}, stroke: {field: "colour"}, strokeWidth: {value: 1}}}},
        mark("hollow", "predicted", false), mark("measured", "y", true),
        // With a rim of the paper's colour, since lines and marks may run below it.
        ...[css("--paper"), null].map(rim => ({type: "text", from: {data: "labels"}, interactive: false, encode: {update: {
          ...(rim ? {stroke: {value: rim}, strokeWidth: {value: 3}} : {}),
          x: {scale: "x", field: "x", offset: {signal: "datum.align == 'right' ? -4 : 6"}}, y: {scale: "y", field: "y", offset: -4}, text: {field: "text"},
          align: {field: "align"}, fontSize: {value: 10.5}, fill: {value: css("--ink")}}}})),
      ],
    }],
  };
}

function showRoofline() {
  const left = casesLeft();
  const points = left.filter(one => one.ai[chosen.level] > 0 && one.flops > 0 && one.measured > 0)
    .map(one => ({of: one, x: one.ai[chosen.level], y: one.flops / one.measured,
                  predicted: one.predicted > 0 ? one.flops / one.predicted : undefined}))
    .sort((a, b) => a.x - b.x || a.y - b.y);
  const kernels = unique(points.map(point => point.of.kernel));
  const looks = new Map(kernels.map((name, i) => [name, lookOf(i)]));
  const without = left.length - points.length;
  const predicted = points.filter(point => point.predicted);
  const error = predicted.map(point => Math.abs(point.of.predicted / point.of.measured - 1)).sort((a, b) => a - b);
  const said = points.length === 0
    ? "No case to draw: no timed case is left by these choices, or the bytes of this level are not known of them."
    : `${plural(points.length, "case")} of ${plural(kernels.length, "kernel")} on ${chosen.device}, ${predicted.length} with their prediction` +
      `${error.length ? `, median error ${percent(error[Math.floor(error.length / 2)])}` : ""}.` +
      `${without > 0 ? ` ${plural(without, "case")} not drawn: the bytes that cross this level are counted by this build's kernels, and it does not have these in their tile.` : ""}` +
      " Arrow keys go from case to case, Enter opens the row; the table below has the same figures.";
  byId("roofline-said").textContent = said;
  byId("roofline-chart").setAttribute("aria-label", `Roofline. ${said}`);
  legend("roofline-legend", points.length === 0 ? [] : [
    ["predicted", {colour: ink(), shape: "circle"}, false], ["measured", {colour: ink(), shape: "circle"}, true],
    ...kernels.map(name => [name, looks.get(name), true])]);
  if (points.length === 0) {
    eraseChart("roofline-chart");
    return;
  }
  drawChart("roofline-chart", rooflineSpec(points, looks, widthOf("roofline-chart")), points, tellCase,
    point => point.of.row && showRow(...point.of.row));
}

const caseColumns = [
  textColumn("kernel", "Kernel"),
  textColumn("shape", "Shape", true),
  numberColumn("measured", "Measured", one => rowLink(seconds(one.measured), one.row)),
  numberColumn("predicted", "Predicted", one => rowLink(seconds(one.predicted), one.prediction_row)),
  {name: "error", title: "Error", number: true, of: one => one.predicted === undefined ? undefined : Math.abs(one.predicted / one.measured - 1),
   show: one => one.predicted === undefined ? "—" : signedPercent(one.predicted / one.measured - 1)},
  {name: "roof", title: "Of roof", number: true, of: one => one.bound > 0 ? one.bound / one.measured : undefined,
   show: one => one.bound > 0 ? percent(one.bound / one.measured) : "—"},
  textColumn("limiter", "Limiter"),
  {name: "rate", title: "Rate", number: true, of: one => one.flops / one.measured, show: one => si(one.flops / one.measured, "FLOP/s")},
  {name: "sight", title: "Class", of: one => one.sight, show: one => one.sight || (one.comparison ? "of a comparison" : "—")},
  {name: "written", title: "Written", of: one => one.written, show: one => `${one.written.slice(0, 10)} at ${one.commit.slice(0, 8)}${one.stale ? ", stale" : ""}`},
  {name: "suite", title: "Suite", of: one => one.suite, show: one => suiteName(one.suite)},
  textColumn("tile", "Tile"),
];

function showCases() {
  sortableTable(byId("cases-table"), "Cases", caseColumns, casesLeft(), {by: "measured", down: true});
  showRoofline();
}
