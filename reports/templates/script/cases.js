  // One case: what went wrong, its values, its program, the command that replays it.
  const cut = (omitted) => (omitted ? [make("em", {}, `… ${plural(omitted, "more character")} left out; replay the case to see all of it`)] : []);
  const clipped = (text, limit) => {
    if (text.length <= limit * 1.25) return [text];
    return [text.slice(0, limit), make("details", { class: "more" }, make("summary", {}, "show more"), text.slice(limit))];
  };
  const scroll = (content, name) => make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": name }, content);
  const elements = (one, unit) => {
    const [wrong] = one.wrong ?? [0];
    const title = wrong === 1 ? "The wrong element" : wrong <= one.elements.length ? "The wrong elements" : `The worst ${one.elements.length} of ${number(wrong)} wrong elements`;
    const value = (decimal, bits) => make("code", {}, `${decimal} `, make("small", {}, bits));
    return scroll(table(["At", "Inputs", "Expected", ["Actual", "actual"], [unit, "n"]], one.elements.map(
      ([at, inputs, expected, expectedBits, actual, actualBits, error]) => [
        make("code", {}, at),
        inputs.length ? inputs.map(([name, decimal, bits]) => make("div", {}, make("span", { class: "name" }, name), " ", value(decimal, bits))) : "–",
        value(expected, expectedBits), value(actual, actualBits), error,
      ]), { class: "elements" }, title), title);
  };
  const programOf = (at) => {
    if (at === undefined || at < 0) return [];
    const [pretty, prettyCut, generic, genericCut] = data.programs[at];
    const shown = (kind, text, omitted) => make("pre", { class: kind, tabindex: "0" }, text, ...cut(omitted));
    return [make("p", { class: "label" }, "Program"),
      ...(generic === undefined ? [shown("", pretty, prettyCut)] : [shown("pretty", pretty, prettyCut), shown("generic", generic, genericCut)])];
  };
  const caseBody = (one) => {
    const cell = cells[one.cell], unit = unitOf(cell), parts = [];
    parts.push(make("div", { class: "message" }, ...clipped(one.message, 600), ...cut(one.cut)));
    const numbers = [];
    if (one.worst !== undefined) numbers.push("Worst error ", make("b", {}, one.worst), ` ${unit}${one.budget === undefined ? "" : `, budget ${one.budget}`}. `);
    if (one.wrong) numbers.push(`${number(one.wrong[0])} of ${plural(one.wrong[1], "element")} wrong.`);
    if (numbers.length) parts.push(make("p", { class: "numbers" }, ...numbers));
    if (one.elements?.length) parts.push(elements(one, unit));
    if (one.inputs) {
      const code = (text) => make("code", {}, text);
      parts.push(scroll(table(["Input", "Decimal", "Hex"], one.inputs.map((row) => row.map(code)), { class: "elements" }, "Inputs, the first of each"), "Inputs"));
    }
    if (one.beside) parts.push(make("ul", { class: "beside" }, ...one.beside.map((text) => make("li", {}, text))));
    parts.push(...programOf(one.program));
    parts.push(make("p", { class: "label" }, "Replay"), command(replayCommand(caseId(cell, one.index))));
    return parts;
  };
  const caseIndex = new Map();
  for (const group of data.groups) {
    for (const one of group.whole) caseIndex.set(caseId(cells[one.cell], one.index), { one, group });
    for (const [cell, index, message] of group.brief) caseIndex.set(caseId(cells[cell], index), { one: { cell, index, message }, group });
  }
  // A details element whose body is made when it is opened.
  const folded = (attributes, summary, draw, isOpen = false) => {
    const made = make("details", attributes, summary);
    const fill = () => { if (made.open && made.children.length === 1) made.append(draw()); };
    made.addEventListener("toggle", fill);
    if (isOpen) { made.open = true; fill(); }
    return made;
  };
  const caseItem = (one, isOpen) => {
    const id = caseId(cells[one.cell], one.index);
    return folded({ class: "finding", "data-case": id }, make("summary", {}, make("code", {}, id), " ", make("span", {}, one.message)),
      () => make("div", { class: "body" }, ...caseBody(one)), isOpen);
  };
