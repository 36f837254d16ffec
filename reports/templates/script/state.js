  // The state of the page is in its address: #q=...&verdict=...&matrix=cpu&cell=op/type/backend.
  // A fragment without "=" is an anchor. What filters comes first, then the place, then the dialog.
  const FILTERS = ["q", "is", "verdict", "family", "type", "backend"];
  const PLACES = ["matrix", "alone", "change"];
  const DIALOGS = ["op", "cell", "case"];
  const state = Object.fromEntries([...FILTERS, ...PLACES, ...DIALOGS].map((name) => [name, ""]));
  const picks = FILTERS.filter((name) => name !== "q" && $(name));

  const readAddress = () => {
    const hash = location.hash.slice(1);
    if (hash && !hash.includes("=")) return false;
    const given = new URLSearchParams(hash);
    for (const name of Object.keys(state)) state[name] = given.get(name) ?? "";
    for (const name of picks) {
      if (!all("option", $(name)).some((option) => option.value === state[name])) state[name] = "";
      $(name).value = state[name];
    }
    $("q").value = state.q;
    if (!$("backend")) state.backend = "";
    if (!data.backends.includes(state.matrix)) state.matrix = "";
    if (!data.backends.includes(state.alone) && !["none", "the reference"].includes(state.alone)) state.alone = "";
    return true;
  };
  const writeAddress = () => {
    const kept = Object.entries(state).filter(([, value]) => value);
    history.replaceState(null, "", kept.length ? address(Object.fromEntries(kept)) : location.pathname + location.search);
  };
  const withState = (changes) => Object.fromEntries(Object.entries({ ...state, ...changes }).filter(([, value]) => value));
  const isFiltered = () => FILTERS.some((name) => state[name]);
  const needles = () => state.q.toLowerCase().split(/\s+/).filter(Boolean);

  // Text that a search looks into, in lower case, made when it is first needed.
  const remembered = (textOf) => {
    const found = new Map();
    return (thing) => {
      if (!found.has(thing)) found.set(thing, textOf(thing).toLowerCase());
      return found.get(thing);
    };
  };
  const cellText = remembered((cell) => {
    const op = data.ops[cell.op];
    return [op.name, op.family, op.rule, typeName(cell), backendName(cell), ...cell.refusals.map((at) => data.refusals[at])].join(" ");
  });
  const groupText = remembered((group) => [data.states[group.state], group.kind, group.known, group.reason ?? "", data.backends[group.backend]].map((part) => words(part)).join(" "));
  const caseText = remembered((one) => {
    const [cell, index, message, program] = Array.isArray(one) ? [...one, -1] : [one.cell, one.index, one.message, one.program ?? -1];
    return `${caseId(cells[cell], index)} ${typeName(cells[cell])} ${message} ${program < 0 ? "" : data.programs[program].join(" ")}`;
  });
  const holds = (text, all) => all.every((word) => text.includes(word));

  const hasVerdict = (cell, verdict) => cell.state === verdict || pairs(cell.verdicts).some(([at]) => data.states[at] === verdict);
  const isOf = (cell, status) => !status || cell.status === status || (status === "fail" && cell.failing > 0);
  // Whether the filters choose a cell, the search apart.
  const isChosen = (cell) => (!state.verdict || hasVerdict(cell, state.verdict))
    && (!state.family || data.ops[cell.op].family === state.family)
    && (!state.type || typeName(cell) === state.type)
    && (!state.backend || backendName(cell) === state.backend)
    && isOf(cell, state.is);

  // Which cells and which cases of each group match the filters and the search.
  const select = () => {
    const search = needles(), hits = new Set(), groups = [];
    let cases = 0;
    for (const group of data.groups) {
      const fits = (!state.verdict || data.states[group.state] === state.verdict)
        && (!state.backend || data.backends[group.backend] === state.backend)
        && (!state.is || (state.is === "fail" && group.status < 2) || (state.is === "new" && group.status === 0) || (state.is === "known" && group.status === 1));
      if (!fits) continue;
      const head = search.length ? groupText(group) : "";
      const own = (one) => {
        const cell = cells[Array.isArray(one) ? one[0] : one.cell];
        return (!state.type || typeName(cell) === state.type) && (!state.family || data.ops[cell.op].family === state.family)
          && search.every((word) => head.includes(word) || caseText(one).includes(word));
      };
      const whole = group.whole.filter(own), brief = group.brief.filter(own);
      if (!whole.length && !brief.length) continue;
      for (const one of whole) hits.add(one.cell);
      for (const one of brief) hits.add(one[0]);
      const isWhole = whole.length === group.whole.length && brief.length === group.brief.length;
      const count = isWhole ? group.count : whole.length + brief.length;
      groups.push({ group, whole, brief, count, omitted: isWhole ? group.omitted : 0 });
      cases += count;
    }
    const chosen = new Set(cells.filter((cell) => isChosen(cell) && (!search.length || holds(cellText(cell), search) || hits.has(cell.at))));
    return { cells: chosen, groups, cases };
  };
