  const data = JSON.parse(document.getElementById("data").textContent);
  const $ = (id) => document.getElementById(id);
  const all = (selector, from = document) => [...from.querySelectorAll(selector)];

  // An element; text goes in as text, whatever it holds.
  const make = (tag, attributes = {}, ...children) => {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (value === true) made.setAttribute(name, "");
      else if (value !== false && value !== null && value !== undefined && value !== "") made.setAttribute(name, value);
    }
    made.append(...children.filter((child) => child !== null && child !== undefined));
    return made;
  };
  const number = (value) => value.toLocaleString("en-US");
  const plural = (value, noun, many = `${noun}s`) => `${number(value)} ${value === 1 ? noun : many}`;
  const words = (text) => text.replaceAll("_", " ");
  const joined = (parts, between = ", ") => parts.flatMap((part, at) => (at ? [between, part] : [part]));
  const some = (names, most = 6) => names.slice(0, most).join(", ") + (names.length > most ? ` and ${names.length - most} more` : "");
  const pairs = (flat) => Array.from({ length: flat.length / 2 }, (_, at) => [flat[2 * at], flat[2 * at + 1]]);

  // Rows become objects; what is left out at the end of a row is 0, "" or an empty list.
  const EMPTY = { worst: "", budget: "", verdicts: [], histogram: [], refusals: [], input: "" };
  const cells = data.cells.map((row, at) => {
    const cell = { at };
    data.fields.forEach((field, number) => { cell[field] = row[number] ?? EMPTY[field] ?? 0; });
    cell.status = data.statuses[cell.status];
    cell.state = data.states[cell.state];
    cell.failing = cell.new + cell.known;
    return cell;
  });
  const invalid = data.types.indexOf(data.nearMisses);
  const opName = (cell) => data.ops[cell.op].name;
  const typeName = (cell) => data.types[cell.type];
  const backendName = (cell) => data.backends[cell.backend];
  const keyOf = (cell) => `${opName(cell)}/${typeName(cell)}/${backendName(cell)}`;
  const byKey = new Map(cells.map((cell) => [keyOf(cell), cell]));
  const cellsOf = data.ops.map(() => data.backends.map(() => new Map())); // op, backend -> type -> cell
  for (const cell of cells) cellsOf[cell.op][cell.backend].set(cell.type, cell);
  const unitOf = (cell) => data.ops[cell.op].unit;
  const caseId = (cell, index) => `${opName(cell)}-${typeName(cell).replaceAll("<", "_").replaceAll(">", "")}-${backendName(cell)}-${index}`;

  const shellWord = (word) => (/^[A-Za-z0-9_@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`);
  const replayCommand = (id) => data.replay[0] + shellWord(id) + data.replay[1];

  const address = (state) => `#${new URLSearchParams(Object.entries(state))}`;
  const link = (state, text, attributes = {}) => make("a", { href: address(state), ...attributes }, text);
  const key = (state, known = false) => make("span", { class: `key s-${state}${known ? " known" : ""}`, "aria-hidden": "true" }, data.glyphs[state]);
  const tag = (state, known = false) => make("span", { class: "tag" }, key(state, known), words(state) + (known ? ", known" : ""));
  const typeTag = (name) => make("span", { class: "type" }, name);
  const command = (line) => make("span", { class: "command" }, make("code", {}, line),
    make("button", { type: "button", class: "copy", "aria-label": "Copy the command" }, "Copy"));
  const facts = (...rows) => make("dl", { class: "facts" },
    ...rows.filter(Boolean).map(([name, ...values]) => make("div", {}, make("dt", {}, name), make("dd", {}, ...values))));
  // A table; each column is a title, or a title and a class. A row is a list of contents, the first its heading.
  // With `most`, the first rows of a long table and the button that draws more.
  const table = (columns, rows, attributes = {}, caption = "", most = 0) => {
    const [titles, classes] = [columns.map((c) => (Array.isArray(c) ? c[0] : c)), columns.map((c) => (Array.isArray(c) ? c[1] : ""))];
    const head = make("tr", {}, ...titles.map((title, at) => make(title ? "th" : "td", { scope: title ? "col" : null, class: classes[at] }, title)));
    const draw = (row) => make("tr", {}, ...row.map((content, at) => make(at ? "td" : "th",
      { scope: at ? null : "row", class: classes[at], "data-label": titles[at] }, ...(Array.isArray(content) ? content : [content]))));
    const body = make("tbody");
    const made = make("table", attributes, caption ? make("caption", {}, caption) : null, make("thead", {}, head), body);
    if (!most) { body.append(...rows.map(draw)); return made; }
    return [made, inParts(rows, draw, body, most)];
  };
  // Long lists are drawn in parts.
  const inParts = (items, draw, into, first = 60, next = 200) => {
    let shown = 0;
    const more = make("button", { type: "button", class: "quiet more-rows" });
    const add = (count) => {
      into.append(...items.slice(shown, shown + count).map(draw));
      shown = Math.min(items.length, shown + count);
      more.textContent = `Show ${number(Math.min(next, items.length - shown))} more of ${number(items.length)}`;
      more.hidden = shown >= items.length;
    };
    more.addEventListener("click", () => add(next));
    add(first);
    return more;
  };
