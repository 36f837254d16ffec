  // The dialog: a cell, an op, or a case.
  const dialog = $("detail");
  const heading = (text) => make("h2", { id: "detail-title" }, text);
  const closeButton = () => {
    const made = make("button", { type: "button", class: "close", "aria-label": "Close" }, "×");
    made.addEventListener("click", () => dialog.close());
    return made;
  };
  const here = (name) => link(withState({ op: "", cell: "", case: "", ...name }), Object.values(name)[0]);
  const findingList = (found) => make("ul", { class: "cases" }, ...found.map(({ one, group }) => {
    const id = caseId(cells[one.cell], one.index);
    return make("li", {}, tag(data.states[group.state], group.status === 1), " ", here({ case: id }), ` ${group.kind}`, make("p", {}, one.message));
  }));
  const casesOf = (isOwn) => [...caseIndex.values()].filter(({ one }) => isOwn(cells[one.cell]))
    .sort((a, b) => a.group.status - b.group.status || a.one.cell - b.one.cell || a.one.index - b.one.index);
  const errorText = (cell) => (cell.worst === "" && cell.budget === "" ? "no measure" : `${cell.worst || 0} ${unitOf(cell)}, budget ${cell.budget || "none"}`);

  const cellDetail = (name) => {
    const cell = byKey.get(name);
    if (!cell) return null;
    const isInvalid = cell.type === invalid;
    const parts = [heading(`${opName(cell)} ${isInvalid ? "invalid programs" : typeName(cell)}`), make("p", {}, tag(cell.state, cell.status === "known"), `: ${data.meanings[cell.state]}`)];
    const verdicts = cell.verdicts.length ? pairs(cell.verdicts) : cell.cases ? [[data.states.indexOf(cell.state), cell.cases]] : [];
    parts.push(facts(["Backend", backendName(cell)],
      ["Cases", `${plural(cell.cases, "case")}, ${plural(cell.pairs, "input set")}, ${plural(cell.values, "value")}`],
      cell.cached ? ["From the cache", `${number(cell.cached)} of ${plural(cell.cases, "case")}, which did not fail in an earlier run`] : null,
      cell.leftOut ? ["Left out", `--budget left out up to ${plural(cell.leftOut, "case")}`] : null,
      ["Verdicts", ...joined(verdicts.map(([at, count]) => make("span", {}, tag(data.states[at]), ` ${number(count)}`)))],
      ["Worst error", errorText(cell), ...(cell.input ? [" at ", make("code", {}, cell.input)] : [])],
      ["Rule", here({ op: opName(cell) }), `: ${data.ops[cell.op].rule}`],
      data.backends.length > 1 ? ["Other backends", ...joined(data.backends.flatMap((_, at) => {
        const other = at === cell.backend ? null : cellsOf[cell.op][at].get(cell.type);
        return other ? [make("a", { href: address(withState({ op: "", case: "", cell: keyOf(other) })) }, tag(other.state, other.status === "known"), ` ${backendName(other)}`)] : [];
      }))] : null));
    const batches = data.batches.filter(([of]) => of.includes(cell.at));
    if (batches.length) parts.push(make("h3", {}, "Lost batches with cases of this cell"), ...batches.map(([, said]) => make("p", {}, said)));
    if (isInvalid) parts.push(make("p", { class: "hint" }, "Programs that break one constraint each: the backend must refuse them."));
    const picture = curve(cell.op, cell.type);
    if (picture) parts.push(make("h3", {}, "Signed error against the input"), picture);
    if (cell.histogram.length) parts.push(make("h3", {}, `Errors ${unitOf(cell) === "ulp" ? "in ulp" : `as parts ${unitOf(cell)}`}, by number of values (logarithmic)`), bars(cell));
    if (cell.refusals.length) parts.push(make("h3", {}, "Why not supported"), ...cell.refusals.map((at) => make("p", {}, data.refusals[at])));
    parts.push(...cellHistory(name));
    const found = casesOf((other) => other === cell);
    if (found.length) parts.push(make("h3", {}, "Divergences"), findingList(found));
    if (found.length) parts.push(make("h3", {}, "Replay the first"), command(replayCommand(caseId(cell, found[0].one.index))));
    return parts;
  };

  const opCell = (op, backend, type) => {
    const cell = cellsOf[op][backend].get(type);
    if (!cell) return "";
    const shown = make("a", { href: address(withState({ op: "", case: "", cell: keyOf(cell) })), title: label(cell) }, key(cell.state, cell.status === "known"), cell.worst ? `${cell.worst}/${cell.budget || "–"}` : "");
    return shown;
  };
  const opDetail = (name) => {
    const op = data.ops.findIndex((one) => one.name === name);
    if (op < 0) return null;
    const row = data.ops[op], present = [...slots, invalid].filter((type) => cellsOf[op].some((found) => found.has(type)));
    const rows = present.map((type) => [type === invalid ? "invalid programs" : data.types[type], ...data.backends.map((_, backend) => opCell(op, backend, type))]);
    const tried = data.invalid.find(([at]) => at === op);
    const parts = [heading(row.name), make("p", {}, `${row.family}, ${row.dialect}`),
      make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": `Cells of ${row.name}` }, table(["Element type", ...data.backends], rows, { class: "plain types" }, `Worst error/budget, in ${row.unit === "ulp" ? "ulp" : `parts ${row.unit}`}`)),
      facts(["Rule", make("strong", {}, row.rule), `: ${row.text}`], ["Source", row.source || "none"],
        ["Constraints tried by near misses", `${tried ? tried[1] : 0} of ${row.constraints}`],
        ["Values of attributes that cases have", attributeText(row)],
        otherText(row) ? ["Values of other dimensions", otherText(row)] : null,
        row.reached ? ["Covered", `${number(row.reached[0])} of ${plural(row.reached[1], "value")} of dimensions of variation${row.reached[2] ? ` (${number(row.reached[2])} out of reach)` : ""}, ${number(row.reached[3])} of ${plural(row.reached[4], "pair")} of them${row.missing.length ? `; missing, among others: ${row.missing.join("; ")}` : ""}`] : null)];
    const pictures = slots.map((type) => curve(op, type)).filter(Boolean);
    if (pictures.length) parts.push(make("h3", {}, "Signed error against the input"), make("div", { class: "panels" }, ...pictures));
    const refusals = new Map();
    for (const found of cellsOf[op]) for (const cell of found.values()) for (const at of cell.refusals) {
      const said = `${backendName(cell)}: ${data.refusals[at]}`;
      refusals.set(said, [...(refusals.get(said) ?? []), typeName(cell)]);
    }
    if (refusals.size) parts.push(make("h3", {}, "Unsupported or not judged"), ...[...refusals].map(([said, types]) => make("p", {}, said, " ", ...types.map(typeTag))));
    const found = casesOf((cell) => cell.op === op);
    if (found.length) {
      const list = make("div");
      const more = inParts(found, (one) => findingList([one]), list, 20, 100);
      parts.push(make("h3", {}, plural(found.length, "divergence")), list, more);
    }
    return parts;
  };

  const caseDetail = (id) => {
    const known = caseIndex.get(id);
    if (known) {
      const { one, group } = known, cell = cells[one.cell];
      return [heading(id), make("p", {}, tag(data.states[group.state], group.status === 1), ` ${group.kind}`), facts(["Cell", here({ cell: keyOf(cell) })],
        group.known ? ["Expectation", make("code", {}, group.known), group.reason ? `: ${group.reason}` : ""] : null), ...caseBody(one)];
    }
    return [heading(id), make("p", {}, "This page does not hold the case: it passed, or there was no room for it. Replay it to see its program and inputs."), command(replayCommand(id))];
  };

  const draw = () => {
    const parts = state.case ? caseDetail(state.case) : state.cell ? cellDetail(state.cell) : state.op ? opDetail(state.op) : null;
    if (!parts) { if (dialog.open) dialog.close(); return; }
    $("detail-body").replaceChildren(closeButton(), ...parts);
    if (!dialog.open) dialog.showModal();
    dialog.scrollTop = 0;
  };
  dialog.addEventListener("close", () => {
    const from = state.cell;
    const isOver = !DIALOGS.some((name) => state[name]);
    for (const name of DIALOGS) state[name] = "";
    if (!isOver && (location.hash.includes("=") || !location.hash)) writeAddress();
    const at = all(".matrix .c").find((cell) => cell.dataset.k === from);
    if (at && visible(at)) focusCell(at);
  });
  dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
