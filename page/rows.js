// SPDX-License-Identifier: Apache-2.0
// Receipt rows: any number of the page opens the one it stands in.

async function showRow(file, line) {
  const of = page.data.files[file];
  const text = await rowText(file, line);
  byId("row-title").textContent = `${of.path}, line ${line}`;
  const body = byId("row-body");
  if (text === undefined) {
    body.replaceChildren(make("p", {}, `This file has ${plural(of.lines, "line")}.`));
  } else {
    body.replaceChildren(...rowParts(of, line, text));
  }
  if (!byId("row").open) byId("row").showModal();
}

function rowParts(of, line, text) {
  const findings = of.findings.filter(([where]) => where === line)
    .map(([, what]) => make("p", {class: "note"}, what));
  let row;
  try {
    row = JSON.parse(text);
  } catch {
    return [...findings, make("p", {class: "note"}, "This line is no row."), make("pre", {}, text)];
  }
  return [
    ...findings,
    make("p", {id: "row-hash"}, `${row.kind ?? "no kind"}, hash `, make("code", {}, row.hash ?? "none")),
    make("pre", {tabindex: "0", "aria-label": "The row"}, JSON.stringify(row, null, 2)),
  ];
}

function showRowsSection() {
  const body = byId("rows-body");
  const {files} = page.data;
  if (files.length === 0) {
    body.replaceChildren(make("p", {class: "note"}, "No receipt file is on this page."));
    return;
  }
  const line = make("input", {id: "any-line", type: "number", min: "1", value: "1", size: "7"});
  const file = choice("any-file", "File", files.map((one, i) =>
    [String(i), `${one.path} (${plural(one.lines, "line")})`]), () => { line.value = "1"; }, "0");
  body.replaceChildren(
    make("p", {}, "Every row of every file is on this page as it was written, with the hash that chains it to the one before."),
    make("div", {class: "controls"}, file, make("label", {for: "any-line"}, "Line", line),
      make("button", {type: "button", id: "any-open",
                      click: () => showRow(Number(byId("any-file").value), Number(line.value))}, "Open")));
}

function listenForRows() {
  document.addEventListener("click", event => {
    const link = event.target.closest?.("[data-row]");
    if (link) showRow(...link.dataset.row.split(",").map(Number));
  });
}
