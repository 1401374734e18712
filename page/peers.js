// SPDX-License-Identifier: Apache-2.0
// Other libraries beside ours.

const peersChosen = {device: "", kernel: "", commit: null};  // commit: "" is all of them, null not chosen yet

function peersSpec(points, shapesShown, width, step) {
  const xs = points.flatMap(point => [point.of.low, point.of.high, 1]);
  const [low, high] = [Math.min(...xs) / 1.15, Math.max(...xs) * 1.15];
  const values = ratioPlaces(low, high);
  return {
    width, height: shapesShown.length * step + 4,
    signals: [{name: "paper", value: css("--paper")}],
    data: [{name: "peers", values: points.map((point, i) => ({i, x: point.x, low: point.of.low, high: point.of.high, y: point.y, stale: point.of.stale, down: point.down, ...point.look}))},
           {name: "shapes", values: shapesShown.map(y => ({y}))}],
    scales: [{name: "x", type: "log", domain: [low, high], range: "width"},
             {name: "y", type: "point", padding: 0, align: 0, domain: shapesShown, range: {step}}],
    axes: [{orient: "top", scale: "x", format: "~r", grid: true, values, labelOverlap: "greedy"},
           {orient: "bottom", scale: "x", title: "peer's time / ours", format: "~r", values, labelOverlap: "greedy"}],
    marks: [
      {type: "rule", interactive: false, encode: {update: {x: {scale: "x", value: 1}, y: {value: 0}, y2: {signal: "height"}, strokeWidth: {value: 1.5}, stroke: {value: css("--ink")}}}},
      // Neither the line at 1 nor those of the grid cross the names.
      {type: "rect", name: "behind-names", from: {data: "shapes"}, interactive: false, encode: {update: {x: {value: 1}, x2: {signal: "width"}, y: {scale: "y", field: "y", offset: 1}, height: {value: 16}, fill: {value: css("--paper")}}}},
      ...[css("--paper"), null].map(rim => ({type: "text", from: {data: "shapes"}, interactive: false, encode: {update: {...(rim ? {stroke: {value: rim}, strokeWidth: {value: 3}} : {}), x: {value: 2}, y: {scale: "y", field: "y", offset: 13}, text: {field: "y"}, fontSize: {value: width < 500 ? 9 : 10.5}, fill: {value: css("--faint")}, limit: {signal: "width"}}}})),
      {type: "rule", from: {data: "peers"}, interactive: false, encode: {update: {x: {scale: "x", field: "low"}, x2: {scale: "x", field: "high"}, y: {scale: "y", field: "y", offset: {field: "down"}}, stroke: {field: "colour"}, strokeWidth: {value: 2}}}},
      {type: "symbol", from: {data: "peers"}, encode: {update: {x: {scale: "x", field: "x"}, y: {scale: "y", field: "y", offset: {field: "down"}}, shape: {field: "shape"}, size: {value: 44}, fill: {signal: "datum.stale ? paper : datum.colour"}, stroke: {field: "colour"}, strokeWidth: {value: 1.2}, cursor: {value: "pointer"}}}}],
  };
}

/** A peer's name in full. Where two of `all` have the same, their short names tell them apart. */
const peerTitle = (peer, all) => all.some(other => other.title === peer.title && other.peer !== peer.peer) ? `${peer.title} (${peer.peer})` : peer.title;
/** And how it was called, without the names of the kernels that ran: these stand in its row. */
const peerName = (peer, all) => peer.form ? `${peerTitle(peer, all)}, ${peer.form.split(":")[0]}` : peerTitle(peer, all);

/** The commits that cases or comparisons were measured at, the newest first: {commit, written, stale, n}. */
function commitsOf(measured) {
  const found = new Map();
  for (const {commit, written, stale} of measured) {
    const known = found.get(commit) ?? {commit, written, stale, n: 0};
    found.set(commit, {...known, written: written > known.written ? written : known.written, stale: known.stale || stale, n: known.n + 1});
  }
  return [...found.values()].sort((a, b) => a.written < b.written ? 1 : -1);
}
const commitName = ({commit, written}) => `${commit.slice(0, 8)} of ${written.slice(0, 10)}`;
const commitText = (one, noun) => `${commitName(one)}, ${plural(one.n, noun)}${one.stale ? ", stale" : ""}`;

/** Of choices the one that most comparisons of today's program are of; where there are none, most of any. */
function mostFresh(names, comparisonsOf) {
  const [first, ...others] = names.map(name => {
    const all = comparisonsOf(name);
    return {name, all: all.length, fresh: all.filter(({stale}) => !stale).length};
  });
  return others.reduce((best, one) => one.fresh > best.fresh || (one.fresh === best.fresh && one.all > best.all) ? one : best, first).name;
}

function showPeers() {
  const {peers} = page.data;
  if (peers.length === 0) {
    byId("peers-table").replaceChildren(make("p", {class: "note"}, "No comparison with another library stands in these receipts."));
    return;
  }
  const devices = unique(peers.map(peer => peer.device));
  if (!devices.includes(peersChosen.device)) peersChosen.device = mostFresh(devices, device => peers.filter(peer => peer.device === device));
  const here = peers.filter(peer => peer.device === peersChosen.device);
  const kernels = unique(here.map(peer => peer.kernel));
  if (!kernels.includes(peersChosen.kernel)) peersChosen.kernel = mostFresh(kernels, kernel => here.filter(peer => peer.kernel === kernel));
  const ours = here.filter(peer => peer.kernel === peersChosen.kernel);
  const commits = commitsOf(ours);
  if (peersChosen.commit !== "" && !commits.some(one => one.commit === peersChosen.commit)) peersChosen.commit = mostFresh(commits.map(one => one.commit), commit => ours.filter(peer => peer.commit === commit));
  const changed = name => value => {
    peersChosen[name] = value;
    delete tableOnly["peers-table"];
    if (name !== "commit") peersChosen.commit = null;
    showPeers();
    byId(`peers-${name}`).focus();
  };
  byId("peers-controls").replaceChildren(
    choice("peers-device", "Device", devices.map(name => [name, name]), changed("device"), peersChosen.device),
    choice("peers-kernel", "Kernel of ours", kernels.map(name => [name, name]), changed("kernel"), peersChosen.kernel),
    choice("peers-commit", "Measured at commit", [...commits.map(one => [one.commit, commitText(one, "comparison")]), ...(commits.length > 1 ? [["", "all of them"]] : [])],
      changed("commit"), peersChosen.commit));
  const rows = ours.filter(peer => peersChosen.commit === "" || peer.commit === peersChosen.commit).map((peer, _, all) => ({...peer, name: peerName(peer, all)}));
  const names = unique(rows.map(peer => peer.name));
  // Each peer a little lower than the one before, so that marks of close ratios stay apart.
  const apart = 7, step = 30 + apart * (names.length - 1);
  const points = rows.filter(peer => [peer.ratio, peer.low, peer.high].every(drawable)).map(peer => ({of: peer, x: peer.ratio, y: peer.shape, down: 22 + apart * names.indexOf(peer.name), look: lookOf(peer.look)}));
  const faster = rows.filter(peer => peer.low > 1), slower = rows.filter(peer => peer.high < 1);
  const within = rows.filter(peer => !faster.includes(peer) && !slower.includes(peer));
  const link = (some, what) => rowsLink(String(some.length), "peers-table", what, some);
  const stale = rows.filter(peer => peer.stale).length;
  byId("peers-said").replaceChildren(
    `${plural(rows.length, "comparison")} on ${plural(new Set(rows.map(peer => peer.shape)).size, "shape")}: ours is faster in `, link(faster, "ours is faster"),
    ", slower in ", link(slower, "ours is slower"), ", and within the interval in ", link(within, "the interval holds one"), "." +
    `${stale > 0 ? ` Hollow marks, ${stale} of them, are stale: our kernel's machine code has changed since, so that they say nothing of the newest one.` : ""}` +
    `${rows.length < ours.length ? ` ${plural(ours.length - rows.length, "comparison")} at other commits can be chosen above.` : ""}` +
    `${rows.length > points.length ? ` ${plural(rows.length - points.length, "comparison")} not drawn: a ratio is beyond what two programs can differ by.` : ""}`);
  byId("peers-chart").setAttribute("aria-label", `Peers. ${byId("peers-said").textContent}`);
  legend("peers-legend", [...names.map(name => [name, lookOf(rows.find(peer => peer.name === name).look), true]),
    ...(stale > 0 ? [["stale: our kernel has changed since", {colour: ink(), shape: "circle"}, false]] : [])]);
  sortableTable(byId("peers-table"), "Comparisons", [
    textColumn("shape", "Shape", true),
    numberColumn("ratio", "Peer's time / ours", peer => rowLink(fixed(peer.ratio, 3), peer.row)),
    {name: "low", title: "Interval", number: true, of: peer => peer.low, show: peer => rowLink(`${fixed(peer.low, 3)} to ${fixed(peer.high, 3)}`, peer.row)},
    textColumn("name", "Peer"),
    writtenColumn,
  ], rows, {by: "ratio"});
  if (points.length === 0) {
    eraseChart("peers-chart");
    return;
  }
  drawChart("peers-chart", peersSpec(points, [...new Set(points.map(point => point.y))], widthOf("peers-chart"), step), points,
    point => [["peer", point.of.name], ["shape", point.of.shape], ["peer's time / ours", `${fixed(point.of.ratio, 3)} (${fixed(point.of.low, 3)} to ${fixed(point.of.high, 3)})`],
              ["measured", writtenText(point.of)]],
    point => point.of.row && showRow(...point.of.row));
}
