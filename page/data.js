// SPDX-License-Identifier: Apache-2.0
// What the page carries, compressed: letters for gzip in script elements, as src/page/compressed.hpp has them.

const page = {data: null, vega: null, charts: {}, blocks: new Map(), redrawing: false};

const bytesOfLetters = (() => {
  const values = new Uint8Array(128);
  let places = 0;
  for (let code = 33; code < 127; code++) {
    if (!"&<\\".includes(String.fromCharCode(code))) values[code] = places++;
  }
  return text => {
    const pairs = text.length >> 1, single = text.length & 1;
    const bytes = new Uint8Array((13 * pairs + 6 * single) >> 3);
    let held = 0, bits = 0, at = 0;
    const take = (value, count) => {
      held = held << count | value;
      bits += count;
      while (bits >= 8) bytes[at++] = held >> (bits -= 8);
      held &= (1 << bits) - 1;
    };
    for (let i = 0; i < 2 * pairs; i += 2) take(values[text.charCodeAt(i)] * places + values[text.charCodeAt(i + 1)], 13);
    if (single) take(values[text.charCodeAt(2 * pairs)], 6);
    return bytes;
  };
})();

function unpackedBody(id) {
  const bytes = bytesOfLetters(byId(id).textContent);
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip")));
}
const unpacked = id => unpackedBody(id).text();

/** Lines of rows from templates and columns, as src/page/row_columns.hpp writes them. */
function linesOfColumns(text) {
  if (text.startsWith("p")) return text.slice(1).split("\n");
  const [templates, order, ...columns] = text.slice(1).split("\x02");
  const parts = templates.split("\n").map(template => template.split("\x01"));
  const values = columns.map(column => column.split("\n")), used = columns.map(() => 0), long = [];
  const numbers = new Map();  // of columns, by what stands before their gaps
  const columnOf = before => numbers.has(before) ? numbers.get(before) : numbers.set(before, numbers.size).get(before);
  const columnsOf = parts.map(texts => texts.slice(0, -1).map(columnOf));
  const value = column => {
    const written = values[column][used[column]++];
    const said = written.startsWith("~") ? long[long.length - Number(written.slice(1))] : written;
    if (said.length >= 12) long.push(said);
    return said;
  };
  return order.split(",").map(number => parts[number].reduce((line, next, i) => line + value(columnsOf[number][i - 1]) + next));
}

/** Objects of columns, as src/page/page_parts.hpp has them; a text that many may share is its number. */
function casesOfColumns(columns, texts) {
  const all = [];
  for (const [name, values] of Object.entries(columns)) {
    values.forEach((value, i) => {
      all[i] ??= {};
      if (value !== "~") all[i][name] = ["shape", "tile", "way"].includes(name) ? texts[value] : value;
    });
  }
  return all;
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
