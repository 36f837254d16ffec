  // Divergences by status and class.
  const STATUS = [
    ["new", "New", "matched by no expectation"], ["known", "Known", "matched by an expectation"],
    ["open", "Unspecified", "no failures: the specification leaves these results open"],
  ];
  const opLinks = (group) => joined(group.ops.slice(0, 12).map((op) => link(withState({ op: data.ops[op].name }), data.ops[op].name)))
    .concat(group.ops.length > 12 ? [` and ${group.ops.length - 12} more`] : []);
  const groupHead = (found) => {
    const { group } = found, isKnown = group.status === 1;
    const types = group.types.map((at) => data.types[at]);
    const name = group.status === 0 ? make("b", {}, data.ops[group.ops[0]].name) : isKnown ? make("code", {}, group.known) : null;
    return make("summary", {}, make("span", { class: "what" }, tag(data.states[group.state], isKnown), " ", name, " ",
      group.kind ? make("span", { class: "kind" }, group.kind) : null),
      make("span", { class: "where" }, `${plural(found.count, "case")} on ${data.backends[group.backend]}`
        + `${group.status === 0 ? "" : `, ${some(group.ops.map((op) => data.ops[op].name), 4)}`} · ${some(types)}`));
  };
  const groupBody = (found, isFirst) => {
    const { group } = found, parts = [];
    if (group.reason) parts.push(make("div", { class: "reason" }, ...clipped(group.reason, 600)));
    if (group.link) parts.push(make("p", { class: "reason" }, make("a", { href: group.link, rel: "noreferrer noopener", target: "_blank" }, group.link)));
    if (group.inert) parts.push(make("p", { class: "reason inert" }, group.inert));
    parts.push(make("p", { class: "where" }, "In ", ...opLinks(group), ", ", ...group.types.map((at) => typeTag(data.types[at]))));
    parts.push(...found.whole.map((one, at) => caseItem(one, isFirst && at === 0)));
    if (found.brief.length || found.omitted) {
      parts.push(folded({ class: "brief", "data-brief": "" }, make("summary", {}, plural(found.brief.length + found.omitted, "more case", "more cases")),
        () => make("div", {}, make("ul", {}, ...found.brief.map(([cell, index, message]) => {
          const id = caseId(cells[cell], index);
          return make("li", { class: "finding", "data-case": id }, make("code", {}, replayCommand(id)), ` ${message}`);
        })), found.omitted ? make("p", {}, `… and ${number(found.omitted)} more in results.sqlite.`) : "")));
    }
    return make("div", { class: "body" }, ...parts);
  };
  const groupItem = (found, isOpen, opensCase) => folded({ class: "group", "data-verdict": data.states[found.group.state], "data-status": STATUS[found.group.status][0] },
    groupHead(found), () => groupBody(found, opensCase), isOpen);

  const divergences = (selected) => {
    if (!$("groups")) return;
    const made = STATUS.map(([name, title, about], status) => {
      const found = selected.groups.filter(({ group }) => group.status === status);
      if (!found.length) return null;
      const cases = found.reduce((sum, { count }) => sum + count, 0);
      const summary = make("summary", {}, make("h3", {}, title, make("span", {}, `${plural(cases, "case")} in ${plural(found.length, "class", "classes")}, ${about}`)));
      const few = found.length <= 3;
      return folded({ class: "status", "data-status": name }, summary, () => {
        const list = make("div", { class: "groups" });
        const more = inParts(found, (one) => {
          const isFirst = one === found[0] && status === 0;
          return groupItem(one, isFirst || (few && isFiltered()), isFirst && !isFiltered());
        }, list);
        return make("div", {}, list, more);
      }, status === 0 || isFiltered());
    });
    $("groups").replaceChildren(...made.filter(Boolean));
    $("none-shown").hidden = selected.groups.length > 0;
  };
