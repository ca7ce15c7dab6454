(() => {
  "use strict";

  const FIRST = 5; // cards that are shown at first
  const STEP = 20; // cards that a button adds
  const ENOUGH = 20; // decisions, after which they teach something
  const PRIOR = 5; // checked rows that count as much as what was expected before
  const WORTH = 0.05; // share of wrong rows from which on it is worth going on
  const PAGE = 50; // rows of the table that are shown at first
  const REACH = 16; // pixels around a point of the map
  const LARGEST = 50e6; // bytes of a decisions file
  const WORDS = ["relabel", "keep", "remove", "unsure"];
  const [GIVEN, SUGGESTED, TIER] = [3, 4, 5]; // cells of a decisions file
  const CLOSE = 1e-6; // of a number: spreadsheets write as many digits as they show
  const [LF, CR] = [10, 13]; // bytes of line breaks
  const SVG = "http://www.w3.org/2000/svg";

  const one = (id) => document.getElementById(id);
  const all = (selector, within = document) => Array.from(within.querySelectorAll(selector));
  const number = (it) => it.toLocaleString("en");
  const plural = (n, noun) => `${number(n)} ${noun}${n === 1 ? "" : "s"}`;
  const data = JSON.parse(one("data").textContent);
  const isCalm = matchMedia("(prefers-reduced-motion: reduce)");
  document.documentElement.classList.add("js");

  // Elements are made here and nowhere else: what a table says becomes text, never markup.

  function make(tag, attributes = {}, ...children) {
    const element = document.createElement(tag);
    return fill(element, attributes, children);
  }

  function draw(tag, attributes = {}, ...children) {
    return fill(document.createElementNS(SVG, tag), attributes, children);
  }

  function fill(element, attributes, children) {
    for (const [name, value] of Object.entries(attributes)) {
      if (value !== false && value !== undefined)
        element.setAttribute(name, value === true ? "" : value);
    }
    element.append(...children.filter((it) => it !== null && it !== undefined && it !== ""));
    return element;
  }

  const button = (text, act, attributes = {}) => {
    const element = make("button", { type: "button", ...attributes }, text);
    element.addEventListener("click", act);
    return element;
  };

  // A foreign text on one line, without characters that cannot be seen.
  function seen(text, width = 60) {
    const shown = text
      .slice(0, width)
      .replace(/\s+/g, " ")
      .replace(
        /[\p{Cc}\p{Cf}\p{Cs}]/gu,
        (it) => `[U+${it.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}]`,
      );
    return text.length > width ? `${shown}…` : shown;
  }

  const say = (text) => (one("said").textContent = text);
  const tell = (text, isTrouble = false) => {
    const told = one("told");
    told.textContent = text;
    told.classList.toggle("trouble", isTrouble);
  };

  // -- Rows, cards and labels

  const rows = data.rows.map(([row, line, id, given, suggested, tier, findings, values], at) => ({
    at,
    row,
    line,
    id,
    given,
    suggested,
    tier,
    findings,
    values,
    text: null,
    card: null,
  }));
  const rowOf = new Map(rows.map((it) => [it.row, it]));
  const cards = data.cards.map((it, rank) => ({ ...it, ...rows[it.at], rank, element: null }));
  cards.forEach((card) => (rows[card.at].card = card));
  const showLabel = (it) => (typeof it === "number" ? data.labels[it].shown : (it ?? ""));
  const placeOf = (it) =>
    [`row ${number(it.row)}`, it.line !== null && `line ${number(it.line)}`, it.id]
      .filter(Boolean)
      .join(" · ");

  const places = (it) =>
    placeOf(it)
      .split(" · ")
      .map((part, i, parts) => make("bdi", {}, i < parts.length - 1 ? `${part} · ` : part));

  // Labels of a decisions file: the text of the table first, then the text with formulas escaped.
  function findLabel(text) {
    const tests = [
      (it) => it.plain === text,
      (it) => it.safe === text,
      (it) => it.plain.trim() === text,
    ];
    return tests.map((test) => data.labels.findIndex(test)).find((at) => at >= 0) ?? -1;
  }

  // A number, as people type it; 1,000 could be one or a thousand.
  const isNumber = (text) =>
    /^\s*[+-]?(\d+[.,]?\d*|[.,]\d+)(e[+-]?\d{1,3})?\s*$/i.test(text) &&
    !/^\s*[+-]?\d{1,3},\d{3}\s*$/.test(text) &&
    Number.isFinite(Number(text.replace(",", ".")));
  const isLabel = (text) => (data.isNumber ? isNumber(text) : findLabel(text) >= 0);
  // A label as a decisions file has it, with formulas escaped.
  const safeLabel = (text) =>
    data.isNumber ? text.trim().replace(",", ".") : data.labels[findLabel(text)].safe;
  const showText = (text) => {
    const at = findLabel(text);
    return at >= 0 ? data.labels[at].shown : seen(text, 40);
  };

  // -- Decisions: made, saved, undone

  const decided = new Map(); // from the number of a row to what was decided
  const history = []; // steps, each a list of rows with what was decided before
  const key = `sorr:${data.table}${data.round}`; // a later round starts with its own file
  let canSave = true;
  let current = 0; // the rank of the card in focus
  const early = new Set(); // rows that were decided before the page was opened

  function known() {
    const found = new Map();
    for (const [row, it] of Object.entries(data.known)) {
      found.set(Number(row), { word: it.word, label: it.label, cells: it.cells, isOld: true });
    }
    return found;
  }

  function restore() {
    decided.clear();
    for (const [row, it] of known()) decided.set(row, it);
    try {
      const saved = JSON.parse(localStorage.getItem(key) ?? "{}");
      for (const [row, it] of Object.entries(saved)) {
        if (isDecision(row, it)) decided.set(Number(row), decisionOf(Number(row), it));
        else if (it === null) decided.delete(Number(row));
      }
      localStorage.setItem(`${key}?`, "");
      localStorage.removeItem(`${key}?`);
    } catch {
      canSave = false;
    }
  }

  // What is in the storage may be of any origin: only what could have been decided here is taken.
  function isDecision(row, it) {
    return (
      /^\d+$/.test(row) &&
      Number(row) < data.rowsInTable &&
      Array.isArray(it) &&
      WORDS.includes(it[0]) &&
      typeof it[1] === "string" &&
      (it[0] === "relabel" ? isLabel(it[1] || String(it[2]?.[SUGGESTED])) : it[1] === "") &&
      Array.isArray(it[2]) &&
      it[2].length === data.header.indexOf("decision") &&
      it[2].every((cell) => typeof cell === "string")
    );
  }

  function decisionOf(row, [word, label, cells]) {
    const text = word === "relabel" ? labelOf(row, label, cells[SUGGESTED]) : "";
    return { word, label: text, cells: cellsOf(row, (name) => cells[data.header.indexOf(name)]) };
  }

  // No label means the suggested one: that of the page it was decided in, which may be another.
  function labelOf(row, label, suggested) {
    if (label) return safeLabel(label);
    return suggested === rowOf.get(row)?.card?.cells[SUGGESTED] ? "" : safeLabel(suggested);
  }

  // What a decisions file says of a row. Of one that this page does not judge, others said it.
  function cellsOf(row, of) {
    const own = rowOf.get(row)?.card?.cells ?? data.known[row]?.cells;
    if (own) return own;
    const given = data.isNumber && isNumber(of("given")) ? safeLabel(of("given")) : of("given");
    const told = {
      row: String(row),
      id: inert(of("id")),
      given: inert(given),
      tier: /^[0-3]$/.test(of("tier")) ? of("tier") : "",
    };
    return data.header.slice(0, -3).map((name) => told[name] ?? "");
  }

  // A text on one line that a spreadsheet does not run, as Python writes it.
  function inert(text) {
    return text
      .split(";")
      .map((it) => (isFormula(it) ? `'${it}` : it))
      .join(";")
      .replace(/\r\n|[\t\n\v\f\r\u001c-\u001e\u0085\u2028\u2029]/g, " ")
      .replace(/[\p{Cc}\p{Cs}]/gu, "\ufffd");
  }

  function isFormula(text) {
    if (/^[\t\r]/.test(text)) return true;
    const first = /[^\p{C}\p{Z}]/u.exec(text);
    if (!first || !"=+-@".includes(first[0].normalize("NFKC")[0])) return false;
    return !/^[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?[\t-\r\u001c-\u001f\u0085\p{Z}]*$/iu.test(
      text.slice(first.index),
    );
  }

  function save() {
    const old = known();
    const kept = {};
    for (const [row, it] of decided) if (!it.isOld) kept[row] = [it.word, it.label, it.cells];
    for (const row of old.keys()) if (!decided.has(row)) kept[row] = null;
    try {
      localStorage.setItem(key, JSON.stringify(kept));
      canSave = true;
    } catch {
      canSave = false;
    }
  }

  function change(step) {
    const before = step.map(([row]) => [row, decided.get(row)]);
    for (const [row, it] of step) it ? decided.set(row, it) : decided.delete(row);
    save();
    return before;
  }

  function decide(card, word, label = "") {
    history.push(change([[card.row, { word, label, cells: card.cells }]]));
    refreshCard(card);
    say(`Row ${card.row}: ${outcome(card)}.`);
    refresh();
    const next = nextUndecided(card);
    if (next) focus(next, true);
    else focus(card, true);
  }

  function undo() {
    const step = history.pop();
    if (!step) return say("Nothing to undo.");
    change(step);
    const touched = step.map(([row]) => rowOf.get(row)?.card).filter(Boolean);
    touched.forEach(refreshCard);
    refresh();
    if (touched.length) focus(touched[0], true);
    say(
      step.length === 1
        ? `Undone: row ${step[0][0]}.`
        : `Undone: ${plural(step.length, "decision")}.`,
    );
    tell("");
  }

  // What a decision means for a card, in words.
  function outcome(card) {
    const it = decided.get(card.row);
    if (!it) return "not decided";
    if (it.word === "relabel")
      return `${data.noun} changed to ${it.label ? showText(it.label) : showLabel(card.suggested)}`;
    const words = { keep: `the ${data.noun} is right`, remove: "row removed", unsure: "unsure" };
    return words[it.word] + (it.isOld ? " (last round)" : "");
  }

  // -- Cards

  const list = one("cards");
  let tier = 0; // that is shown, 0 for all
  let limit = FIRST;
  let showsEarly = false;

  const listed = () =>
    cards.filter(
      (it) =>
        (!tier || it.tier === tier) && (showsEarly || !early.has(it.row) || it.rank === current),
    );

  function nextUndecided(card) {
    const open = listed().filter((it) => !decided.has(it.row));
    return open.find((it) => it.rank > card.rank) ?? open[0];
  }

  function showCards() {
    if (!cards.length) return;
    const found = listed();
    const shown = found.slice(0, limit);
    const elements = shown.map(elementOf);
    const isSame =
      elements.length === list.children.length &&
      elements.every((it, i) => it === list.children[i]);
    if (!isSame) list.replaceChildren(...elements); // otherwise the focus stays where it is
    const left = found.slice(limit);
    one("more").hidden = !left.length;
    one("more").textContent = `Show ${number(Math.min(STEP, left.length))} more`;
    const open = left.filter((it) => !decided.has(it.row));
    one("next").textContent = open.length ? `Next: ${tellTiers(open)}.` : "";
    const hidden = cards.filter((it) => early.has(it.row) && (!tier || it.tier === tier)).length;
    one("before").hidden = !hidden || showsEarly;
    one("before").textContent = `Show ${plural(hidden, "row")} decided before`;
  }

  function tellTiers(left) {
    const counts = [3, 2, 1, 0].map((it) => [it, left.filter((card) => card.tier === it).length]);
    return counts
      .filter(([, n]) => n)
      .map(
        ([it, n], i) =>
          `${number(n)}${i ? "" : n === 1 ? " more row" : " more rows"} ${it ? data.tiers[it].name : "dropped"}`,
      )
      .join(", then ");
  }

  function elementOf(card) {
    if (!card.element) {
      card.element = make("li", { class: "card", id: `card-${card.row}`, tabindex: "-1" });
      card.element.addEventListener("focusin", () => point(card));
      card.element.addEventListener("click", (event) => {
        if (!event.target.closest("button, select, input, summary, a")) focus(card);
      });
      refreshCard(card);
    }
    return card.element;
  }

  function refreshCard(card) {
    if (!card.element) return;
    const isDone = decided.has(card.row);
    const given = showLabel(card.given);
    const suggested = showLabel(card.suggested);
    card.element.dataset.tier = card.tier;
    card.element.classList.toggle("decided", isDone);
    card.element.setAttribute(
      "aria-label",
      `${placeOf(card)}: given ${given}, suggested ${suggested}, ${card.pill}${isDone ? `. Decided: ${outcome(card)}` : ""}`,
    );
    const head = make(
      "div",
      { class: "head" },
      make("p", { class: "place small" }, ...places(card)),
      make(
        "p",
        { class: "labels" },
        make("s", {}, given),
        make("span", { "aria-hidden": "true" }, " → "),
        make("b", {}, suggested),
      ),
      make("p", {}, make("span", { class: `pill tier-${card.tier}` }, card.pill)),
    );
    if (isDone) card.element.replaceChildren(head, done(card));
    else card.element.replaceChildren(head, why(card), actions(card), beside(card));
  }

  function done(card) {
    const isUnsure = decided.get(card.row).word === "unsure";
    const again = button(
      "Change",
      () => {
        history.push(change([[card.row, undefined]]));
        refreshCard(card);
        refresh();
        focus(card, true);
      },
      { class: "quiet", "aria-label": `Change the decision on row ${card.row}` },
    );
    return make(
      "p",
      { class: "outcome" },
      make("span", { class: "tick", "aria-hidden": "true" }, isUnsure ? "?" : "✓"),
      make("span", {}, outcome(card)),
      again,
    );
  }

  function why(card) {
    const marks = card.marks.map((it) =>
      make(
        "div",
        { class: "mark" },
        make("dt", {}, make("bdi", {}, it.column)),
        it.bar && make("dd", {}, bar(it)),
        make(
          "dd",
          { class: it.bar ? undefined : "no-bar" },
          make("bdi", {}, it.value),
          it.usual && ` · ${it.usual}`,
        ),
      ),
    );
    return make(
      "div",
      { class: "why" },
      make("p", {}, card.reason),
      marks.length
        ? make("dl", { class: `marks small${isWide(card) ? " stacked" : ""}` }, ...marks)
        : null,
    );
  }

  // Long names stand above their bars.
  const isWide = (card) =>
    card.marks.some((it) => it.column.length + it.value.length + it.usual.length > 43);

  function bar(mark) {
    const [at, low, high] = mark.bar;
    return draw(
      "svg",
      { class: "gauge", "aria-hidden": "true", viewBox: "0 0 108 10", preserveAspectRatio: "none" },
      draw("rect", { class: "whole", x: 4, y: 3, width: 100, height: 4 }),
      draw("rect", { class: "usual", x: 4 + low, y: 3, width: Math.max(high - low, 2), height: 4 }),
      draw("rect", { class: "own", x: at, y: 0, width: 8, height: 10 }),
    );
  }

  // The most similar rows and all values: made when somebody opens them.
  function beside(card) {
    const details = make(
      "details",
      { class: "beside" },
      make("summary", {}, card.similar.length ? "Similar rows and all values" : "All values"),
    );
    details.addEventListener("toggle", () => {
      if (details.open && details.children.length === 1)
        details.append(...[similarRows(card), allValues(card)].filter(Boolean));
    });
    return details;
  }

  function similarRows(card) {
    if (!card.similar.length) return null;
    const heads = ["Row", data.target, ...card.marks.map((it) => it.column)];
    const lines = [[card.row, card.given, card.marks.map((it) => it.value)], ...card.similar];
    const body = lines.map(([row, label, values], i) =>
      make(
        "tr",
        { class: i ? undefined : "own" },
        make("th", { scope: "row" }, number(row)),
        ...[showLabel(label), ...values].map((it) => make("td", {}, make("bdi", {}, it))),
      ),
    );
    const table = make(
      "table",
      { class: "small" },
      make("caption", {}, `This row, then the ${number(card.similar.length)} most similar ones.`),
      make(
        "thead",
        {},
        make("tr", {}, ...heads.map((it) => make("th", { scope: "col" }, make("bdi", {}, it)))),
      ),
      make("tbody", {}, ...body),
    );
    return make(
      "div",
      {
        class: "scroll",
        role: "region",
        tabindex: "0",
        "aria-label": `Rows similar to row ${card.row}`,
      },
      table,
    );
  }

  function allValues(card) {
    const pairs = data.columns.map((it, i) =>
      make(
        "div",
        {},
        make("dt", {}, make("bdi", {}, it)),
        make("dd", {}, make("bdi", {}, card.values[i])),
      ),
    );
    return make("dl", { class: "values small" }, ...pairs);
  }

  const CHOICES = [
    ["1", (card) => `Use ${showLabel(card.suggested)}`, (card) => decide(card, "relabel")],
    ["2", () => (data.isNumber ? "Other value" : "Other label"), askLabel],
    ["3", () => "It is right", (card) => decide(card, "keep")],
    ["4", () => "Remove row", (card) => decide(card, "remove")],
    ["5", () => "Unsure", (card) => decide(card, "unsure")],
  ];

  function actions(card) {
    return make(
      "div",
      { class: "actions", role: "group", "aria-label": `Decide on row ${card.row}` },
      ...CHOICES.map(([letter, text, act]) => {
        const it = button("", () => act(card), { "data-key": letter, "aria-keyshortcuts": letter });
        it.append(make("span", {}, text(card)), make("kbd", { "aria-hidden": "true" }, letter));
        return it;
      }),
    );
  }

  // Another label: a list of the classes, or a field for a number. Enter takes it, Escape leaves.
  function askLabel(card) {
    const place = card.element.querySelector(".actions");
    if (!place) return reopen(card, askLabel);
    const field = data.isNumber ? numberField(card) : labelList(card);
    const take = () => {
      const text = field.value.trim();
      if (text === "" || !isLabel(text)) return complain();
      decide(card, "relabel", data.isNumber ? text.replace(",", ".") : text);
    };
    const complain = () => {
      field.setAttribute("aria-invalid", "true");
      note.textContent = "Needed a number, such as 12.5.";
    };
    const leave = () => {
      refreshCard(card);
      focus(card, true);
    };
    const note = make("p", { class: "small trouble", role: "alert" });
    const form = make(
      "div",
      { class: "ask", role: "group", "aria-label": `Another ${data.noun} for row ${card.row}` },
      make(
        "label",
        { class: "small" },
        data.isNumber ? "The right number" : "The right label",
        field,
      ),
      note,
      make(
        "div",
        { class: "pair-of-buttons" },
        button("Use it", take, { class: "primary" }),
        button("Cancel", leave),
      ),
    );
    form.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && event.target === field) {
        event.preventDefault();
        take();
      } else if (event.key === "Escape") leave();
    });
    place.replaceChildren(form);
    place.classList.add("asking");
    field.focus();
  }

  function labelList(card) {
    const others = data.labels.map((it, i) => [it, i]).filter(([, i]) => i !== card.given);
    others.sort((a, b) => (a[1] === card.suggested) - (b[1] === card.suggested)); // that has a key of its own
    return make(
      "select",
      {},
      ...others.map(([it]) => make("option", { value: it.safe }, it.shown)),
    );
  }

  function numberField() {
    return make("input", { type: "text", inputmode: "decimal", autocomplete: "off" });
  }

  function reopen(card, then) {
    history.push(change([[card.row, undefined]]));
    refreshCard(card);
    refresh();
    then(card);
  }

  // -- Moving between cards

  // Have a card in the list, however far down it is.
  function reach(card) {
    if (tier && card.tier !== tier) choose(0);
    if (!listed().includes(card)) showsEarly = true;
    limit = Math.max(limit, listed().indexOf(card) + FIRST);
    showCards();
  }

  function focus(card, takesFocus = false) {
    reach(card);
    point(card);
    if (takesFocus) card.element.focus({ preventScroll: true });
    card.element.scrollIntoView({
      block: "nearest",
      behavior: isCalm.matches ? "instant" : "smooth",
    });
  }

  function point(card) {
    cards[current]?.element?.classList.remove("current");
    current = card.rank;
    elementOf(card).classList.add("current");
    markHere(card);
  }

  function move(by) {
    const found = listed();
    const at = found.findIndex((it) => it.rank === current);
    const next = found[Math.min(Math.max(at + by, 0), found.length - 1)];
    if (next) focus(next, true);
  }

  function press(event) {
    if (
      event.ctrlKey ||
      event.altKey ||
      event.metaKey ||
      event.isComposing ||
      event.defaultPrevented
    )
      return;
    if (event.target.closest?.("input, select, textarea, [contenteditable]")) return;
    const choice = CHOICES.find(([letter]) => letter === event.key);
    if (choice && !canDecide(choice, event)) return;
    const act =
      { j: () => move(1), k: () => move(-1), u: undo }[event.key] ??
      (choice && (() => choice[2](cards[current])));
    if (!act) return;
    event.preventDefault();
    act();
  }

  // A key decides once, on a card that is seen. What is decided changes by "Change", 2 or u.
  function canDecide([letter], event) {
    const card = cards[current];
    if (event.repeat || !card?.element?.isConnected) return false;
    if (letter === "2" || !decided.has(card.row)) return true;
    say(`Row ${card.row} is decided already.`);
    return false;
  }

  // -- Progress, and what the decisions teach

  // The share of rows that are wrong in a tier: what was expected before counts as five checked rows.
  function expectedShare(before, wrong, checked) {
    return (PRIOR * before + wrong) / (PRIOR + checked);
  }

  function refresh() {
    const done = cards.filter((it) => decided.has(it.row));
    if (cards.length) one("progress").value = done.length;
    one("tally").replaceChildren(
      make("b", {}, number(cards.length ? done.length : decided.size)),
      cards.length ? ` of ${number(cards.length)} decided` : " decided",
    );
    const extra = cards.length ? decided.size - done.length : 0;
    one("saved").textContent = canSave
      ? `· saved in this browser${extra ? `, with ${number(extra)} of other rows` : ""}`
      : "· not saved";
    one("saved").classList.toggle("trouble", !canSave);
    if (!canSave)
      tell(
        "This browser does not let the page save anything. Download decisions.csv before you close the page.",
        true,
      );
    one("lesson").replaceChildren(...lessons(done).map((it) => make("p", {}, it)));
    showCards();
    markRings();
    if (one("all").open) showRows();
  }

  function lessons(done) {
    if (!cards.length) return [];
    if (done.length < ENOUGH) {
      if (done.length === cards.length) return [`All rows are decided: ${tellDone(done)}.`];
      const rest = cards.length > ENOUGH + FIRST;
      return rest
        ? [`After ${ENOUGH} decisions this page says what they teach about the rest.`]
        : [];
    }
    return [3, 2, 1].flatMap((it) => lesson(it) ?? []);
  }

  function tellDone(done) {
    const count = (...words) =>
      done.filter((it) => words.includes(decided.get(it.row).word)).length;
    return `${number(count("relabel", "remove"))} wrong, ${number(count("keep"))} right, ${number(count("unsure"))} unsure`;
  }

  function lesson(it) {
    const own = cards.filter((card) => card.tier === it);
    const words = own
      .map((card) => decided.get(card.row)?.word)
      .filter((word) => word && word !== "unsure");
    if (!words.length) return null;
    const wrong = words.filter((word) => word !== "keep").length;
    const left = data.tiers[it].rows - countDecided(it);
    const share = expectedShare(data.tiers[it].share, wrong, words.length);
    const opening = `Of the rows you checked in the tier “${data.tiers[it].name}”, ${number(wrong)} of ${number(words.length)} were wrong`;
    if (!left) return `${opening}. None is left.`;
    return `${opening}, so expect about ${number(Math.round(share * left))} of the remaining ${number(left)}. ${tellWorth(share)}`;
  }

  // Decided suspects of a tier, also those without a card. Rows of the last round are none.
  function countDecided(wanted) {
    return [...decided].filter(([row, it]) => {
      const card = rowOf.get(row)?.card;
      return card ? card.tier === wanted : !(row in data.known) && it.cells[TIER] === `${wanted}`;
    }).length;
  }

  function tellWorth(share) {
    if (share < WORTH) return "Fewer than 1 in 20 of the next rows are wrong: you can stop here.";
    const ratio =
      share >= 0.4 ? `${Math.round(10 * share)} in 10` : `1 in ${Math.round(1 / share)}`;
    return `About ${ratio} of the next rows ${share >= 0.4 ? "are" : "is"} wrong: going on is worth it.`;
  }

  // -- Decisions as a file

  const field = (text) =>
    text === text.trim() && !/[",;|\r\n]/.test(text) ? text : `"${text.replaceAll('"', '""')}"`;

  function decisionsFile() {
    const listedRows = new Set(cards.map((it) => it.row));
    const others = [...decided].filter(([row]) => !listedRows.has(row)).sort(([a], [b]) => a - b);
    const lines = [
      data.header,
      ...cards.map((it) => [
        ...it.cells,
        decided.get(it.row)?.word ?? "",
        decided.get(it.row)?.label ?? "",
        data.table,
      ]),
      ...others.map(([, it]) => [...it.cells, it.word, it.label, data.table]),
    ];
    return lines.map((cells) => `${cells.map(field).join(",")}\n`).join("");
  }

  function download(parts, name, type) {
    const link = make("a", {
      href: URL.createObjectURL(new Blob(parts, { type })),
      download: name,
    });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }

  // Records of delimited text, each with the line it begins on. Fields may be quoted.
  function parse(text, separator) {
    const records = [];
    let [cells, cell, line, begin, isQuoted] = [[], "", 1, 1, false];
    const end = () => {
      if (cells.length || cell.trim()) records.push({ line: begin, cells: [...cells, cell] });
      [cells, cell] = [[], ""];
    };
    for (let i = 0; i < text.length; i++) {
      const letter = text[i];
      const isBreak = letter === "\n" || (letter === "\r" && text[i + 1] !== "\n");
      if (isBreak) line++;
      if (isQuoted) {
        if (letter !== '"') cell += letter;
        else if (text[i + 1] === '"') cell += text[++i];
        else isQuoted = false;
      } else if (letter === '"' && cell === "") isQuoted = true;
      else if (letter === separator) {
        cells.push(cell);
        cell = "";
      } else if (isBreak) {
        end();
        begin = line;
      } else if (letter !== "\r" || text[i + 1] !== "\n") cell += letter;
    }
    if (isQuoted) throw new Error(`line ${begin}: a quote is not closed.`);
    end();
    return records;
  }

  // Return the decisions of a file, or throw what is wrong with it and on which line.
  function readDecisions(text) {
    const whole = text.replace(/^\ufeff/, "");
    const first = whole.split(/[\r\n]/, 1)[0];
    const separator = [",", ";", "\t"].sort(
      (a, b) => first.split(b).length - first.split(a).length,
    )[0];
    const [head, ...records] = parse(whole, separator);
    const names = (head?.cells ?? []).map((it) => it.trim().toLowerCase());
    const absent = ["row", "decision"].filter((it) => !names.includes(it));
    if (absent.length)
      throw new Error(
        `line 1: there is no column ${absent.join(" and no column ")}. Needed a file such as suspects.csv.`,
      );
    const found = new Map();
    for (const { line, cells } of records) {
      const of = (name) => (cells[names.indexOf(name)] ?? "").trim();
      const fail = (what) => {
        throw new Error(`line ${number(line)}: ${what}`);
      };
      if (cells.length !== names.length)
        fail(`${plural(cells.length, "field")}, but the header has ${names.length}.`);
      const [row, it] = readDecision(of, fail);
      const before = found.get(row);
      if (before && it && (before.word !== it.word || before.label !== it.label))
        fail(`row ${row} is decided twice.`);
      if (it) found.set(row, it);
    }
    return [...found];
  }

  function readDecision(of, fail) {
    if (of("table") && of("table") !== data.table)
      fail(`this decision belongs to another table (${seen(of("table"))}, not ${data.table}).`);
    const row = Number(/^\+?(\d{1,15})([.,]0{0,2})?$/.exec(of("row"))?.[1] ?? NaN);
    if (!(row < data.rowsInTable))
      fail(
        `there is no row “${seen(of("row"))}”; needed a number from 0 to ${data.rowsInTable - 1}.`,
      );
    const own = rowOf.get(row);
    if (own && of("given") && !isGiven(own, of("given")))
      fail(
        `row ${row} has the ${data.noun} “${showLabel(own.given)}” here, not “${seen(of("given"))}”.`,
      );
    const word = of("decision").toLowerCase();
    if (!word) return [row, null];
    if (!WORDS.includes(word))
      fail(`“${seen(word)}” is no decision; needed relabel, keep, remove, unsure, or nothing.`);
    if (of("new_label") && word !== "relabel" && word !== "unsure")
      fail(`there is a new ${data.noun}, but the decision is ${word}.`);
    const cells = cellsOf(row, of);
    if (word !== "relabel") return [row, { word, label: "", cells }];
    return [row, { word, label: readLabel(of, fail, own?.card), cells }];
  }

  // The new label; nothing if it is the one that this page suggests.
  function readLabel(of, fail, card) {
    const text = of("new_label") || of("suggested");
    if (!text && card) return "";
    if (!text) fail(`there is no new ${data.noun}; write it into new_label.`);
    if (!isLabel(text))
      fail(`“${seen(text)}” is ${data.isNumber ? "no number" : `no ${data.noun} of this table`}.`);
    if (card && !of("new_label") && isSame(text, card.cells[SUGGESTED])) return "";
    return safeLabel(text);
  }

  const isSame = (a, b) => (data.isNumber ? isClose(a, b) : findLabel(a) === findLabel(b));
  const isClose = (a, b) => {
    const [first, second] = [a, b].map((it) => Number(it.replace(",", ".")));
    return Math.abs(first - second) <= CLOSE * Math.max(Math.abs(first), Math.abs(second));
  };

  function isGiven(own, text) {
    if (!data.isNumber) return findLabel(text) === own.given;
    return !own.card || isClose(text, own.card.cells[GIVEN]);
  }

  async function load(file) {
    try {
      if (file.size > LARGEST) throw new Error("it is too large for a decisions file.");
      const bytes = await file.arrayBuffer();
      let text;
      try {
        text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
      } catch {
        throw new Error("it is not UTF-8. Save it as CSV (UTF-8).");
      }
      const found = readDecisions(text);
      if (found.length) history.push(change(found));
      cards.forEach(refreshCard);
      refresh();
      if (cards.length) focus(cards.find((it) => !decided.has(it.row)) ?? cards[current]);
      tell(`${plural(found.length, "decision")} loaded from ${seen(file.name)}.`);
    } catch (error) {
      tell(`${seen(file.name)} was not loaded: ${error.message} Nothing was taken over.`, true);
    }
  }

  // -- The corrected table: the original text, with the cells of changed labels replaced

  async function unpack() {
    const packed = atob(one("original").textContent.trim());
    const bytes = Uint8Array.from(packed, (letter) => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Uint8Array(await new Response(stream).arrayBuffer());
  }

  // Return what changes: for each row from where to where, and the text to put there.
  function splices(text) {
    const encoder = new TextEncoder();
    const found = [];
    for (const [row, it] of decided) {
      if (it.word !== "relabel" && it.word !== "remove") continue;
      const place = data.copy.places[row];
      if (!place) throw new Error(`row ${row} is not in this page`);
      if (it.word === "remove") found.push([place[0], place[1], null]);
      else found.push([place[2], place[3], encoder.encode(written(row, it))]);
    }
    return withoutBreak(
      found.sort((a, b) => a[0] - b[0]),
      text,
    );
  }

  // If the last record goes, and no line break is behind it, the one before goes too.
  function withoutBreak(found, text) {
    const isBreak = (at) => text[at] === LF || text[at] === CR;
    let at = found.length - 1;
    if (found[at]?.[1] !== text.length || !isRecord(found[at]) || isBreak(text.length - 1))
      return found;
    while (at > 0 && found[at - 1][1] === found[at][0] && isRecord(found[at - 1])) at--;
    const start = found[at][0];
    if (isBreak(start - 1))
      found[at][0] -= text[start - 1] === LF && text[start - 2] === CR ? 2 : 1;
    return found;
  }

  const isRecord = ([, , cell]) => cell === null; // that is removed

  const cellOf = new Map(Object.entries(data.copy?.written ?? {}));

  function written(row, it) {
    const text = it.label || rowOf.get(row).card.cells[SUGGESTED];
    return cellOf.get(text) ?? writeNumber(Number(text.replace(",", ".")));
  }

  // A number that somebody typed, as the table writes numbers: two of them show how.
  function writeNumber(value) {
    const [whole, part] = [cellOf.get("12"), cellOf.get("0.5")];
    const text = Number.isInteger(value) && !/^"?12"?$/.test(whole) ? `${value}.0` : String(value);
    const cell = part.includes(",") ? text.replace(".", ",") : text;
    return part.startsWith('"') ? `"${cell}"` : cell;
  }

  async function correctedParts() {
    const text = await unpack();
    const parts = [];
    let at = 0;
    for (const [start, end, cell] of splices(text)) {
      parts.push(text.subarray(at, start), cell ?? new Uint8Array());
      at = end;
    }
    return [...parts, text.subarray(at)];
  }

  async function correct() {
    try {
      download(await correctedParts(), data.name, "text/csv");
      const words = [...decided.values()].map((it) => it.word);
      const count = (word) => words.filter((it) => it === word).length;
      tell(
        `${data.name} has ${plural(count("relabel"), `changed ${data.noun}`)} and ${plural(count("remove"), "row")} less.`,
      );
    } catch {
      one("command").hidden = false;
      tell(
        "The corrected table cannot be made here. Download the decisions and use the command.",
        true,
      );
    }
  }

  async function copy() {
    try {
      await navigator.clipboard.writeText(one("line").textContent);
      tell("The command is in the clipboard.");
    } catch {
      getSelection().selectAllChildren(one("line"));
      tell("The command is selected. Copy it with your keyboard.");
    }
  }

  // -- The map: rings for suspects, and the row under the pointer

  const dots = data.dots.map(([at, x, y]) => ({ row: rows[at], x, y }));
  const dotOf = new Map(dots.map((it) => [it.row.at, it]));
  const maps = all("[data-map]");

  function ringPath(found, r) {
    return found
      .map(({ x, y }) => `M${x - r} ${y}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0`)
      .join("");
  }

  function markRings() {
    const suspects = dots.filter((it) => it.row.card);
    for (const map of maps) {
      const r = map.dataset.map === "small" ? 18 : 10;
      map.querySelector("[data-rings]").setAttribute(
        "d",
        ringPath(
          suspects.filter((it) => !decided.has(it.row.row)),
          r,
        ),
      );
      map.querySelector("[data-done]").setAttribute(
        "d",
        ringPath(
          suspects.filter((it) => decided.has(it.row.row)),
          r,
        ),
      );
    }
  }

  function markHere(card) {
    const dot = dotOf.get(card.at);
    for (const map of maps) {
      const here = map.querySelector("[data-here]");
      here.setAttribute("visibility", dot ? "visible" : "hidden");
      if (dot) {
        here.setAttribute("cx", dot.x);
        here.setAttribute("cy", dot.y);
      }
    }
  }

  // The nearest point in reach; a suspect comes before other points.
  function nearest(map, event) {
    const box = map.getBoundingClientRect();
    const scale = map.viewBox.baseVal.width / box.width;
    const [x, y] = [(event.clientX - box.left) * scale, (event.clientY - box.top) * scale];
    const away = (it) => Math.hypot(it.x - x, it.y - y);
    const near = dots.filter((it) => away(it) <= REACH * scale);
    near.sort((a, b) => Boolean(b.row.card) - Boolean(a.row.card) || away(a) - away(b));
    return near[0];
  }

  function tellDot(map, dot) {
    const { row } = dot;
    const suspect = row.card ? `, suggested ${showLabel(row.suggested)} (${row.card.pill})` : "";
    one(map.dataset.map === "small" ? "pointed" : "pointed-large").textContent =
      `${placeOf(row)}: ${showLabel(row.given)}${suspect}`;
  }

  for (const map of maps) {
    map.addEventListener("pointermove", (event) => {
      const dot = nearest(map, event);
      map.classList.toggle("on-suspect", Boolean(dot?.row.card));
      if (dot) tellDot(map, dot);
    });
    map.addEventListener("click", (event) => {
      const dot = nearest(map, event);
      if (!dot) return;
      tellDot(map, dot);
      if (dot.row.card) focus(dot.row.card, true);
    });
  }

  // -- All rows: search, sort, filter

  const table = one("table");
  const hasLines = rows.some((it) => it.line !== null);
  const hasIds = rows.some((it) => it.id);
  const toNumber = (text) => {
    const found = Number(text.replaceAll(",", "").replace("−", "-").replace("∞", "Infinity"));
    return text.trim() === "" || Number.isNaN(found) ? null : found;
  };
  const heads = [
    ["Row", (it) => it.row, (it) => number(it.row)],
    hasLines && ["Line", (it) => it.line, (it) => number(it.line)],
    hasIds && ["Id", (it) => it.id],
    ["Given", (it) => showLabel(it.given)],
    ["Suggested", (it) => showLabel(it.suggested)],
    [
      "Tier",
      (it) => -it.tier,
      (it) => (it.tier ? data.tiers[it.tier].name : it.card ? "dropped" : ""),
    ],
    [
      "Decision",
      (it) => (decided.has(it.row) ? outcome(it) : ""),
      (it) => (decided.has(it.row) ? outcome(it) : ""),
    ],
    data.findings.length && [
      "Findings",
      (it) => it.findings.map((i) => data.findings[i]).join("; "),
    ],
    ...data.columns.map((name, i) => [
      name,
      (it) => toNumber(it.values[i]) ?? it.values[i],
      (it) => it.values[i],
    ]),
  ].filter(Boolean);
  let order = { at: 0, sign: 1 };
  let rowLimit = PAGE;

  function makeHead() {
    const cells = heads.map(([name], at) => {
      const sort = button(name, () => {
        order = { at, sign: order.at === at ? -order.sign : 1 };
        rowLimit = PAGE;
        showRows();
      });
      return make("th", { scope: "col" }, sort);
    });
    table.tHead.replaceChildren(make("tr", {}, ...cells));
  }

  function compare(a, b) {
    if (typeof a === typeof b) return typeof a === "string" ? a.localeCompare(b, "en") : a - b;
    return typeof a === "number" ? -1 : 1; // numbers before texts
  }

  function isWanted(row, wanted) {
    const tierWanted = one("by-tier").value;
    const label = one("by-label")?.value ?? "";
    const finding = one("by-finding")?.value ?? "";
    if (tierWanted === "suspect" && !row.card) return false;
    if (tierWanted === "decided" && !decided.has(row.row)) return false;
    if (/^\d$/.test(tierWanted) && row.tier !== Number(tierWanted)) return false;
    if (label !== "" && row.given !== Number(label)) return false;
    if (finding !== "" && !row.findings.includes(Number(finding))) return false;
    if (!wanted) return true;
    row.text ??= [placeOf(row), showLabel(row.given), showLabel(row.suggested), ...row.values]
      .join("\n")
      .toLowerCase();
    return row.text.includes(wanted);
  }

  function showRows() {
    if (!table.tHead.rows.length) makeHead();
    const wanted = one("search").value.trim().toLowerCase();
    const found = rows.filter((it) => isWanted(it, wanted));
    const valueOf = heads[order.at][1];
    found.sort((a, b) => order.sign * compare(valueOf(a), valueOf(b)) || a.at - b.at);
    const shown = found.slice(0, rowLimit);
    table.tBodies[0].replaceChildren(...shown.map(lineOf));
    all("th", table.tHead).forEach((it, at) => {
      if (at === order.at)
        it.setAttribute("aria-sort", order.sign > 0 ? "ascending" : "descending");
      else it.removeAttribute("aria-sort");
    });
    one("found").textContent = `${number(shown.length)} of ${plural(found.length, "row")} shown.`;
    one("more-rows").hidden = shown.length === found.length;
    one("more-rows").textContent =
      `Show ${number(Math.min(4 * PAGE, found.length - shown.length))} more`;
  }

  function lineOf(row) {
    const cells = heads.map(([name, value, show = value], at) => {
      const text = make("bdi", {}, String(show(row)));
      if (at === 0) return make("th", { scope: "row" }, text);
      if (name === "Tier" && row.card)
        return make(
          "td",
          {},
          button(show(row), () => focus(row.card, true), {
            class: "quiet",
            "aria-label": `${show(row)}: open the card of row ${row.row}`,
          }),
        );
      return make("td", {}, text);
    });
    return make("tr", {}, ...cells);
  }

  // -- Chips, folds, and the slider of a linear model

  function choose(wanted) {
    tier = tier === wanted ? 0 : wanted;
    limit = FIRST;
    all("[data-tier][aria-pressed]").forEach((it) =>
      it.setAttribute("aria-pressed", String(Number(it.dataset.tier) === tier)),
    );
    const first = listed().find((it) => !decided.has(it.row)) ?? listed()[0];
    if (first && tier) reach(first);
    if (first) point(first);
    showCards();
    const n = cards.filter((it) => it.tier === tier).length;
    say(tier ? `${plural(n, "row")} ${data.tiers[tier].name}.` : "All suspects.");
  }

  function openTarget() {
    const target = location.hash.length > 1 && document.getElementById(location.hash.slice(1));
    if (target instanceof HTMLDetailsElement) target.open = true;
  }

  function place(at) {
    const stage = moves.stages[at];
    all(".panel").forEach((panel, i) => {
      const [path, x, width, text, beyond] = stage.cuts[i];
      const part = (name) => panel.querySelector(`[data-${name}]`);
      part("curve").setAttribute("d", path);
      part("clip").setAttribute("width", width);
      for (const name of ["x1", "x2"]) part("cut").setAttribute(name, x);
      part("cut-name").setAttribute("x", x);
      part("beyond").textContent = beyond;
      part("count").textContent = text;
      part("alt").setAttribute("aria-label", `${part("alt").dataset.alt}${text}.`);
    });
    const [x, ...heights] = stage.mark;
    for (const name of ["x1", "x2"]) document.querySelector("#mark line").setAttribute(name, x);
    all("#mark circle").forEach((mark, i) => {
      mark.setAttribute("cx", x);
      mark.setAttribute("cy", heights[i]);
    });
    all("[data-now]").forEach((it) => (it.textContent = stage[it.dataset.now]));
    slider.setAttribute("aria-valuetext", `${stage.share} dropped, ${stage.rows}`);
    one("back").disabled = at === moves.chosen;
  }

  const moves = one("moves") && JSON.parse(one("moves").textContent);
  const slider = one("m");
  const classes = one("class");
  const slopes = all(".slopes");
  const pick = () =>
    slopes.forEach((it) => (it.hidden = classes !== null && it.dataset.class !== classes.value));

  // -- The start

  function start() {
    if (moves) {
      slider.value = moves.chosen; // a browser may remember another one
      slider.addEventListener("input", () => place(Number(slider.value)));
      one("back").addEventListener("click", () => {
        slider.value = moves.chosen;
        place(moves.chosen);
        slider.focus();
      });
    }
    classes?.addEventListener("change", pick);
    pick();
    all("[data-all]").forEach((it) =>
      it.addEventListener("click", () => {
        it.closest(".slopes").classList.add("whole");
        it.parentElement.remove();
      }),
    );
    one("by-finding")?.append(...data.findings.map((it, i) => make("option", { value: i }, it)));
    one("all").addEventListener("toggle", () => one("all").open && showRows());
    for (const id of ["search", "by-tier", "by-label", "by-finding"]) {
      one(id)?.addEventListener("input", () => {
        rowLimit = PAGE;
        showRows();
      });
    }
    one("more-rows").addEventListener("click", () => {
      rowLimit += 4 * PAGE;
      showRows();
    });
    addEventListener("hashchange", openTarget);
    all('a[href^="#"]').forEach((it) => it.addEventListener("click", () => setTimeout(openTarget)));
    const folded = new Set();
    addEventListener("beforeprint", () =>
      all("details.fold:not([open])").forEach((it) => folded.add(it) && (it.open = true)),
    );
    addEventListener(
      "afterprint",
      () => folded.forEach((it) => (it.open = false)) ?? folded.clear(),
    );
    openTarget();
    if (one("take")) startDeciding();
  }

  function startDeciding() {
    restore();
    cards
      .filter((it) => decided.has(it.row) && decided.get(it.row).word !== "unsure")
      .forEach((it) => early.add(it.row));
    current = cards.find((it) => !decided.has(it.row))?.rank ?? 0;
    refresh();
    if (cards.length) startCards();
    one("take").addEventListener("click", () => {
      download([decisionsFile()], "decisions.csv", "text/csv");
      const rest = [...decided.keys()].filter((row) => !rowOf.get(row)?.card).length;
      tell(
        `decisions.csv has ${plural(cards.length + rest, "row")}, ${number(decided.size)} decided.`,
      );
    });
    one("correct")?.addEventListener("click", correct);
    one("load").addEventListener("change", () => {
      if (one("load").files.length)
        load(one("load").files[0]).finally(() => (one("load").value = ""));
    });
    one("copy").addEventListener("click", copy);
    addEventListener("storage", (event) => {
      if (event.key !== key) return;
      restore();
      cards.forEach(refreshCard);
      refresh();
    });
    document.addEventListener("keydown", press);
  }

  function startCards() {
    reach(cards[current]);
    point(cards[current]);
    one("more").addEventListener("click", () => {
      const next = listed()[limit];
      limit += STEP;
      showCards();
      focus(next, true);
    });
    one("before").addEventListener("click", () => {
      showsEarly = true;
      showCards();
    });
    all("[data-tier][aria-pressed]").forEach((it) =>
      it.addEventListener("click", () => choose(Number(it.dataset.tier))),
    );
  }

  start();
})();
