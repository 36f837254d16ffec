  // The matrix of one backend: a row per op, a column per element type, near misses apart.
  const KINDS = ["si", "ui", "f4", "f6", "f8", "i1", "complex", "q<"];
  const columnKind = (at) => (at === invalid ? "invalid" : KINDS.find((kind) => data.types[at].startsWith(kind)) ?? "float");
  // Three characters fit beside the sign of a cell: 9.7, 54, 5e3, and e12 for 5e12.
  const FITS = 3;
  const short = (given) => {
    const value = Number(given);
    if (given.length <= FITS || !Number.isFinite(value)) return given;
    if (value < 0.05) return "<.1";
    const power = value.toExponential(0).replace("+", "");
    return [value.toFixed(1), value.toFixed(0), power].find((one) => one.length <= FITS) ?? power.slice(1);
  };
  const brief = (cell) => {
    const whole = cell.budget ? `${cell.worst || 0}/${cell.budget}` : cell.worst;
    return whole.length <= FITS ? whole : short(cell.worst || "0");
  };
  const label = (cell) => {
    const parts = [`${opName(cell)} ${typeName(cell)} on ${backendName(cell)}: ${words(cell.state)}${cell.status === "known" ? ", known" : ""}`];
    if (cell.cases) parts.push(plural(cell.cases, "case"));
    if (cell.budget) parts.push(`worst error ${cell.worst || 0} ${unitOf(cell)}, budget ${cell.budget}`);
    return parts.join(", ");
  };
  const matrixCell = (cell, isLit, gap) => {
    const known = cell.status === "known" ? " known" : "";
    const shown = brief(cell), share = cell.share > 0 || (cell.share === 0 && cell.budget && cell.worst) ? cell.share : -1;
    const made = make("td", {
      class: `c s-${cell.state}${known}${isLit ? "" : " dim"}${gap}${share >= 0 ? " u" : ""}`, "data-k": keyOf(cell), tabindex: "-1",
      title: label(cell),
    }, `${data.glyphs[cell.state]}${shown ? ` ${shown}` : ""}`);
    if (share >= 0) made.style.setProperty("--u", `${share}%`);
    return made;
  };
  const matrixRow = (op, backend, columns, gaps, lit) => {
    const row = make("tr", { "data-op": data.ops[op].name },
      make("th", { scope: "row" }, link(withState({ op: data.ops[op].name }), data.ops[op].name, { tabindex: "-1" })));
    const own = cellsOf[op][backend];
    for (let at = 0, empty = 0; at < columns.length; at += 1) {
      const cell = own.get(columns[at]), gap = gaps[at] ? " gap" : "";
      if (cell) { row.append(matrixCell(cell, lit.has(cell), gap)); empty = 0; continue; }
      empty += 1;
      const ends = at + 1 === columns.length || own.has(columns[at + 1]);
      if (ends) { row.append(make("td", { class: "none", colspan: empty })); empty = 0; }
    }
    return row;
  };
  const matrixOf = (backend, lit) => {
    const own = new Set([...lit].filter((cell) => cell.backend === backend));
    const made = [];
    for (const [dialect, families] of byFamily(own)) {
      const ops = [...families.values()].flat();
      const planned = new Set(ops.flatMap((op) => [...cellsOf[op][backend].keys()]));
      const columns = [...slots, ...(invalid < 0 ? [] : [invalid])].filter((at) => planned.has(at) && (!state.type || data.types[at] === state.type));
      const gaps = columns.map((at, number) => number > 0 && columnKind(at) !== columnKind(columns[number - 1]));
      const name = `${dialect} on ${data.backends[backend]}`;
      const head = make("tr", {}, make("td", { class: "corner" }),
        ...columns.map((at, number) => make("th", { scope: "col", class: `col${gaps[number] ? " gap" : ""}`, "data-t": data.types[at] },
          make("span", {}, at === invalid ? "invalid programs" : data.types[at]))));
      const bodies = [...families].map(([family, found]) => make("tbody", { "data-family": family },
        make("tr", { class: "family" }, make("th", { scope: "rowgroup", colspan: columns.length + 1 }, make("span", {}, familyTitle(dialect, family)))),
        ...found.map((op) => matrixRow(op, backend, columns, gaps, own))));
      made.push(dialectTitle(dialect, families), make("div", { class: "matrix", role: "region", tabindex: "0", "aria-label": `Matrix of ${name}, scrolls`, "data-backend": data.backends[backend] },
        make("table", { role: "grid", "aria-label": `Op by element type, ${name}` }, make("thead", {}, head), ...bodies)));
    }
    return made;
  };

  // One cell of each matrix is in the tab order; the arrow keys move within.
  const visible = (cell) => cell.offsetParent !== null;
  const rove = () => {
    for (const matrix of all(".matrix")) {
      const own = all(".c", matrix);
      const current = own.find((cell) => !cell.classList.contains("dim")) ?? own[0];
      if (current) current.tabIndex = 0;
    }
  };
  const focusCell = (cell) => {
    for (const other of all(".c[tabindex='0']", cell.closest(".matrix"))) other.tabIndex = -1;
    cell.tabIndex = 0;
    cell.focus({ preventScroll: true });
    cell.scrollIntoView({ block: "nearest", inline: "nearest", behavior: "instant" });
  };
  const columnOf = (cell) => byKey.get(cell.dataset.k).type;
  const neighbour = (cell, pressed) => {
    const rows = all("tbody tr[data-op]", cell.closest("table")).filter((row) => row.querySelector(".c"));
    const row = cell.parentElement, own = all(".c", row);
    if (pressed === "Home") return own[0];
    if (pressed === "End") return own.at(-1);
    if (pressed === "ArrowLeft") return own[own.indexOf(cell) - 1];
    if (pressed === "ArrowRight") return own[own.indexOf(cell) + 1];
    const next = rows[rows.indexOf(row) + (pressed === "ArrowDown" ? 1 : -1)];
    if (!next) return undefined;
    const near = (other) => Math.abs(columnOf(other) - columnOf(cell));
    return all(".c", next).sort((a, b) => near(a) - near(b))[0];
  };
  // A matrix that fits the page scrolls with it, its head stays below the filters.
  const fit = () => {
    document.documentElement.style.setProperty("--bar", `${$("filters").offsetHeight - 1}px`);
    for (const matrix of all(".matrix")) {
      const own = matrix.querySelector("table");
      matrix.classList.toggle("fits", innerWidth > 640 && own.offsetWidth <= matrix.clientWidth);
    }
  };
