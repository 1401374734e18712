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
      {orient: "bottom", scale: "x", title: "measured time", encode: secondsLabels, values: logPlaces(low, high, width - 60)},
      {orient: "left", scale: "y", title: "predicted / measured", format: "~r", values: [0.25, 0.5, 0.8, 1, 1.2, 2, 4].filter(y => y > yLow && y < yHigh)}],
    marks: [
      {type: "rule", from: {data: "across"}, interactive: false, encode: {update: {x: {value: 0}, x2: {signal: "width"}, y: {scale: "y", field: "y"}, stroke: {value: css("--faint")}, strokeDash: {signal: "datum.y == 1 ? [] : [5, 4]"}}}},
      {type: "rule", from: {data: "regimes"}, interactive: false, encode: {update: {x: {scale: "x", field: "x"}, y: {value: 0}, y2: {signal: "height"}, stroke: {value: css("--faint")}, strokeDash: {value: [1, 4]}}}},
      {type: "symbol", from: {data: "rows"}, encode: {update: {x: {scale: "x", field: "x"}, y: {scale: "y", field: "y"}, shape: {field: "shape"}, size: {value: 36}, fill: {field: "colour"}, fillOpacity: {value: 0.6}, stroke: {field: "colour"}, strokeWidth: {value: 0.8}, cursor: {value: "pointer"}}}},
    ],
  };
}

const besideText = beside => beside && beside.n > 0 ? `${percent(beside.median_absolute)} (${percent(beside.seconds_median_absolute)})` : "—";

const baselines = ["uncalibrated", "datasheet_roofline", "measured_roofline", "roofline_and_launch_floor"];
const wordsOf = name => name.replaceAll("_", " ");

/** Rows behind the figures of a group of the scorecard, those too of which this page has but what the index says. */
async function scoredRows(number) {
  page.scored ??= JSON.parse(await unpacked("scored"));
  const {texts: more, left, ...columns} = page.scored;
  const known = page.data.texts;
  const textOf = number => number < known.length ? known[number] : more[number - known.length];
  const rows = [];
  (columns.group ?? []).forEach((group, i) => {
    if (group !== number) return;
    const row = Object.fromEntries(Object.entries(columns).map(([name, values]) => [name, values[i]]));
    for (const name of ["shape", "tile", "limiter", "counted"]) row[name] = textOf(row[name]);
    row.left = Array.isArray(row.place) ? null : [left[row.place], row.written];
    row.place = row.left ? null : row.place;
    rows.push(row);
  });
  return rows;
}

const errorBy = name => row => row[name] > 0 ? Math.abs(row[name] / row.measured - 1) : undefined;

/** Where a row is: on this page, or in git's history with the file that left the tree. */
function placeText(row) {
  if (row.place) return rowLink(`${page.data.files[row.place[0]].path}, line ${row.place[1]}`, row.place);
  const [file] = row.left;
  return leftLink(`${file}, in git at commit ${(page.data.left[file] ?? ["unknown"])[0].slice(0, 12)}`, row.left);
}

/** A regime in the words of every other table. */
function regimeText({regime}) {
  return {"<20us": "under 20 µs", "20-100us": "20–100 µs", ">100us": "over 100 µs"}[regime] ?? regime;
}

/** The rows of a group as a table, the largest error of `beside` (the model's own, or a baseline's) first. */
async function showScoredRows(group, number, beside) {
  const rows = (await scoredRows(number)).filter(row => beside === "limiter" ? row.counted : beside === "" || row[beside] > 0);
  const other = beside === "" || beside === "limiter" ? [] : [beside];
  const where = byId("scorecard-rows");
  byId("scorecard-rows-title").textContent = `${plural(rows.length, "row")} of ${group.kernel} on ${group.device}, ${regimeText(group)}, ${group.class}`;
  byId("scorecard-rows-section").hidden = false;
  sortableTable(where, "Rows behind a figure of the scorecard", [
    {name: "shape", title: "Shape", wide: true, of: row => row.shape, show: row => breakable(row.shape)},
    {name: "measured", title: "Measured", number: true, of: row => row.measured, show: row => linkTo(seconds(row.measured), row.place, row.left)},
    {name: "predicted", title: "Predicted", number: true, of: row => row.predicted, show: row => linkTo(seconds(row.predicted), row.place, row.left)},
    {name: "error", title: "Error", number: true, bySize: true, of: errorBy("predicted"), show: row => linkTo(signedPercent(row.predicted / row.measured - 1), row.place, row.left)},
    ...other.flatMap(name => [
      {name, title: wordsOf(name), number: true, of: row => row[name], show: row => linkTo(seconds(row[name]), row.place, row.left)},
      {name: "other_error", title: "Its error", number: true, bySize: true, of: errorBy(name), show: row => linkTo(signedPercent(row[name] / row.measured - 1), row.place, row.left)}]),
    ...(beside === "limiter" ? [textColumn("limiter", "Limiter"), textColumn("counted", "By counters")] : []),
    {name: "place", title: "Receipt", wide: true, of: row => row.place ? `0 ${row.place}` : `1 ${row.left[0]}`, show: placeText},
    ...(beside === "limiter" ? [] : [textColumn("limiter", "Limiter")]),
    {name: "written", title: "Written", of: row => row.written, show: row => row.written.slice(0, 10)}, textColumn("tile", "Tile"),
  ], rows, {by: other.length ? "other_error" : "error", down: true});
  byId("scorecard-rows-section").scrollIntoView({block: "start"});
  byId("scorecard-rows-title").focus({preventScroll: true});
}

function showScorecard() {
  const {scorecard, cases} = page.data;
  const judged = cases.filter(one => one.sight && one.predicted > 0);
  const points = judged.map(one => ({of: one, x: one.measured, y: one.predicted / one.measured}))
    .filter(point => drawable(point.x) && drawable(point.y)).sort((a, b) => a.x - b.x);
  const counted = scorecard.groups.reduce((sum, group) => sum + group.n, 0);
  // Never one share of all: what had been seen says nothing of what had not.
  const inside = Object.keys(sightLooks()).map(name => [name, points.filter(point => point.of.sight === name)]).filter(([, of]) => of.length > 0)
    .map(([name, of]) => [name, of.filter(point => Math.abs(point.y - 1) <= 0.2), of]);
  // What the figures count, files that left the tree too: the chart's own rows are kinder or harsher than all.
  const shares = Object.keys(sightLooks()).map(name => [name, scorecard.groups.filter(group => group.class === name)])
    .map(([name, groups]) => [name, groups.reduce((sum, group) => sum + group.n, 0), groups.reduce((sum, group) => sum + group.n * group.within_20, 0)])
    .filter(([, n]) => n > 0).map(([name, n, hits]) => `${name} ${percent(hits / n)} of ${n}`);
  const casesLink = (some, what) => rowsLink(String(some.length), "cases-table", what, some.map(point => point.of));
  byId("scorecard-said").replaceChildren(...(points.length === 0 ? ["No measured case with its prediction stands in these receipts."] : [
    ...(shares.length > 0 ? [`Within 20 %: ${shares.join(", ")}. `] : []),
    `${plural(points.length, "case")} ${points.length === 1 ? "is" : "are"} drawn, of which within 20 %: `,
    ...inside.flatMap(([name, hits, of], i) => [`${i > 0 ? ", " : ""}${name} `, casesLink(hits, `${name}, predicted within 20 %`), " of ", casesLink(of, name)]), ".",
    `${judged.length > points.length ? ` ${plural(judged.length - points.length, "case")} not drawn: a time is beyond what any device reaches.` : ""} Dashed lines are where a prediction stops being a hit, dotted ones part the regimes.`]));
  const said = byId("scorecard-said").textContent;
  byId("scorecard-chart").setAttribute("aria-label", `Predicted over measured time. ${said}`);
  legend("scorecard-legend", points.length === 0 ? [] : Object.entries(sightLooks()).map(([name, look]) => [name, look, true]));
  const left = Object.entries(scorecard.left_out).filter(([, n]) => n > 0).map(([why, n]) => `${n} ${why}`);
  byId("scorecard-body").replaceChildren(
    make("p", {}, scorecard.worst ?? ""),
    ...(scorecard.groups.some(({device}) => device.startsWith("cpu (")) ? [make("p", {class: "faint"}, "Machines whose CPUs have one name are counted together in these figures; elsewhere on the page they are told apart where rows say how they differ.")] : []),
    ...(left.length ? [make("p", {class: "faint"}, `Measurements of kernels alone that stand in no figure: ${left.join(", ")}. Comparisons with peers are never counted here.`)] : []),
    ...(counted > judged.length ? [make("p", {class: "faint"}, `The figures count ${plural(counted - judged.length, "measurement")} of files that left the tree as well: their index has the times, and the chart only what has a row here.`)] : []),
    make("h3", {}, "By kernel, regime and class"),
    make("p", {}, "Each figure opens the rows that it summarises. In the column of a baseline stands its median error on the rows that have it and, in brackets, the model's own on the same rows."), make("div", {id: "scorecard-groups"}),
    byId("scorecard-rows-section") ?? make("section", {id: "scorecard-rows-section", "aria-labelledby": "scorecard-rows-title", hidden: true},
      make("h3", {id: "scorecard-rows-title", tabindex: "-1"}), make("div", {id: "scorecard-rows"})));
  const figure = (text, group, beside = "") => make("button", {class: "row-link", type: "button", title: "the rows behind it",
    click: () => showScoredRows(group, scorecard.groups.indexOf(group), beside)}, text);
  const figureColumn = (name, title, text) => numberColumn(name, title, group => figure(text(group[name]), group));
  sortableTable(byId("scorecard-groups"), "Errors by kernel, regime and class", [
    textColumn("kernel", "Kernel"), {...textColumn("regime", "Regime"), show: regimeText}, textColumn("class", "Class"),
    figureColumn("median_absolute", "Median", percent),
    textColumn("device", "Device"),
    figureColumn("n", "Cases", String),
    figureColumn("p90_absolute", "p90", percent),
    figureColumn("bias", "Bias", signedPercent),
    figureColumn("within_10", "Within 10 %", percent),
    figureColumn("within_20", "Within 20 %", percent),
    {name: "limiter", title: "Limiter", number: true, of: one => one.limiter ? one.limiter.hits / one.limiter.n : undefined,
     show: one => one.limiter ? figure(`${one.limiter.hits} of ${one.limiter.n}`, one, "limiter") : "—"},
    ...baselines.map(name => (
      {name, title: wordsOf(name), number: true, of: one => one[name]?.n > 0 ? one[name].median_absolute : undefined,
       show: one => one[name]?.n > 0 ? figure(besideText(one[name]), one, name) : "—"})),
  ], scorecard.groups, {by: "n", down: true});
  if (points.length > 0) {
    drawChart("scorecard-chart", scorecardSpec(points, widthOf("scorecard-chart")), points, tellCase, point => point.of.row && showRow(...point.of.row));
  }
}
