// SPDX-License-Identifier: Apache-2.0
// Predicted against measured, and the errors by kernel, regime and class.

const sightLooks = () => ({
  "kernel never measured": {colour: palette()[1], shape: "square"},
  "case never measured": {colour: palette()[4], shape: "diamond"},
  "seen": {colour: palette()[0], shape: "circle"},
});

function scorecardSpec(points, width) {
  const xs = points.map(point => point.x);
  const ys = points.map(point => point.y);
  const [low, high] = [Math.min(...xs) / 1.5, Math.max(...xs) * 1.5];
  const yLow = Math.min(0.7, ...ys) / 1.1, yHigh = Math.max(1.4, ...ys) * 1.1;
  const looks = sightLooks();
  const across = [[1, "equal"], [0.8, "20 % too short"], [1.2, "20 % too long"]];
  return {
    width, height: width < 500 ? 300 : 360,
    data: [{name: "rows", values: points.map((point, i) => ({i, x: point.x, y: point.y, ...looks[point.of.sight]}))},
           {name: "across", values: across.map(([y, text]) => ({y, text}))}, {name: "regimes", values: [20e-6, 100e-6].filter(x => x > low && x < high).map(x => ({x}))}],
    scales: [{name: "x", type: "log", domain: [low, high], range: "width"}, {name: "y", type: "log", domain: [yLow, yHigh], range: "height"}],
    axes: [
      {orient: "bottom", scale: "x", title: "measured time, s", format: "~s", tickCount: width < 500 ? 4 : 8, labelOverlap: "greedy"},
      {orient: "left", scale: "y", title: "predicted / measured", format: "~r", values: [0.25, 0.5, 0.8, 1, 1.2, 2, 4].filter(y => y > yLow && y < yHigh)}],
    marks: [
      {type: "rule", from: {data: "across"}, interactive: false, encode: {update: {x: {value: 0}, x2: {signal: "width"}, y: {scale: "y", field: "y"}, stroke: {value: css("--faint")}, strokeDash: {signal: "datum.y == 1 ? [] : [5, 4]"}}}},
      {type: "rule", from: {data: "regimes"}, interactive: false, encode: {update: {x: {scale: "x", field: "x"}, y: {value: 0}, y2: {signal: "height"}, stroke: {value: css("--faint")}, strokeDash: {value: [1, 4]}}}},
      {type: "symbol", from: {data: "rows"}, encode: {update: {x: {scale: "x", field: "x"}, y: {scale: "y", field: "y"}, shape: {field: "shape"}, size: {value: 36}, fill: {field: "colour"}, fillOpacity: {value: 0.6}, stroke: {field: "colour"}, strokeWidth: {value: 0.8}, cursor: {value: "pointer"}}}},
    ],
  };
}

const besideText = beside => beside && beside.n > 0 ? `${percent(beside.median_absolute)} (${percent(beside.seconds_median_absolute)})` : "—";

const missingOf = (group, cases) => cases.length < group.n ? `, without ${group.n - cases.length} of files that left the tree` : "";

function showScorecard() {
  const {scorecard, cases} = page.data;
  const judged = cases.filter(one => one.sight && one.predicted > 0);
  const points = judged.map(one => ({of: one, x: one.measured, y: one.predicted / one.measured}))
    .filter(point => drawable(point.x) && drawable(point.y)).sort((a, b) => a.x - b.x);
  const counted = scorecard.groups.reduce((sum, group) => sum + group.n, 0);
  // Never one share of all: what had been seen says nothing of what had not.
  const inside = Object.keys(sightLooks()).map(name => [name, points.filter(point => point.of.sight === name)]).filter(([, of]) => of.length > 0)
    .map(([name, of]) => [name, of.filter(point => Math.abs(point.y - 1) <= 0.2), of]);
  const casesLink = (some, what) => rowsLink(String(some.length), "cases-table", what, some.map(point => point.of));
  byId("scorecard-said").replaceChildren(...(points.length === 0 ? ["No measured case with its prediction stands in these receipts."] : [
    `${plural(points.length, "case")}. Within 20 %: `,
    ...inside.flatMap(([name, hits, of], i) => [`${i > 0 ? ", " : ""}${name} `, casesLink(hits, `${name}, predicted within 20 %`), " of ", casesLink(of, name)]), ".",
    `${judged.length > points.length ? ` ${plural(judged.length - points.length, "case")} not drawn: a time is beyond what any device reaches.` : ""} Dashed lines are where a prediction stops being a hit, dotted ones part the regimes.`]));
  const said = byId("scorecard-said").textContent;
  byId("scorecard-chart").setAttribute("aria-label", `Predicted over measured time. ${said}`);
  legend("scorecard-legend", points.length === 0 ? [] : Object.entries(sightLooks()).map(([name, look]) => [name, look, true]));
  const left = Object.entries(scorecard.left_out).filter(([, n]) => n > 0).map(([why, n]) => `${n} ${why}`);
  byId("scorecard-body").replaceChildren(
    make("p", {}, scorecard.worst ?? ""),
    ...(left.length ? [make("p", {class: "faint"}, `Measurements that stand in no figure: ${left.join(", ")}.`)] : []),
    ...(counted > judged.length ? [make("p", {class: "faint"}, `The figures count ${plural(counted - judged.length, "measurement")} of files that left the tree as well: their index has the times, and the chart only what has a row here.`)] : []),
    make("h3", {}, "By kernel, regime and class"),
    make("p", {}, "The number of cases and the median show the cases behind a line in the table of cases, as far as this page has their rows. In the column of a baseline stands its median error on the rows that have it and, in brackets, the model's own on the same rows."), make("div", {id: "scorecard-groups"}));
  const casesOf = group => cases.filter(one => one.group !== undefined && scorecard.groups[one.group] === group);
  const groupColumn = (name, title, text) => numberColumn(name, title, group =>
    rowsLink(text(group[name]), "cases-table", `${group.kernel} on ${group.device}, ${group.regime}, ${group.class}${missingOf(group, casesOf(group))}`, casesOf(group)));
  sortableTable(byId("scorecard-groups"), "Errors by kernel, regime and class", [
    textColumn("kernel", "Kernel"), textColumn("regime", "Regime"), textColumn("class", "Class"),
    groupColumn("n", "Cases", String),
    groupColumn("median_absolute", "Median", percent),
    numberColumn("p90_absolute", "p90", one => percent(one.p90_absolute)),
    numberColumn("bias", "Bias", one => signedPercent(one.bias)),
    numberColumn("within_10", "Within 10 %", one => percent(one.within_10)),
    numberColumn("within_20", "Within 20 %", one => percent(one.within_20)),
    {name: "limiter", title: "Limiter", number: true, of: one => one.limiter ? one.limiter.hits / one.limiter.n : undefined, show: one => one.limiter ? `${one.limiter.hits} of ${one.limiter.n}` : "—"},
    ...["uncalibrated", "datasheet_roofline", "measured_roofline", "roofline_and_launch_floor"].map(name => (
      {name, title: name.replaceAll("_", " "), number: true, of: one => one[name]?.n > 0 ? one[name].median_absolute : undefined, show: one => besideText(one[name])})),
    textColumn("device", "Device"),
  ], scorecard.groups, {by: "n", down: true});
  if (points.length > 0) {
    drawChart("scorecard-chart", scorecardSpec(points, widthOf("scorecard-chart")), points, tellCase, point => point.of.row && showRow(...point.of.row));
  }
}
