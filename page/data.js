// SPDX-License-Identifier: Apache-2.0
// What the page carries, compressed: base64 of gzip in script elements.

const page = {data: null, vega: null, charts: {}, blocks: new Map(), redrawing: false};

async function unpacked(id) {
  const bytes = Uint8Array.from(atob(byId(id).textContent), letter => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).text();
}

/** Lines of rows from templates and columns, as src/page/row_columns.hpp writes them. */
function linesOfColumns(text) {
  if (text.startsWith("p")) return text.slice(1).split("\n");
  const [templates, order, ...columns] = text.slice(1).split("\x02");
  const parts = templates.split("\n").map(template => template.split("\x01"));
  const values = columns.map(column => column.split("\n")), used = columns.map(() => 0), long = [];
  let count = 0;
  const first = parts.map(({length}) => (count += length - 1) - length + 1);
  const value = column => {
    const written = values[column][used[column]++];
    const said = written.startsWith("~") ? long[long.length - Number(written.slice(1))] : written;
    if (said.length >= 12) long.push(said);
    return said;
  };
  return order.split(",").map(number => parts[number].reduce((line, next, i) => line + value(first[number] + i - 1) + next));
}

/** The text of one line of a receipt file, as it stands there; undefined if the file has no such line. */
async function rowText(file, line) {
  const piece = page.data.pieces.find(([of, first, lines]) => of === file && first <= line && line < first + lines);
  if (!piece) return undefined;
  const [, first, , block, offset] = piece;
  if (!page.blocks.has(block)) page.blocks.set(block, unpacked(`rows-${block}`).then(linesOfColumns));
  return (await page.blocks.get(block))[offset + line - first] || undefined;
}

/** Vega as its package ships it: modules that ask each other by name. */
async function loadVega() {
  const texts = JSON.parse(await unpacked("vega"));
  const loaded = {};
  const require = asked => {
    const name = asked === "vega-selections" ? "vega-selection" : asked;
    if (!loaded[name]) {
      const module = {exports: loaded[name] = {}};
      if (!texts[name]) throw new Error(`this page has no module ${name}`);
      new Function("exports", "module", "require", texts[name])(module.exports, module, require);
    }
    return loaded[name];
  };
  const {transforms} = require("vega-dataflow");
  for (const name of ["vega-transforms", "vega-view-transforms", "vega-encode"]) {
    Object.assign(transforms, require(name));
  }
  return {parse: require("vega-parser").parse, View: require("vega-view").View};
}
