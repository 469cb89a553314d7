"use strict";
(() => {
  const root = document.documentElement;
  const all = (selector) => [...document.querySelectorAll(selector)];
  const findings = all(".finding");
  const filter = document.getElementById("filter");
  const count = document.getElementById("count");
  const keys = document.getElementById("keys");
  const shown = () => findings.filter((one) => !one.hidden);
  root.classList.add("js");

  const words = findings.map((one) => one.textContent.toLowerCase());
  const narrow = () => {
    const wanted = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    findings.forEach((one, i) => { one.hidden = !wanted.every((word) => words[i].includes(word)); });
    count.textContent = wanted.length
      ? count.dataset.words.replace("{n}", shown().length).replace("{all}", findings.length) : "";
  };
  const move = (by) => {
    const seen = shown();
    if (!seen.length) return;
    const here = document.activeElement.closest ? document.activeElement.closest(".finding") : null;
    const at = seen.indexOf(here);
    const next = at < 0 ? (by > 0 ? 0 : seen.length - 1) : Math.min(Math.max(at + by, 0), seen.length - 1);
    const summary = seen[next].querySelector("summary");
    summary.focus();
    summary.scrollIntoView({ block: "nearest" });
  };
  const turn = () => {
    const is_dark = root.dataset.theme
      ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = is_dark ? "light" : "dark";
  };
  const unfold = () => {
    const is_open = shown().some((one) => !one.open);
    shown().forEach((one) => { one.open = is_open; });
  };
  const help = () => { keys.hidden = !keys.hidden; };
  const deeds = {
    j: () => move(1), ArrowDown: () => move(1), k: () => move(-1), ArrowUp: () => move(-1),
    "/": () => { filter.focus(); filter.select(); }, t: turn, o: unfold, "?": help,
  };

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target === filter) {
      if (event.key === "Escape") { filter.value = ""; narrow(); filter.blur(); }
      if (event.key === "Enter" || event.key === "ArrowDown") { event.preventDefault(); filter.blur(); move(1); }
      return;
    }
    const is_arrow = event.key.startsWith("Arrow");
    if (is_arrow && !document.activeElement.closest(".finding")) return;  // arrows scroll the page elsewhere
    const deed = deeds[event.key];
    if (deed) { event.preventDefault(); deed(); }
  });
  filter.addEventListener("input", narrow);
  document.getElementById("theme").addEventListener("click", turn);
  document.getElementById("help").addEventListener("click", help);

  let folded = [];
  addEventListener("beforeprint", () => {
    folded = all("details.finding:not([open])");
    folded.forEach((one) => { one.open = true; });
  });
  addEventListener("afterprint", () => { folded.forEach((one) => { one.open = false; }); });
})();
