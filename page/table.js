// SPDX-License-Identifier: Apache-2.0
// Tables that sort by any column and show some rows at a time.

const rowsAtATime = 50;

/** By the table's id how it stands, which drawing the page anew in other colours or widths keeps. */
const tableStates = {};
/** By the table's id what it was drawn with last, and, where a number was opened that summarises some rows, these. */
const tablesDrawn = {}, tableOnly = {};

/** A number that shows the rows which it summarises, alone in the table `id`; plain text where none is on the page. */
function rowsLink(text, id, what, rows) {
  if (rows.length === 0) return document.createTextNode(text);
  return make("button", {class: "row-link", type: "button", title: `the rows behind it: ${plural(rows.length, "case")}`, click: () => {
    tableOnly[id] = {what, rows};
    sortableTable(...tablesDrawn[id]);
    byId(id).scrollIntoView({block: "start"});
    byId(id).querySelector(".only button").focus({preventScroll: true});
  }}, text);
}

/** What a table shows alone, and the way back. */
function onlyNote(where) {
  const only = tableOnly[where.id];
  return only === undefined ? [] : [make("p", {class: "note only"}, `${plural(only.rows.length, "case")}: ${only.what}. `,
    make("button", {type: "button", click: () => {
      delete tableOnly[where.id];
      sortableTable(...tablesDrawn[where.id]);
      where.querySelector(".scroll, .note").focus();
    }}, "All again"))];
}

/**
 * `columns`: [{name, title, of: row => value to sort by, show: row => text or node, number, wide, long, bySize}]. What is
 * sorted `bySize`, whatever its sign, says so.
 * Sorted by `by` at first, largest first if `down`. `least` columns have room in any window.
 */
function sortableTable(where, caption, columns, given, {by = columns[0].name, down = false, least = 2} = {}) {
  tablesDrawn[where.id] = [where, caption, columns, given, {by, down, least}];
  where.dataset.least = least;
  const rows = tableOnly[where.id]?.rows ?? given;
  const state = (page.redrawing && tableStates[where.id]) || {by, down, first: 0};
  tableStates[where.id] = state;
  const compare = (a, b) => {
    const {of} = columns.find(column => column.name === state.by);
    const [x, y] = [of(a), of(b)];
    const known = Number(x === undefined || x === null) - Number(y === undefined || y === null);
    if (known !== 0) return known;  // what is not known comes last either way
    const order = x < y ? -1 : x > y ? 1 : 0;
    return state.down ? -order : order;
  };
  const opened = new Set();  // rows whose further columns are shown
  const head = column => {
    const sorted = column.name === state.by;
    return make("th", {scope: "col", class: column.number ? "n" : null, "data-column": column.name,
                       "aria-sort": sorted ? (state.down ? "descending" : "ascending") : null},
      make("button", {type: "button", title: column.bySize ? `sorted ${bySizeText}` : null, click: () => {
        state.down = sorted ? !state.down : Boolean(column.number);
        state.by = column.name;
        state.first = 0;
        draw();
        where.querySelector(`th[data-column="${column.name}"] button`).focus();
      }}, column.title + (sorted ? (state.down ? " ▼" : " ▲") : ""),
        ...(sorted && column.bySize ? [" ", make("span", {class: "faint"}, "by size")] : [])));
  };
  const draw = () => {
    const sorted = [...rows].sort(compare);
    const shown = sorted.slice(state.first, state.first + rowsAtATime);
    const turn = (text, to, off) => make("button", {type: "button", disabled: off, "data-turn": text, click: () => {
      state.first = to;
      draw();
      // The button was drawn anew; at the end of the rows it cannot be pressed, and the other one can.
      const [again, other] = [text, text === "Back" ? "Further" : "Back"].map(name => where.querySelector(`[data-turn="${name}"]`));
      (again.disabled ? other : again).focus();
    }}, text);
    const pages = rows.length <= rowsAtATime ? null : make("div", {class: "pages"},
      turn("Back", state.first - rowsAtATime, state.first === 0),
      `${state.first + 1} to ${state.first + shown.length} of ${rows.length.toLocaleString("en")}`,
      turn("Further", state.first + rowsAtATime, state.first + rowsAtATime >= rows.length));
    const cell = (column, row) =>
      make("td", {class: column.number ? "n" : column.long ? "long" : column.wide ? "wide" : null}, column.show(row));
    const lines = shown.flatMap(row => {
      const toggle = make("button", {type: "button", class: "further", "aria-expanded": String(opened.has(row)), "aria-label": "Further columns", click: () => {
        if (!opened.delete(row)) opened.add(row);
        const at = shown.indexOf(row);
        draw();
        where.querySelectorAll("tbody .further")[at].focus();
      }}, opened.has(row) ? "−" : "+");
      return [make("tr", {}, columns.map(column => cell(column, row)), make("td", {class: "fold"}, toggle)),
              ...(opened.has(row) ? [make("tr", {class: "rest"}, make("td", {colspan: columns.length + 1},
                make("dl", {}, columns.flatMap(column => [make("dt", {"data-rest": column.name}, column.title), make("dd", {"data-rest": column.name}, column.show(row))]))))] : [])];
    });
    where.replaceChildren(...onlyNote(where), make("div", {class: "scroll", tabindex: "0", role: "region", "aria-label": caption},
      make("table", {}, make("caption", {class: "unseen"}, caption),
        make("thead", {}, make("tr", {}, columns.map(head), make("th", {class: "fold", scope: "col"}, make("span", {class: "unseen"}, "Further columns")))),
        make("tbody", {}, lines))),
      ...(pages ? [pages] : []), sortChoice(columns, state, column => {
        state.down = Boolean(column.number);
        state.by = column.name;
        state.first = 0;
        draw();
        where.querySelector(".by select").focus();
      }));
    fitTable(where);
  };
  if (rows.length === 0) {
    where.replaceChildren(make("p", {class: "note"}, "Nothing to show here."));
  } else {
    draw();
  }
}

/** How errors are sorted: one of −30 % is larger than one of +20 %. */
const bySizeText = "by size, whatever the sign";

/** A way to sort by columns that have no room; it is shown where there are such. */
function sortChoice(columns, state, chosen) {
  const select = make("select", {change: () => chosen(columns.find(column => column.name === select.value))},
    columns.map(({name, title, bySize}) => make("option", {value: name, selected: name === state.by}, bySize ? `${title}, ${bySizeText}` : title)));
  return make("div", {class: "controls by"}, make("label", {}, "Sort by", select));
}

/** Tables that were drawn, so that they fit again in another width. */
const tablesToFit = new Set();

/**
 * Columns from the right on fold away until the table is as wide as its place; the first two stay, or as many as the
 * table names, and what is folded stands behind the plus sign of each row.
 */
function fitTable(where) {
  tablesToFit.add(where);
  const frame = where.querySelector(".scroll");
  if (!frame || frame.clientWidth === 0) return;  // within something closed; it fits once that opens
  const cells = [...where.querySelectorAll("tr:not(.rest)")].map(row => [...row.children]);
  const count = cells[0].length - 1;
  const show = shown => {
    for (const row of cells) {
      row.forEach((cell, i) => { cell.hidden = i < count ? i >= shown : shown === count; });
    }
    for (const item of where.querySelectorAll("[data-rest]")) {
      const at = cells[0].findIndex(cell => cell.dataset.column === item.dataset.rest);
      item.hidden = at < shown;
    }
    for (const rest of where.querySelectorAll("tr.rest")) rest.hidden = shown === count;
    const by = where.querySelector(".by");
    if (by) by.hidden = shown === count;
  };
  const least = Number(where.dataset.least);
  let shown = count;
  show(shown);
  if (frame.scrollWidth > frame.clientWidth) {
    // From how wide columns are at least: each that is tried costs a layout of the page.
    const widths = cells[0].map(cell => cell.offsetWidth);
    let fits = 0;
    for (let width = 0; fits < count && (width += widths[fits]) <= frame.clientWidth;) fits += 1;
    shown = Math.max(least, Math.min(count - 1, fits + 1));
    show(shown);
  }
  while (shown > least && frame.scrollWidth > frame.clientWidth) show(--shown);
}
function fitTables() {
  for (const where of tablesToFit) {
    if (where.isConnected) fitTable(where);
    else tablesToFit.delete(where);
  }
}

function textColumn(name, title, wide = false) {
  return {name, title, wide, of: row => row[name], show: row => breakable(row[name] || "—", wide ? "," : "_")};
}
/** Shapes and tiles may be broken after a comma, lists of lengths after a semicolon, names of kernels and resources after an underscore or a dot, where columns are narrow. */
function breakable(text, mark = ",") {
  return String(text).split(mark === "," ? /(?<=[,;])(?=\S)/ : /(?<=[_.])(?=\S)/).flatMap((part, i) => i === 0 ? [part] : [make("wbr"), part]);
}
function numberColumn(name, title, show) {
  const known = row => row[name] !== null && row[name] !== undefined;
  return {name, title, number: true, of: row => row[name], show: row => known(row) ? show(row) : "—"};
}
/** When and at which commit a row was measured, and whether the kernel is still the same. */
const writtenText = one => `${one.written.slice(0, 10)} at ${one.commit.slice(0, 8)}${one.stale ? ", stale" : ""}`;
const writtenColumn = {name: "written", title: "Written", of: one => one.written, show: writtenText};
