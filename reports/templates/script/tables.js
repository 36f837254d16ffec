  // What changed since a baseline.
  const cellLinks = (numbers) => joined(numbers.filter((at) => at >= 0).slice(0, 12).map((at) => link(withState({ cell: keyOf(cells[at]) }), typeName(cells[at]))))
    .concat(numbers.length > 12 ? [` and ${numbers.length - 12} more`] : []);
  const scrolledInParts = ([made, more], name) => [scroll(made, name), more];
  const changedKind = (kind) => {
    const chosen = state.change === kind.slug && state.backend;
    const found = kind.groups.filter((group) => !chosen || group[1] === state.backend);
    const columns = ["Op, element types", ["Cases", "n"], "Baseline", "This run"];
    const row = ([op, backend, numbers, cases, before, after, message]) => [
      make("div", {}, make("b", {}, op), data.backends.length > 1 ? ` on ${backend} ` : " ", ...cellLinks(numbers)),
      cases, before, make("div", {}, after, message ? make("small", {}, message) : ""),
    ];
    const summary = make("summary", {}, make("h3", { id: `changes-${kind.slug}`, class: kind.fails ? "alarm" : null },
      plural(kind.count, "case"), ` ${kind.name}`), make("span", {}, `They ${kind.about}.`));
    return folded({ class: "status", "data-change": kind.slug }, summary, () => make("div", { class: "body" },
      ...scrolledInParts(table(columns, found.map(row), { class: "plain stacked changes" }, "", 20), `Cases ${kind.name}`),
      kind.omitted ? make("p", {}, `… and ${plural(kind.omitted, "more group")} in summary.json.`) : ""),
    state.change ? state.change === kind.slug : kind.fails);
  };
  const changes = (into) => {
    const { scope, unexplained, differences, kinds } = data.changes;
    const made = [make("p", { class: "hint" }, scope, unexplained ? ` ${plural(unexplained, "new case fails", "new cases fail")} as in the baseline.` : "")];
    if (state.change && state.backend) made.push(make("p", {}, `Only ${state.backend}. `, link({ change: state.change }, "Show all backends")));
    made.push(...kinds.map(changedKind));
    if (!kinds.length) made.push(make("p", { class: "empty" }, "Every case that was compared ended as in the baseline."));
    if (differences.length) made.push(scroll(table(["", "Baseline", "This run"], differences.map(([name, before, after]) => [name, before || "–", after || "–"]), { class: "plain" }, "In what the runs differ"), "In what the runs differ"));
    into.replaceChildren(...made);
  };

  // Cases on which backends differ, those first in which one is alone.
  const answer = ([backend, verdict, kind, known], isAlone) => make("div", { class: isAlone ? "odd-one" : null },
    make("span", { class: "name" }, data.backends[backend]), " ", tag(data.states[verdict], known === 1), kind ? ` ${kind}` : "");
  const differing = (selected) => {
    const into = $("differing");
    if (!into) return;
    const { compared, differing: count, of_support: support, alone, groups, omitted } = data.differences;
    const voters = [...data.backends, "the reference"];
    const chosenOps = new Set([...selected.cells].map((cell) => `${cell.op}/${cell.type}`));
    const isShown = ([who, op, types, , , , isOfSupport]) => (state.alone ? (state.alone === "none" ? who < 0 : voters[who] === state.alone) && !isOfSupport : true)
      && (!isFiltered() || types.some((type) => chosenOps.has(`${op}/${type}`)));
    const shown = groups.filter(isShown);
    const said = make("p", { class: "hint" }, `Of ${plural(compared, "case")} that ran on several backends, ${number(count - support)} were answered differently`
      + `${support ? `, and ${number(support)} more are supported by some backends only` : ""}. `
      + "Answers are compared by verdict, class and worst element, and the reference votes with those that pass. Where it is alone, all backends agree on other results. Click a name to see the cases in which it is alone.");
    const chips = alone.map(([who, cases]) => link({ alone: voters[who] }, `${voters[who]} alone: ${number(cases)}`, { "aria-current": state.alone === voters[who] ? "true" : null }));
    const rest = count - support - alone.reduce((sum, [, cases]) => sum + cases, 0);
    if (alone.length && rest) chips.push(link({ alone: "none" }, `no one alone: ${number(rest)}`, { "aria-current": state.alone === "none" ? "true" : null }));
    if (state.alone) chips.push(link({}, "all", {}));
    const body = make("tbody");
    const row = ([who, op, types, answers, cases, examples]) => {
      const ids = examples.map(([type, index]) => [type, index, answers.find(([, verdict]) => data.states[verdict] !== "pass") ?? answers[0]]);
      const links = ids.map(([type, index, [backend]]) => {
        const cell = cellsOf[op][backend].get(type);
        return link(withState({ case: caseId(cell, index) }), `${data.types[type]} ${index}`);
      });
      const values = examples[0]?.[2];
      return make("tr", {}, make("th", { scope: "row", "data-label": "Alone" }, who < 0 ? "no one" : make("b", {}, voters[who])),
        make("td", { "data-label": "Op" }, make("div", {}, link(withState({ op: data.ops[op].name }), data.ops[op].name), " ", make("small", {}, some(types.map((at) => data.types[at]), 4)))),
        make("td", { "data-label": "Cases", class: "n" }, number(cases)),
        make("td", { "data-label": "Answers" }, make("div", {}, ...answers.map((one, at) => {
          const made = answer(one, one[0] === who);
          if (values?.[at]) made.append(" ", make("code", {}, values[at]));
          return made;
        }))),
        make("td", { "data-label": "For example" }, make("div", {}, ...joined(links))));
    };
    const more = inParts(shown, row, body, 25, 200);
    const head = make("thead", {}, make("tr", {}, ...["Alone", "Op, element types", "Cases", "Answers", "For example"].map((title) => make("th", { scope: "col", class: title === "Cases" ? "n" : null }, title))));
    into.replaceChildren(said, make("p", { class: "chips" }, ...joined(chips, " ")),
      shown.length ? scroll(make("table", { class: "plain stacked differing" }, head, body), "Cases on which backends differ") : make("p", { class: "empty" }, "No case matches."),
      more, omitted ? make("p", {}, `… and ${plural(omitted, "more group")} in results.sqlite.`) : "");
  };

  // The cells nearest to their budgets, or furthest beyond.
  const size = (text) => ({ "∞": Infinity, NaN: Infinity, "": 0 }[text] ?? Number(text.replace("−", "-")));
  const excess = (cell) => (size(cell.budget) ? size(cell.worst) / size(cell.budget) : Infinity);
  const shareText = (cell) => (Number.isFinite(excess(cell)) ? `${number(Math.round(100 * excess(cell)))} %` : "∞");
  const caseLink = (cell) => (cell.nearest < 0 ? "" : link(withState({ case: caseId(cell, cell.nearest) }), `case ${cell.nearest}`));
  const GALLERY = 6;
  const accuracy = (into) => {
    const measured = cells.filter((cell) => cell.budget && size(cell.worst) > 0).sort((a, b) => excess(b) - excess(a) || a.at - b.at);
    if (!measured.length) { into.replaceChildren(make("p", { class: "empty" }, "No error was measured.")); return; }
    const pictures = new Map();
    for (const cell of measured) {
      if (pictures.size < GALLERY && !pictures.has(cell.op)) {
        const picture = curve(cell.op, cell.type);
        if (picture) pictures.set(cell.op, picture);
      }
    }
    const body = make("tbody");
    const row = (cell) => make("tr", {}, make("th", { scope: "row", "data-label": "Cell" }, link(withState({ cell: keyOf(cell) }), `${opName(cell)} ${typeName(cell)}`)),
      make("td", { "data-label": "Backend" }, backendName(cell)), make("td", { class: "n", "data-label": "Worst" }, `${cell.worst} ${unitOf(cell)}`),
      make("td", { class: "n", "data-label": "Budget" }, cell.budget), make("td", { class: "n", "data-label": "Share" }, shareText(cell)),
      make("td", { "data-label": "Input" }, make("div", {}, cell.input ? make("code", {}, cell.input) : "not kept", " ", caseLink(cell))));
    const more = inParts(measured, row, body, 25, 200);
    const titles = ["Cell", "Backend", "Worst error", "Budget", "Share", "Input that gives it"];
    const head = make("thead", {}, make("tr", {}, ...titles.map((title, at) => make("th", { scope: "col", class: at > 1 && at < 5 ? "n" : null }, title))));
    into.replaceChildren(make("p", { class: "hint" }, "The cells that use most of their budget, or more than all of it. In the pictures: signed error in ulp against the input; the dashed lines are the budget."),
      make("div", { class: "panels" }, ...pictures.values()), scroll(make("table", { class: "plain stacked" }, head, body), "Worst errors"), more);
  };

  // Near misses, and what is covered of constraints and attributes.
  const dialects = [...new Set(data.ops.map((op) => op.dialect))];
  const nearMisses = (into) => {
    const made = [make("p", { class: "hint" }, "A near miss is a program that breaks exactly one constraint of its op. A backend must refuse it. "
      + "One that compiles it has accepted an invalid program, which is a failure. A near miss has no results, so its column in the matrix shows no error.")];
    if (!data.invalid.length) made.push(make("p", { class: "empty" }, "This run has no near misses."));
    const totals = data.backends.map((name, at) => {
      const counts = [0, 0, 0];
      for (const [, , , answers] of data.invalid) for (const [backend, ...found] of answers) if (backend === at) [0, 1, 2].forEach((n) => { counts[n] += found[n]; });
      return [name, ...counts.map(number)];
    });
    const columns = [["Refused", "n"], ["Accepted", "n"], ["Crashed, timed out or unsupported", "n"]];
    if (data.invalid.length) made.push(scroll(table(["Backend", ...columns], totals, { class: "plain" }, "Invalid programs, by what the backend did"), "Near misses by backend"));
    const rows = data.invalid.flatMap(([op, , , answers]) => answers.filter(([, , , , others]) => others.length).map(([backend, refused, accepted, other, others]) => {
      const cell = cellsOf[op][backend].get(invalid);
      return [link(withState({ op: data.ops[op].name }), data.ops[op].name), data.backends[backend], number(refused), number(accepted), number(other),
        make("div", {}, ...joined(others.slice(0, 12).map(([id, verdict, index]) => link(withState({ case: caseId(cell, index) }), `${id || "?"} ${words(verdict)}`))))];
    }));
    if (rows.length) made.push(scroll(table(["Op", "Backend", ...columns, "Constraint, verdict"], rows, { class: "plain stacked" }, "Ops of which a near miss was not refused"), "Near misses that were not refused"));
    into.replaceChildren(...made);
  };
  const coverage = (into) => {
    const tried = new Map(data.invalid.map(([op, count]) => [op, count]));
    const made = [make("p", { class: "hint" }, "A constraint is covered when a program that breaks it alone was tried. A value of an attribute, or of another dimension in which an op's cases vary, is covered when a case has it.")];
    for (const dialect of dialects) {
      const ops = data.ops.map((op, at) => [op, at]).filter(([op]) => op.dialect === dialect);
      const attributes = ops.flatMap(([op]) => (op.varied ?? []).filter(([name]) => isOfAttribute(op, name)));
      const [met, offered] = [1, 2].map((at) => attributes.reduce((sum, row) => sum + row[at], 0));
      const constraints = ops.reduce((sum, [op]) => sum + op.constraints, 0), covered = ops.reduce((sum, [, at]) => sum + (tried.get(at) ?? 0), 0);
      const rows = ops.map(([op, at]) => [link(withState({ op: op.name }), op.name), `${tried.get(at) ?? 0} of ${op.constraints}`,
        ...(op.reached ? [`${number(op.reached[0])} of ${number(op.reached[1])}`, `${number(op.reached[3])} of ${number(op.reached[4])}`] : ["–", "–"]), attributeText(op), otherText(op)]);
      made.push(make("h3", { class: "dialect" }, dialect, make("span", {}, `${number(covered)} of ${plural(constraints, "constraint")} tried${offered ? `, ${number(met)} of ${plural(offered, "value")} of attributes` : ""}, in ${plural(ops.length, "op")} of this run`)),
        folded({ class: "more-rows" }, make("summary", {}, `Coverage of each op of ${dialect}`),
          () => scroll(table(["Op", ["Constraints", "n"], ["Values", "n"], ["Pairs", "n"], "Values of attributes", "Values of other dimensions"], rows, { class: "plain stacked" }), `Coverage, ${dialect}`)));
    }
    const tiles = into.querySelector(".tiles");
    into.replaceChildren(...[tiles, ...made].filter(Boolean));
  };
  // Dimensions in which cases vary: those of the op's attributes, by their names, and others.
  const isOfAttribute = (op, name) => op.attributes.some((attribute) => name === attribute || name.startsWith(`${attribute} `));
  const variedText = (varied) => varied.map(([name, met, offered]) => `${name} ${met} of ${offered}`).join(", ");
  const attributeText = (op) => {
    if (!op.attributes.length) return "none";
    const own = (op.varied ?? []).filter(([name]) => isOfAttribute(op, name));
    return own.length ? variedText(own) : op.attributes.join(", ");
  };
  const otherText = (op) => variedText((op.varied ?? []).filter(([name]) => !isOfAttribute(op, name)));
