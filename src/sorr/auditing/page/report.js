(() => {
  "use strict";

  const PAGE = 25; // rows of the table that are shown at first
  const STATES = {
    out: ["dropped", 0], // by the audit, and here
    more: ["dropped too", 1], // here, and not by the audit
    back: ["kept here", 2], // dropped by the audit, and not here
    kept: ["kept", 3],
  };
  const one = (id) => document.getElementById(id);
  const all = (selector, within = document) => Array.from(within.querySelectorAll(selector));
  const moves = JSON.parse(one("moves").textContent);
  document.documentElement.classList.add("js");

  // The slider: what was drawn for its position replaces what is shown. Only linear models have it.

  const slider = one("m");
  const back = one("back");
  const panels = all(".panel").map((panel) => ({
    curve: panel.querySelector("[data-curve]"),
    clip: panel.querySelector("[data-clip]"),
    cut: panel.querySelector("[data-cut]"),
    name: panel.querySelector("[data-cut-name]"),
    beyond: panel.querySelector("[data-beyond]"),
    count: panel.querySelector("[data-count]"),
    plot: panel.querySelector("[data-alt]"),
  }));
  const dots = all("[data-dot]");
  const here = document.querySelector("#mark line");
  const marks = all("#mark circle");
  const now = all("[data-now]");

  function place(at) {
    const stage = moves.stages[at];
    panels.forEach((panel, i) => {
      const [path, x, width, text, beyond] = stage.cuts[i];
      panel.curve.setAttribute("d", path);
      panel.clip.setAttribute("width", width);
      panel.cut.setAttribute("x1", x);
      panel.cut.setAttribute("x2", x);
      panel.name.setAttribute("x", x);
      panel.beyond.textContent = beyond;
      panel.count.textContent = text;
      panel.plot.setAttribute("aria-label", `${panel.plot.dataset.alt}${text}.`);
    });
    const [x, ...heights] = stage.mark;
    here.setAttribute("x1", x);
    here.setAttribute("x2", x);
    marks.forEach((mark, i) => {
      mark.setAttribute("cx", x);
      mark.setAttribute("cy", heights[i]);
    });
    dots.forEach((dot, i) => dot.classList.toggle("out", moves.dots[i][at] === "1"));
    now.forEach((it) => (it.textContent = stage[it.dataset.now]));
    slider.setAttribute("aria-valuetext", `${stage.share} dropped, ${stage.rows}`);
    back.disabled = at === moves.chosen;
    if (rows.filter((row) => judge(row, at)).length && !isSorted) {
      arrange((row) => [isChanged(row) ? 0 : 1, row.rank]);
    }
    refresh();
  }

  // The table: each row knows at which positions it is dropped.

  const table = one("table");
  const body = table.tBodies[0];
  const heads = all("th[data-key]", table);
  const rows = all("tr", body).map((element, i) => ({
    element,
    at: moves.rows[i],
    pill: element.querySelector(".pill"),
    state: element.dataset.state,
    isListed: "listed" in element.dataset,
    tier: element.querySelector(".tier")?.textContent.trim(),
    rank: Number(element.cells[0].textContent),
    text: null,
  }));
  const search = one("search");
  const filter = one("filter");
  const more = one("more");
  let limit = PAGE;
  let isSorted = false; // by the reader; then rows keep their order

  function judge(row, at) {
    const out = row.at[at] === "1";
    const was = row.at[moves.chosen] === "1";
    const state = out ? (was ? "out" : "more") : was ? "back" : "kept";
    if (state === row.state) return false;
    row.state = state;
    row.element.dataset.state = state;
    row.pill.textContent = STATES[state][0];
    return true;
  }

  const isOut = (row) => row.state === "out" || row.state === "more";
  const isChanged = (row) => row.state === "more" || row.state === "back";

  function arrange(keysOf, sign = 1) {
    const keys = new Map(rows.map((row) => [row, keysOf(row)]));
    const compare = (a, b) => (typeof a === "string" ? a.localeCompare(b, "en") : a - b);
    rows.sort((a, b) => {
      const [first, second] = [keys.get(a), keys.get(b)];
      const at = first.findIndex((it, i) => compare(it, second[i]) !== 0);
      return at < 0 ? 0 : sign * compare(first[at], second[at]);
    });
    body.append(...rows.map((row) => row.element));
  }

  function matches(row, wanted) {
    if (filter.value === "here" && !isOut(row)) return false;
    if (filter.value === "changes" && !isChanged(row)) return false;
    if (filter.value === "look" && row.tier !== "1") return false;
    if (filter.value === "listed" && !row.isListed && row.state === "kept") return false;
    if (!wanted) return true;
    row.text ??= row.element.textContent.toLowerCase();
    return row.text.includes(wanted);
  }

  function refresh() {
    const wanted = search.value.trim().toLowerCase();
    const found = rows.filter((row) => matches(row, wanted));
    const most = found.length <= 1.4 * limit ? found.length : limit; // no button for a few
    const shown = new Set(found.slice(0, most));
    rows.forEach((row) => (row.element.hidden = !shown.has(row)));
    const number = (it) => it.toLocaleString("en");
    one("shown").textContent =
      `${number(shown.size)} of ${number(found.length)} rows shown.` + (slider ? tellStage(number) : "");
    more.hidden = shown.size === found.length;
    more.textContent = `Show ${number(Math.min(found.length - limit, 4 * PAGE))} more`;
  }

  function tellStage(number) {
    const stage = moves.stages[slider.value];
    const listed = rows.filter((row) => row.at[slider.value] === "1").length;
    const states = rows.map((row) => row.state);
    const count = (state) => states.filter((it) => it === state).length;
    const news = [
      listed < stage.dropped && `${number(listed)} of them are in this table`,
      count("more") && `${number(count("more"))} of them kept by the audit`,
      count("back") && `and ${number(count("back"))} that the audit drops are kept`,
    ].filter(Boolean);
    return " " + [`${stage.rows} dropped at this m`, ...news].join(", ") + ".";
  }

  function value(row, index, key, isNumber) {
    if (key === "state") return STATES[row.state][1];
    const cell = row.element.cells[index];
    if (!isNumber) return cell.textContent;
    return Number(cell.dataset.v ?? cell.textContent);
  }

  function sort(head) {
    const isNumber = "number" in head.dataset;
    const key = head.dataset.key;
    const before = head.getAttribute("aria-sort");
    // The largest losses and probabilities come first: nobody looks for the smallest.
    const isFalling = ["tier", "loss", "probability", "often"].includes(key);
    const first = isFalling ? "descending" : "ascending";
    const other = first === "ascending" ? "descending" : "ascending";
    const now = before === first ? other : first;
    heads.forEach((it) => it.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", now);
    isSorted = true;
    arrange(
      (row) => [value(row, head.cellIndex, key, isNumber)],
      now === "ascending" ? 1 : -1,
    );
    refresh();
  }

  slider?.addEventListener("input", () => place(Number(slider.value)));
  back?.addEventListener("click", () => {
    slider.value = moves.chosen;
    place(moves.chosen);
    slider.focus();
  });
  heads.forEach((head) => head.firstElementChild.addEventListener("click", () => sort(head)));
  search.addEventListener("input", () => {
    limit = PAGE;
    refresh();
  });
  filter.addEventListener("change", () => {
    limit = PAGE;
    refresh();
  });
  more.addEventListener("click", () => {
    const first = rows.filter((row) => !row.element.hidden).length;
    limit += 4 * PAGE;
    refresh();
    // The button may be gone, so the first new row gets the focus.
    const next = rows.filter((row) => !row.element.hidden)[first];
    next?.element.querySelector("summary")?.focus();
  });

  // Coefficients of one class at a time, and the text of the mark under the pointer.

  const choice = one("class");
  const slopes = all(".slopes");
  function pick() {
    slopes.forEach((it) => (it.hidden = choice !== null && it.dataset.class !== choice.value));
  }
  choice?.addEventListener("change", pick);
  pick();
  all("[data-all]").forEach((button) =>
    button.addEventListener("click", () => {
      button.closest(".slopes").classList.add("whole");
      button.parentElement.remove();
    }),
  );
  const pointed = one("pointed");
  for (const kind of ["pointerover", "click"]) {
    one("dots").addEventListener(kind, (event) => {
      const title = event.target.closest(".dot")?.querySelector("title");
      if (title) pointed.textContent = title.textContent;
    });
  }

  if (slider) {
    slider.value = moves.chosen; // a browser may remember another one
    place(moves.chosen);
  } else {
    refresh();
  }
})();
