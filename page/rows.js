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

/** A number whose row is not on the page, since its file left the tree: it opens how to get the row out of git. */
function leftLink(text, left) {
  if (!left) return document.createTextNode(text);
  return make("button", {class: "row-link", type: "button", "data-left": JSON.stringify(left), title: `${left[0]}, in git's history`}, text);
}

/** A number that opens its row, or says how to get it. */
const linkTo = (text, place, left) => place ? rowLink(text, place) : leftLink(text, left);

/** Prints the one row of its file that was written at that moment. */
function gitCommand([path, written]) {
  const [commit] = page.data.left[path] ?? [""];
  const unpack = path.endsWith(".gz") ? " | gunzip -c" : "";
  return `git show ${commit}:${path}${unpack} | grep '"written":"${written}"'`;
}

function showLeft(left) {
  const [path, written] = left;
  const [commit, sha256] = page.data.left[path] ?? ["", ""];
  byId("row-title").textContent = `${path}, in git's history`;
  const command = make("pre", {id: "git-command", tabindex: "0", "aria-label": "The command", class: "wrapped"}, gitCommand(left));
  byId("row-body").replaceChildren(
    make("p", {}, "The file of this row left the tree. The index of receipts keeps its times, which this page shows; the row itself, with its hash, is in git's history. In a clone of raceline this prints it:"),
    command,
    make("p", {}, make("button", {type: "button", id: "copy-command", click: event => copyText(command, event.target)}, "Copy the command")),
    make("p", {id: "row-hash"}, `Written ${written}. The file at commit `, make("code", {}, commit), " has the SHA-256 ", make("code", {}, sha256), "."));
  if (!byId("row").open) byId("row").showModal();
}

/** To the clipboard; where a browser keeps that from a page on disk the text is selected, to be copied by hand. */
async function copyText(element, button) {
  try {
    await navigator.clipboard.writeText(element.textContent);
    button.textContent = "Copied";
  } catch {
    getSelection().selectAllChildren(element);
    button.textContent = "Selected: copy it by hand";
  }
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
    const left = event.target.closest?.("[data-left]");
    if (left) showLeft(JSON.parse(left.dataset.left));
  });
}
