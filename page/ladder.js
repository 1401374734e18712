// SPDX-License-Identifier: Apache-2.0
// The ladder's tracks: times of the rungs, and of each what it changed, taught and holds.

const ladderChosen = {track: "", device: ""};

const ladderDevices = () => unique(page.data.ladder.flatMap(track => track.rungs.flatMap(rung => Object.keys(rung.devices))));

function ladderSpec(points, width) {
  const xs = points.flatMap(point => [point.x, point.predicted]).filter(x => x > 0);
  const [low, high] = [Math.min(...xs) / 1.4, Math.max(...xs) * 1.4];
  const mark = (field, filled) => ({type: "symbol", from: {data: "rungs"}, encode: {update: {
    x: {scale: "x", field}, y: {scale: "y", field: "y", offset: 22}, size: {value: 70}, stroke: {value: palette()[0]}, strokeWidth: {value: 1.5},
    fill: {value: filled ? palette()[0] : css("--paper")}, opacity: {signal: `datum.${field} > 0 ? 1 : 0`}, cursor: {value: "pointer"}}}});
  return {
    width, height: points.length * 34,
    data: [{name: "rungs", values: points.map((point, i) => ({i, x: point.x, predicted: point.predicted, y: point.y, text: point.text}))}],
    scales: [{name: "x", type: "log", domain: [low, high], range: "width"}, {name: "y", type: "point", padding: 0, align: 0, domain: points.map(point => point.y), range: {step: 34}}],
    axes: [{orient: "bottom", scale: "x", title: "time", encode: secondsLabels, grid: true, values: logPlaces(low, high, width - 20), offset: 4}],
    marks: [
      // No line of the grid crosses a name.
      {type: "rect", from: {data: "rungs"}, interactive: false, encode: {update: {x: {value: 0}, x2: {signal: "width"}, y: {scale: "y", field: "y"}, height: {value: 15}, fill: {value: css("--paper")}}}},
      {type: "text", from: {data: "rungs"}, interactive: false, encode: {update: {x: {value: 0}, y: {scale: "y", field: "y", offset: 11}, text: {field: "text"}, fontSize: {value: 11}}}},
      {type: "rule", from: {data: "rungs"}, interactive: false, encode: {update: {x: {scale: "x", field: "x"}, x2: {scale: "x", field: "predicted"}, y: {scale: "y", field: "y", offset: 22}, stroke: {value: palette()[0]}, opacity: {signal: "datum.predicted > 0 ? 1 : 0"}}}},
      mark("predicted", false), mark("x", true)],
  };
}

/** A time that opens its row; of one whose file left the tree its name stands beside it. */
function receiptOf(time, row, left) {
  const link = linkTo(seconds(time), row, left);
  return row || !left ? [link] : [link, make("span", {class: "faint"}, ` (of ${left[0]}, which left the tree)`)];
}

function tellRung({rung, shown, result}) {
  return [["rung", rung.rung], ["shape", shown.shape], ["predicted", seconds(shown.predicted)], ["measured", seconds(shown.measured)],
          ["speed-up", shown.speedup_measured > 0 ? `${digits(shown.speedup_measured)}, predicted ${digits(shown.speedup_predicted)}` : "the first rung"],
          ["limiter", `${shown.limiter}${shown.counted?.limiter ? `, by counters ${shown.counted.limiter}` : ""}`], ["verdict", result.verdict],
          ["receipt", shown.row ? `${page.data.files[shown.row[0]].path}, line ${shown.row[1]}` : shown.left ? `${shown.left[0]}, in git's history` : "not known"]];
}

function figuresOf(rung, result) {
  const shown = result?.shown;
  if (!shown) return ["not run."];
  if (!(shown.measured > 0)) return [`${result.verdict}.`];
  const faster = !(shown.speedup_measured > 0) ? [] :
    [`; ${digits(shown.speedup_measured)} times as fast as ${rung.predecessor}, predicted ${digits(shown.speedup_predicted)}, which took `,
     ...receiptOf(shown.measured_before, shown.row_before, shown.left_before)];
  return [`${result.verdict}: predicted ${seconds(shown.predicted)}, measured `, ...receiptOf(shown.measured, shown.row, shown.left),
          shown.stale ? ", stale" : "", ...faster, `. ${plural(result.cases, "case")}.`];
}

function rungDetails(rung, device) {
  return make("details", {class: "rung", "data-rung": rung.rung},
    make("summary", {}, make("strong", {}, rung.rung), ` — ${rung.changes}`),
    make("p", {class: "figures"}, ...figuresOf(rung, rung.devices[device])),
    make("p", {}, make("span", {class: "faint"}, "To be seen: "), rung.evidence, "."),
    ...(rung.lesson ? markdown(rung.lesson) : [make("p", {class: "faint"}, "No lesson is written yet.")]),
    make("details", {class: "code"}, make("summary", {}, `Its own code, ${plural(rung.lines, "line")}`),
      ...rung.code.flatMap(([path, text]) => [make("h3", {}, path), make("pre", {tabindex: "0", "aria-label": path}, text)])));
}

function openRung({shown}) {
  if (shown.row) showRow(...shown.row);
  else if (shown.left) showLeft(shown.left);
}

function showLadder() {
  const {ladder} = page.data;
  const devices = ladderDevices();
  if (!devices.includes(ladderChosen.device)) ladderChosen.device = devices[0] ?? "";
  if (!ladder.some(track => track.name === ladderChosen.track)) ladderChosen.track = ladder[0]?.name ?? "";
  const changed = name => value => {
    ladderChosen[name] = value;
    showLadder();
    byId(`ladder-${name}`).focus();
  };
  byId("ladder-controls").replaceChildren(
    choice("ladder-track", "Track", ladder.map(track => [track.name, track.title]), changed("track"), ladderChosen.track),
    ...(devices.length ? [choice("ladder-device", "Device", devices.map(name => [name, name]), changed("device"), ladderChosen.device)] : []));
  const track = ladder.find(one => one.name === ladderChosen.track);
  byId("ladder-body").replaceChildren(...(track?.rungs ?? []).map(rung => rungDetails(rung, ladderChosen.device)));
  const points = (track?.rungs ?? []).map(rung => ({rung, result: rung.devices[ladderChosen.device], shown: rung.devices[ladderChosen.device]?.shown}))
    .filter(point => point.shown?.passed && drawable(point.shown.measured))
    .map(point => ({...point, x: point.shown.measured, predicted: drawable(point.shown.predicted) ? point.shown.predicted : 0, y: point.rung.rung, down: 22, also: drawable(point.shown.predicted) ? [{x: point.shown.predicted}] : [],
                    text: `${point.rung.rung}${point.shown.shape === track.reference ? "" : " *"}`}));
  const left = points.filter(point => !point.shown.row).length;
  const others = points.filter(point => point.shown.shape !== track.reference);
  const said = points.length === 0 ? "No rung of this track was measured in these receipts; the rungs below say what they would show."
    : `Times at first sight${others.length < points.length ? ` on ${track.reference}` : ""}; hollow is predicted, filled measured.` +
      `${others.length > 0 ? ` With *: ${plural(others.length, "rung")} that these receipts have on another shape only; the tip names it.` : ""}` +
      ` Enter opens the row${left > 0 ? `, or of ${plural(left, "rung")}, whose file left the tree, how to get it out of git` : ""}.`;
  byId("ladder-said").textContent = said;
  byId("ladder-chart").setAttribute("aria-label", `Rungs of the track. ${said}`);
  if (points.length > 0) {
    drawChart("ladder-chart", ladderSpec(points, widthOf("ladder-chart")), points, tellRung, openRung);
  } else {
    eraseChart("ladder-chart");
  }
}
