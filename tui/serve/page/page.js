"use strict";
// What the terminal of this page needs to know, told before its own script looks: where its websocket is. The
// page may have come through a tunnel with another port, or through a proxy that speaks TLS.
{
  const terminal = document.getElementById("terminal");
  const scheme = location.protocol === "https:" ? "wss:" : "ws:";
  terminal.dataset.sessionWebsocketUrl = `${scheme}//${location.host}/ws`;
  const size = Number.parseInt(new URLSearchParams(location.search).get("fontsize") ?? "", 10);
  if (size >= 6 && size <= 72) terminal.dataset.fontSize = String(size);
  // It is worked by keyboard: keys go to it without a click.
  new MutationObserver((_, observer) => {
    if (terminal.classList.contains("-connected")) {
      observer.disconnect();
      terminal.querySelector("textarea").focus();
    }
  }).observe(terminal, { attributeFilter: ["class"] });
}
