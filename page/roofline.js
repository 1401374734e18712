// SPDX-License-Identifier: Apache-2.0
// The roofline of the cases that the choices leave, and their table.

/** Levels of memory, each with the resource whose ceiling is its roof; the bytes of a level are of the same one. */
const levels = [
  {id: "dram", title: "DRAM", roof: "byte.dram_read"}, {id: "llc", title: "last-level cache", roof: "byte.llc"},
  {id: "l2", title: "L2", roof: "byte.l2"}, {id: "l1", title: "L1", roof: "byte.l1"},
  {id: "smem", title: "shared memory", roof: "byte.smem_lsu", both: true}];
const levelOf = id => levels.find(level => level.id === id);
/**
 * The time that the limiter's roof leaves alone, as part of the measured one, and the same of the busiest resource where
 * that is another. A limiter as `tail`, `latency` or a launch is no resource and has no roof. More than all is said to be so.
 */
function ofRoofText(one, long) {
  if (!(one.bound > 0)) return long ? "not known" : "—";
  const busiest = percent(one.bound / one.measured);
  const above = share => long && share > 1 ? " (faster than its roof: the counted work is too much, or the ceiling too low)" : "";
  if (!one.roof || one.roof === one.limiter) return `${busiest}${above(one.bound / one.measured)}`;
  const of = `${busiest} of ${one.roof}`;
  if (!(one.limiter_bound > 0)) {
    return long ? `${of}: the limiter ${one.limiter} is no resource and has no roof${above(one.bound / one.measured)}` : of;
  }
  const share = one.limiter_bound / one.measured;
  return long ? `${percent(share)} of the limiter ${one.limiter}; ${of}, the busiest resource${above(Math.max(share, one.bound / one.measured))}` : `${percent(share)} of ${one.limiter}`;
}
/** Why a device has no ceilings although rows state those of other machines of its name. */
const unstatedText = "The predictions of this device rest on ceilings that no row of this page states; rows state only those of other machines of its name";
const shareOfRoof = one => (one.limiter_bound > 0 ? one.limiter_bound : one.bound) / one.measured;

/** Operations in a second; of a case without any, as an embedding, the bytes that it has to move. */
const rateText = one => one.flops > 0 ? si(one.flops / one.measured, "FLOP/s") : one.bytes > 0 ? si(one.bytes / one.measured, "B/s") : "—";

function tellCase(point) {
  const one = point.of;
  return [
    ["kernel", one.kernel], ["tile", one.tile || "none"], ["shape", one.shape],
    ["predicted", one.predicted === undefined ? "no prediction" : seconds(one.predicted)],
    ["measured", `${seconds(one.measured)} (${seconds(one.low)} to ${seconds(one.high)})`],
    ["error", one.predicted === undefined ? "not known" : signedPercent(one.predicted / one.measured - 1)],
    ["limiter", one.limiter ?? "not known"],
    ["of roof", ofRoofText(one, true)],
    ["rate", rateText(one)],
    ...(one.sight ? [["class", one.sight]] : []),
    ["call", one.way],
    ["written", writtenText(one)],
    ...(one.stale ? [["stale", "the kernel has changed since"]] : []),
  ];
}

/**
 * How far right of its place each case is drawn, in pixels. Where a kernel's shape was timed at several commits which do
 * about the same rate, their marks would hide each other: the newest stands in its place, older ones right of it, all of
 * them within three marks, since what is moved stands at a wrong intensity. As in src/plot/roofline_points.cpp.
 */
function shiftsOf(cases) {
  const near = 1.2, apart = 7, most = 24;
  const byCase = new Map();
  for (const one of cases) {
    const key = `${one.kernel} ${one.shape}`;
    if (!byCase.has(key)) byCase.set(key, []);
    byCase.get(key).push(one);
  }
  const newer = new Map();  // by case: how many newer commits would hide it
  for (const same of byCase.values()) {
    const newest = new Map();
    for (const {commit, written} of same) {
      if (!(newest.get(commit) >= written)) newest.set(commit, written);
    }
    for (const one of same) {
      const hidden = same.filter(other => newest.get(other.commit) > newest.get(one.commit) &&
        other.measured < near * one.measured && one.measured < near * other.measured);
      newer.set(one, new Set(hidden.map(({commit}) => commit)).size);
    }
  }
  const step = Math.min(apart, most / Math.max(1, ...newer.values()));
  return new Map([...newer].map(([one, count]) => [one, step * count]));
}

const roofsHere = () => page.data.roofs[chosen.device] ?? {memory: [], engines: []};

/** Straight lines of the chart: [{name, points, engine}]; memory ends at the fastest engine. */
function roofLines(low, high) {
  const roofs = roofsHere();
  const top = Math.max(0, ...roofs.engines.map(([, , rate]) => rate));
  const memory = roofs.memory.filter(([, resource]) => resource === levelOf(chosen.level).roof);
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

/**
 * A name for every roof, right of the chart, where it covers no mark: engines beside their roof, the lowest first,
 * moved up as far as the one below needs, and all of them between the ends of the chart. Where that leaves the chart too
 * little room they are letters, and the legend has the names. The name of a level of memory runs along its diagonal from
 * above, where no program can be.
 */
function roofLabels(lines, [low, high], height, narrow) {
  const apart = (high / low) ** (12.5 / height), rim = apart ** 0.5;
  const engines = lines.filter(one => one.engine).sort((a, b) => a.rate - b.rate);
  const ys = [];
  for (const {rate} of engines) ys.push(ys.length ? Math.max(rate, ys.at(-1) * apart) : Math.max(rate, low * rim));
  let most = high / rim;
  for (let i = ys.length - 1; i >= 0; i--) {
    ys[i] = Math.min(ys[i], most);
    most = ys[i] / apart;
  }
  return engines.map((line, i) => ({text: narrow ? roofLetter(engines.length - 1 - i) : line.name, y: ys[i], at: line.rate, name: line.name}));
}
const roofLetter = i => String.fromCharCode(65 + i);

/** What the roofs of the chosen device lack; "" if all were measured. */
function missingRoofs() {
  const roofs = roofsHere();
  const memory = roofs.memory.filter(([, resource]) => resource === levelOf(chosen.level).roof);
  const shown = [...memory, ...roofs.engines];
  const how = "name a file of its ceilings, which `raceline measure` writes, beside the receipts";
  if (shown.length === 0 && roofs.unstated) return `${unstatedText}, so that no roof is drawn: ${how}.`;
  if (shown.length === 0 && roofs.sets > 1) return `The rows of this device rest on ${roofs.sets} sets of ceilings, as those of several machines do, so that no roof is drawn: a page of the files of one has them.`;
  if (shown.length === 0) return `No ceiling of this device is known, so that no roof is drawn: ${how}.`;
  const lacks = [...(memory.length === 0 ? [levelOf(chosen.level).title] : []), ...(roofs.engines.length === 0 ? ["its engines"] : [])];
  const stated = shown.filter(([, , , measured]) => !measured).length;
  return [lacks.length ? `The ceiling of ${lacks.join(" and of ")} is not known, so that its roof is not drawn: ${how}.` : "",
          stated > 0 ? `${stated === shown.length ? "No roof was" : "Roofs marked (datasheet) were not"} measured: what is drawn is the datasheet's.` : ""].filter(Boolean).join(" ");
}

/**
 * What the axes show: all points, and as much of the slanted roof as its name needs, which may lie left of all points or
 * above them. Without points, the roofs.
 */
function rooflineExtent(points, roofs) {
  const xs = points.map(point => point.x);
  const ys = points.flatMap(point => [point.y, point.predicted ?? point.y]);
  const top = Math.max(0, ...roofs.engines.map(([, , rate]) => rate));
  const slope = Math.max(0, ...roofs.memory.filter(([, resource]) => resource === levelOf(chosen.level).roof).map(([, , rate]) => rate));
  const named = 8;  // by which factor the diagonal has to rise within the chart
  if (top > 0 && slope > 0) {
    const ridge = top / slope;
    if (points.length === 0) [xs[0], xs[1], ys[0]] = [ridge / 30, ridge * 3, top / 30];
    else if (Math.min(...xs) > ridge / named) [xs[xs.length], ys[ys.length]] = [ridge / named, top / named];
    else if (Math.max(...xs) < ridge) ys.push(Math.max(...xs) * slope);
  }
  const most = Math.max(...ys);
  // Engines far above all points stay out, but for the nearest one and where it begins.
  const above = Math.min(...roofs.engines.map(([, , rate]) => rate).filter(rate => rate > most));
  if (slope > 0 && isFinite(above)) xs.push(3 * above / slope);
  const engines = roofs.engines.map(([, , rate]) => rate).filter(rate => points.length === 0 || rate < 100 * most || rate === above);
  return {low: Math.min(...xs) / 1.6, high: Math.max(...xs) * 2.2, yLow: Math.min(...ys) / 2, yHigh: Math.max(most, ...engines) * 1.8};
}

/**
 * How much smaller and paler marks are where there are many: of thousands a cluster is still made of marks, and what lies
 * on each other stands out more than what stands alone, which is never paler than one of an older commit.
 */
function crowdOf(count) {
  const few = 150;
  const less = Math.min(1, Math.sqrt(few / Math.max(few, count)));
  return {size: Math.max(0.36, less), line: Math.max(0.6, less), opacity: Math.max(0.7, less)};
}

function rooflineSpec(points, looks, width) {
  const {low, high, yLow, yHigh} = rooflineExtent(points, roofsHere());
  // Roofs that lie outside are named below the chart.
  const lines = roofLines(low, high).filter(one => one.y2 > yLow && one.y1 < yHigh);
  const height = width < 500 ? 420 : 520;
  const narrow = width < 700;
  const labels = roofLabels(lines, [yLow, yHigh], height, narrow);
  const room = narrow ? 16 : 12 + 6 * Math.max(0, ...labels.map(({text}) => text.length));
  // Where a diagonal has climbed a tenth of the chart; its angle, if the chart is drawn as wide as it is asked to be.
  const across = width - room - 70;
  const diagonals = lines.filter(one => !one.engine).map(line => {
    const x = Math.max(low, yLow / line.rate) * (yHigh / yLow) ** 0.08;
    return {text: line.name, x, y: x * line.rate,
            angle: -Math.atan2(height / Math.log(yHigh / yLow), across / Math.log(high / low)) * 180 / Math.PI};
  });
  const crowd = crowdOf(points.length);
  const mark = (name, field, filled) => ({
    type: "symbol", name, from: {data: name},
    encode: {update: {
      x: {scale: "x", field: "x", offset: {field: "right"}}, y: {scale: "y", field}, shape: {field: "shape"}, size: {value: (width < 500 ? 34 : 48) * crowd.size},
      stroke: {field: "colour"}, strokeWidth: {value: 1.3 * crowd.line}, fill: filled ? {field: "colour"} : {value: css("--paper")},
      opacity: {field: "opacity"}, fillOpacity: {value: filled ? 0.9 : 0.4}, cursor: {value: "pointer"},
    }},
  });
  const values = points.map((point, i) => {
    const look = {opacity: 1, ...looks(point.of)};
    return {i, x: point.x, y: point.y, predicted: point.predicted, right: point.right, ...look, opacity: Math.max(olderOpacity, look.opacity * crowd.opacity)};
  });
  return {
    width, height,
    data: [{name: "measured", values}, {name: "hollow", values: values.filter(value => value.predicted)},
           {name: "roofs", values: lines}, {name: "labels", values: labels}, {name: "diagonals", values: diagonals}],
    scales: [{name: "x", type: "log", domain: [low, high], range: "width"},
             {name: "y", type: "log", domain: [yLow, yHigh], range: "height"}],
    axes: [
      {orient: "bottom", scale: "x", title: `FLOP per byte of ${levelOf(chosen.level).title}${levelOf(chosen.level).both ? ", loaded or stored" : ""}`, encode: countLabels, values: logPlaces(low, high, across), grid: true},
      {orient: "left", scale: "y", title: "FLOP/s", format: "~s", tickCount: 8, grid: true, labelOverlap: "greedy"}],
    marks: [{
      type: "group", clip: true, encode: {update: {width: {signal: "width"}, height: {signal: "height"}}},
      marks: [
        {type: "rule", from: {data: "roofs"}, interactive: false, encode: {update: {
          x: {scale: "x", field: "x1"}, x2: {scale: "x", field: "x2"}, y: {scale: "y", field: "y1"}, y2: {scale: "y", field: "y2"},
          stroke: {value: css("--faint")}, strokeWidth: {value: 1.2}}}},
        {type: "rule", from: {data: "hollow"}, interactive: false, encode: {update: {
          x: {scale: "x", field: "x", offset: {field: "right"}}, y: {scale: "y", field: "predicted"}, y2: {scale: "y", field: "y"}, stroke: {field: "colour"}, strokeWidth: {value: crowd.line}, ...(crowd.opacity < 1 ? {opacity: {signal: "datum.opacity / 2"}} : {})}}},
        mark("hollow", "predicted", false), mark("measured", "y", true),
        // With a rim of the paper's colour, since lines of the grid run below it.
        ...[css("--paper"), null].map(rim => ({type: "text", from: {data: "diagonals"}, interactive: false, encode: {update: {
          ...(rim ? {stroke: {value: rim}, strokeWidth: {value: 3}} : {}),
          x: {scale: "x", field: "x"}, y: {scale: "y", field: "y"}, angle: {field: "angle"}, dy: {value: -6}, text: {field: "text"},
          align: {value: "left"}, fontSize: {value: 10.5}, fill: {value: css("--ink")}}}})),
      ],
    },
    // From each roof to its name.
    {type: "rule", from: {data: "labels"}, interactive: false, encode: {update: {x: {signal: "width"}, x2: {signal: "width + 8"}, y: {scale: "y", field: "at"}, y2: {scale: "y", field: "y"}, stroke: {value: css("--faint")}}}},
    {type: "text", from: {data: "labels"}, interactive: false, encode: {update: {x: {signal: "width + 10"}, y: {scale: "y", field: "y"}, text: {field: "text"}, baseline: {value: "middle"}, fontSize: {value: 10.5}, fill: {value: css("--ink")}}}}],
  };
}

/** Of marks at an older commit, where colours and shapes tell kernels apart. */
const olderOpacity = 0.4;
/**
 * How a case is drawn. Of one kernel each commit has a colour and a shape, the newest the first; of several each kernel
 * has, and what was measured at an older commit of it is paler.
 */
function rooflineLooks(points, kernels) {
  const newest = new Map();  // by kernel, then by commit
  for (const {of: {kernel, commit, written}} of points) {
    if (!newest.has(kernel)) newest.set(kernel, new Map());
    const known = newest.get(kernel).get(commit);
    if (!(known >= written)) newest.get(kernel).set(commit, written);
  }
  const orderOf = kernel => [...newest.get(kernel)].map(([commit, written]) => ({kernel, commit, written})).sort((a, b) => a.written < b.written ? 1 : a.written > b.written ? -1 : 0);
  const orders = new Map(kernels.map(kernel => [kernel, orderOf(kernel)]));
  const commits = kernels.length === 1 ? orders.get(kernels[0]) : [];
  if (commits.length > 1) {
    return {commits, older: false, looks: ({commit}) => lookOf(Math.max(0, commits.findIndex(one => one.commit === commit)))};
  }
  const isOlder = ({kernel, commit}) => commit !== undefined && orders.get(kernel)[0].commit !== commit;
  return {commits: [], older: points.some(point => isOlder(point.of)),
          looks: one => ({...lookOf(kernels.indexOf(one.kernel)), opacity: isOlder(one) ? olderOpacity : 1})};
}

function showRoofline() {
  const left = casesLeft();
  const shifts = shiftsOf(left);
  const older = left.some(one => shifts.get(one) > 0);
  const points = left.map(one => ({of: one, right: shifts.get(one), x: one.ai[chosen.level], y: one.flops / one.measured,
                                   predicted: drawable(one.flops / one.predicted) ? one.flops / one.predicted : undefined}))
    .map(point => point.predicted ? {...point, also: [{y: point.predicted}]} : point)
    .filter(point => drawable(point.x) && drawable(point.y))
    .sort((a, b) => a.x - b.x || a.y - b.y);
  const kernels = unique(points.map(point => point.of.kernel));
  const {looks, commits, older: paler} = rooflineLooks(points, kernels);
  const idle = left.filter(one => !(one.flops > 0)).length;
  const uncounted = left.filter(one => one.flops > 0 && !(one.ai[chosen.level] > 0)).length;
  const beyond = left.length - points.length - uncounted - idle;
  const predicted = points.filter(point => point.predicted);
  const said = points.length === 0
    ? (left.length === 0 && roofsHere().engines.length > 0 ? `No timed case of ${chosen.device} stands in these receipts: its roofs alone. ${missingRoofs()}`
      : idle > 0 && idle === left.length ? `No case to draw: ${chosen.kernel || chosen.device} has no operations that a roofline counts. The table below has ${plural(idle, "case")}.`
      : "No case to draw: no timed case is left by these choices, or the bytes of this level are not known of them.")
    : `${plural(points.length, "case")} of ${plural(kernels.length, "kernel")} on ${chosen.device}, ${predicted.length} with their prediction.` +
      `${uncounted > 0 ? ` ${plural(uncounted, "case")} not drawn: the bytes that cross this level are counted by this build's kernels, and it does not have these in their tile.` : ""}` +
      `${idle > 0 ? ` ${plural(idle, "case")} not drawn: they do no operations that a roofline counts.` : ""}` +
      `${beyond > 0 ? ` ${plural(beyond, "case")} not drawn: the time or the rate is beyond what any device reaches.` : ""}` +
      ` ${missingRoofs()}` +
      `${levelOf(chosen.level).both ? " Bytes that are loaded from shared memory and bytes that are stored there count together: they share its banks, whose rate is the roof." : ""}` +
      `${older ? " A case that was measured at several commits has a mark for each: the newest in its place, older ones that would hide it a little right of it." : ""}` +
      " Arrow keys go from case to case, Page Up and Page Down further, Home and End to the first and the last; Enter opens the row. The table below has the same figures.";
  byId("roofline-said").textContent = said;
  byId("roofline-chart").setAttribute("aria-label", `Roofline. ${said}`);
  const roofed = roofsHere().memory.length > 0 && roofsHere().engines.length > 0;
  if (points.length === 0 && !(roofed && left.length === 0)) {
    legend("roofline-legend", []);
    eraseChart("roofline-chart");
    return;
  }
  const spec = rooflineSpec(points, looks, widthOf("roofline-chart"));
  const drawnRoofs = new Set(spec.data.find(({name}) => name === "roofs").values.map(({name}) => name));
  const outside = roofLines(...spec.scales[0].domain).map(({name}) => name).filter(name => !drawnRoofs.has(name));
  if (outside.length > 0) byId("roofline-said").textContent += ` Outside of this chart: ${outside.join(", ")}.`;
  const letters = spec.data.find(({name}) => name === "labels").values.filter(({text, name}) => text !== name).reverse();
  legend("roofline-legend", points.length === 0 ? [] : [
    ["predicted", {colour: ink(), shape: "circle"}, false], ["measured", {colour: ink(), shape: "circle"}, true],
    ...(paler ? [["paler: at an older commit of its kernel", {colour: ink(), shape: "circle", opacity: olderOpacity}, true]] : []),
    ...kernels.map(name => [name, commits.length > 1 ? null : looks({kernel: name}), true, () => chooseAlone(name)]),
    ...(kernels.length === 1 ? commits.map(one => [`at ${one.commit.slice(0, 8)} of ${one.written.slice(0, 10)}`, looks(one), true]) : [])]);
  byId("roofline-legend").append(...letters.map(({text, name}) => make("span", {}, make("strong", {}, text), ` ${name}`)));
  drawChart("roofline-chart", spec, points, tellCase,
    point => point.of.row && showRow(...point.of.row));
}

/**
 * How a case was launched. Where the cases that are shown differ in it their times do not compare: what tells them apart
 * stands beside the time.
 */
function callColumn(ways) {
  const words = way => way.split(", ");
  const shared = words(ways[0] ?? "").filter(word => ways.length > 1 && ways.every(way => words(way).includes(word)));
  const told = one => words(one.way).filter(word => !shared.includes(word)).join(", ") || "—";
  return {name: "way", title: "Call", of: told, show: told};
}

const caseColumns = (several, way) => [
  textColumn("kernel", "Kernel"),
  textColumn("shape", "Shape", true),
  numberColumn("measured", "Measured", one => rowLink(seconds(one.measured), one.row)),
  ...(several ? [way] : []),
  numberColumn("predicted", "Predicted", one => rowLink(seconds(one.predicted), one.prediction_row)),
  {name: "error", title: "Error", number: true, bySize: true, of: one => one.predicted === undefined ? undefined : Math.abs(one.predicted / one.measured - 1),
   show: one => one.predicted === undefined ? "—" : rowLink(signedPercent(one.predicted / one.measured - 1), one.row)},
  {name: "roof", title: "Of roof", number: true, of: one => one.bound > 0 ? shareOfRoof(one) : undefined,
   show: one => one.bound > 0 ? rowLink(ofRoofText(one, false), one.prediction_row) : "—"},
  textColumn("limiter", "Limiter"),
  {name: "sight", title: "Class", of: one => one.sight, show: one => one.sight || (one.comparison ? "of a comparison" : "—")},
  {name: "rate", title: "Rate", number: true, of: one => one.flops > 0 ? one.flops / one.measured : undefined, show: one => rowLink(rateText(one), one.row)},
  writtenColumn,
  {name: "suite", title: "Suite", of: one => one.suite, show: one => suiteName(one.suite)},
  textColumn("tile", "Tile"),
  ...(several ? [] : [way]),
];

function showCases() {
  const ways = unique(casesLeft().map(one => one.way));
  sortableTable(byId("cases-table"), "Cases", caseColumns(ways.length > 1, callColumn(ways)), casesLeft(), {by: "measured", down: true});
  showRoofline();
}
