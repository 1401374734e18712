// SPDX-License-Identifier: Apache-2.0
// Other libraries beside ours, and two runs beside each other.

const peersChosen = {device: "", kernel: ""};

function peersSpec(points, shapesShown, width) {
  const xs = points.flatMap(point => [point.of.low, point.of.high, 1]);
  return {
    width, height: shapesShown.length * 32 + 4,
    data: [{name: "peers", values: points.map((point, i) => ({i, x: point.x, low: point.of.low, high: point.of.high, y: point.y, ...point.look}))},
           {name: "shapes", values: shapesShown.map(y => ({y}))}],
    scales: [{name: "x", type: "log", domain: [Math.min(...xs) / 1.15, Math.max(...xs) * 1.15], range: "width"},
             {name: "y", type: "point", padding: 0, align: 0, domain: shapesShown, range: {step: 32}}],
    axes: [{orient: "top", scale: "x", format: "~r", grid: true, tickCount: 6, labelOverlap: "greedy"},
           {orient: "bottom", scale: "x", title: "peer's time / ours", format: "~r", tickCount: 6, labelOverlap: "greedy"}],
    marks: [
      {type: "rule", interactive: false, encode: {update: {x: {scale: "x", value: 1}, y: {value: 0}, y2: {signal: "height"}, strokeWidth: {value: 1.5}, stroke: {value: css("--ink")}}}},
      ...[css("--paper"), null].map(rim => ({type: "text", from: {data: "shapes"}, interactive: false, encode: {update: {...(rim ? {stroke: {value: rim}, strokeWidth: {value: 3}} : {}), x: {value: 2}, y: {scale: "y", field: "y", offset: 13}, text: {field: "y"}, fontSize: {value: width < 500 ? 9 : 10.5}, fill: {value: css("--faint")}, limit: {signal: "width"}}}})),
      {type: "rule", from: {data: "peers"}, interactive: false, encode: {update: {x: {scale: "x", field: "low"}, x2: {scale: "x", field: "high"}, y: {scale: "y", field: "y", offset: 23}, stroke: {field: "colour"}, strokeWidth: {value: 2}}}},
      {type: "symbol", from: {data: "peers"}, encode: {update: {x: {scale: "x", field: "x"}, y: {scale: "y", field: "y", offset: 23}, shape: {field: "shape"}, size: {value: 44}, fill: {field: "colour"}, stroke: {value: css("--paper")}, strokeWidth: {value: 0.6}, cursor: {value: "pointer"}}}}],
  };
}

/** How the peer was called, without the names of the kernels that ran: these stand in its row. */
const peerName = peer => peer.form ? `${peer.peer}, ${peer.form.split(":")[0]}` : peer.peer;

function showPeers() {
  const {peers} = page.data;
  if (peers.length === 0) {
    byId("peers-table").replaceChildren(make("p", {class: "note"}, "No comparison with another library stands in these receipts."));
    return;
  }
  const devices = unique(peers.map(peer => peer.device));
  if (!devices.includes(peersChosen.device)) {
    const counts = devices.map(device => peers.filter(peer => peer.device === device).length);
    peersChosen.device = devices[counts.indexOf(Math.max(...counts))];
  }
  const here = peers.filter(peer => peer.device === peersChosen.device);
  const kernels = unique(here.map(peer => peer.kernel));
  const most = kernels.map(kernel => here.filter(peer => peer.kernel === kernel).length);
  if (!kernels.includes(peersChosen.kernel)) peersChosen.kernel = kernels[most.indexOf(Math.max(...most))];
  const changed = name => value => {
    peersChosen[name] = value;
    showPeers();
    byId(`peers-${name}`).focus();
  };
  byId("peers-controls").replaceChildren(
    choice("peers-device", "Device", devices.map(name => [name, name]), changed("device"), peersChosen.device),
    choice("peers-kernel", "Kernel of ours", kernels.map(name => [name, name]), changed("kernel"), peersChosen.kernel));
  const rows = here.filter(peer => peer.kernel === peersChosen.kernel).map(peer => ({...peer, name: peerName(peer)}));
  const names = unique(rows.map(peer => peer.name));
  const points = rows.map(peer => ({of: peer, x: peer.ratio, y: peer.shape, down: 23, look: lookOf(names.indexOf(peer.name))}));
  const faster = rows.filter(peer => peer.low > 1).length, slower = rows.filter(peer => peer.high < 1).length;
  const said = `${plural(rows.length, "comparison")} on ${plural(new Set(rows.map(peer => peer.shape)).size, "shape")}: ours is faster in ${faster}, slower in ${slower}, and within the interval in ${rows.length - faster - slower}.`;
  byId("peers-said").textContent = said;
  byId("peers-chart").setAttribute("aria-label", `Peers. ${said}`);
  legend("peers-legend", names.map((name, i) => [name, lookOf(i), true]));
  sortableTable(byId("peers-table"), "Comparisons", [
    textColumn("shape", "Shape", true),
    numberColumn("ratio", "Peer's time / ours", peer => rowLink(peer.ratio.toFixed(3), peer.row)),
    {name: "low", title: "Interval", number: true, of: peer => peer.low, show: peer => `${peer.low.toFixed(3)} to ${peer.high.toFixed(3)}`},
    textColumn("name", "Peer"),
  ], rows, {by: "ratio"});
  drawChart("peers-chart", peersSpec(points, [...new Set(rows.map(peer => peer.shape))], widthOf("peers-chart")), points,
    point => [["peer", point.of.name], ["shape", point.of.shape], ["peer's time / ours", `${point.of.ratio.toFixed(3)} (${point.of.low.toFixed(3)} to ${point.of.high.toFixed(3)})`]],
    point => point.of.row && showRow(...point.of.row));
}

function showDiff() {
  const {diff} = page.data;
  if (!diff) return;
  byId("diff").hidden = false;
  document.querySelector('nav a[href="#diff"]').hidden = false;
  const count = change => diff.cases.filter(one => one.change === change).length;
  byId("diff-body").replaceChildren(
    make("p", {}, `Before: ${diff.before}. After: ${diff.after}. Of ${plural(diff.cases.length, "case")} that both timed, ${count("faster")} became faster and ${count("slower")} slower; ${diff.cases.filter(one => one.missed).length} are mispredicted after. ${diff.only_before} stand before alone, ${diff.only_after} after alone.`),
    make("div", {id: "diff-table"}));
  sortableTable(byId("diff-table"), "Cases of two runs", [
    textColumn("kernel", "Kernel"), textColumn("shape", "Shape", true),
    numberColumn("before", "Before", one => rowLink(seconds(one.before), one.before_row)),
    numberColumn("after", "After", one => rowLink(seconds(one.after), one.after_row)),
    numberColumn("ratio", "Before / after", one => `${one.ratio.toFixed(3)} (${one.low.toFixed(3)} to ${one.high.toFixed(3)})`),
    textColumn("change", "Change"),
    {name: "missed", title: "Prediction", of: one => one.missed, show: one => one.missed ? "missed" : "hit or none"},
  ], diff.cases, {by: "ratio"});
}
