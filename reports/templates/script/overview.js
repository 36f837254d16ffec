  // Side by side: a row per op, a column per backend, each cell a stripe of its element types.
  const slots = data.types.map((_, at) => at).filter((at) => at !== invalid);
  const SLOTS = slots.length + (invalid < 0 ? 0 : 2); // near misses stand apart, behind a gap
  const slotOf = new Map(slots.map((type, at) => [type, at]));
  if (invalid >= 0) slotOf.set(invalid, slots.length + 1);

  const colourOf = (cell, isLit) => {
    if (!isLit) return "var(--dim)";
    return cell.status === "known" ? `var(--k-${cell.state})` : `var(--h-${cell.state})`;
  };
  const stripe = (found, lit) => {
    const colours = new Array(SLOTS).fill("transparent");
    for (const cell of found) colours[slotOf.get(cell.type)] = colourOf(cell, lit.has(cell));
    const stops = [];
    for (let from = 0, to = 0; from < SLOTS; from = to) {
      for (to = from + 1; to < SLOTS && colours[to] === colours[from];) to += 1;
      stops.push(`${colours[from]} ${(100 * from / SLOTS).toFixed(2)}% ${(100 * to / SLOTS).toFixed(2)}%`);
    }
    return `linear-gradient(90deg,${stops.join(",")})`;
  };
  const ORDER = ["new", "known", "untested", "unsupported", "conforms"];
  const SIGNS = { new: "≠", known: "≠", untested: "○", unsupported: "–", conforms: "✓" };
  const SAID = Object.fromEntries(all("option", $("is")).map((option) => [option.value, option.textContent]));
  const counted = (found) => {
    const counts = {};
    for (const cell of found) counts[cell.status] = (counts[cell.status] ?? 0) + 1;
    return counts;
  };
  const toldCounts = (counts) => ORDER.toReversed().filter((name) => counts[name]).map((name) => `${counts[name]} ${SAID[name]}`).join(", ");
  const overviewCell = (op, backend, lit) => {
    const found = [...cellsOf[op][backend].values()];
    if (!found.length) return make("td", { class: "none" });
    const counts = counted(found);
    const failing = counts.new ? "new" : counts.known ? "known" : "";
    const shown = failing || (counts.conforms ? "conforms" : ORDER.find((name) => counts[name]));
    const said = `${plural(found.length, "cell")}: ${toldCounts(counts)}`;
    const made = make("td", { class: `o o-${shown}`, title: said, "data-o": `${op}/${backend}` },
      failing ? `${SIGNS[failing]} ${counts[failing]}` : SIGNS[shown]);
    made.style.backgroundImage = stripe(found, lit);
    return made;
  };
  const overviewRow = (op, lit) => make("tr", { "data-op": data.ops[op].name },
    make("th", { scope: "row" }, link(withState({ op: data.ops[op].name }), data.ops[op].name)),
    ...data.backends.map((_, backend) => overviewCell(op, backend, lit)));

  // Ops by dialect and family, those with a chosen cell.
  const byFamily = (lit) => {
    const shown = new Set([...lit].map((cell) => cell.op)), found = new Map();
    data.ops.forEach((op, at) => {
      if (!shown.has(at)) return;
      if (!found.has(op.dialect)) found.set(op.dialect, new Map());
      const families = found.get(op.dialect);
      if (!families.has(op.family)) families.set(op.family, []);
      families.get(op.family).push(at);
    });
    return found;
  };
  const dialectTitle = (dialect, families) => {
    const ops = [...families.values()].flat().length;
    return make("h3", { class: "dialect" }, dialect, make("span", {}, plural(ops, "op")));
  };
  const familyTitle = (dialect, family) => family.replace(`${dialect}: `, "");
  const overview = (lit) => {
    const made = [];
    for (const [dialect, families] of byFamily(lit)) {
      const tables = [...families].map(([family, ops]) => make("table", { class: "side" },
        make("thead", {}, make("tr", {}, make("th", { scope: "col", class: "family" }, familyTitle(dialect, family)),
          ...data.backends.map((name) => make("th", { scope: "col", class: "who", title: name }, data.backends.length > 1 ? name : "")))),
        make("tbody", {}, ...ops.map((op) => overviewRow(op, lit)))));
      const title = dialectTitle(dialect, families);
      made.push(title, make("div", { class: `sides of-${Math.min(data.backends.length, 6)}` }, ...tables));
    }
    return made;
  };
