import { readable } from "./contrast.ts";
import type { FrameMessage } from "./in-frame.ts";

/**
 * Puts a button on another site that opens a published page in a frame:
 *
 *     <script src="https://millrace.example/embed.js" data-page="<token>" data-label="Ask us" defer></script>
 *
 * `data-colour` (`#rrggbb`) colours the button. The page can be framed only by the origins that it was published for.
 */
const READY_MS = 10_000;
const DEFAULT_COLOUR = "#0b6470";
const STYLE = `
:host { all: initial; font: 16px/24px ui-sans-serif, system-ui, "Segoe UI", Roboto, Arial, sans-serif; }
button { font: inherit; cursor: pointer; min-height: 44px; border: 0; border-radius: 22px; }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 3px; }
.open { position: fixed; inset-block-end: max(16px, env(safe-area-inset-bottom)); inset-inline-end: 16px; z-index: 2147483000;
  max-width: calc(100vw - 32px); padding: 10px 20px; background: var(--accent); color: var(--on-accent); box-shadow: 0 4px 16px rgb(0 0 0 / 30%); }
.panel { position: fixed; z-index: 2147483001; inset-block-end: 16px; inset-inline-end: 16px; display: grid; grid-template-rows: auto minmax(0, 1fr);
  width: 400px; height: min(640px, calc(100vh - 32px)); overflow: hidden; border: 1px solid #7d8896; border-radius: 12px; background: #fff; color: #181d24;
  box-shadow: 0 8px 28px rgb(0 0 0 / 35%); }
.panel[hidden] { display: none; }
.head { display: flex; align-items: center; justify-content: space-between; padding: 2px 4px 2px 16px; font-weight: 600; }
.head span { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.close { padding: 4px 16px; background: none; color: inherit; }
.body { display: grid; min-height: 0; }
iframe { width: 100%; height: 100%; border: 0; background: #fff; }
p { margin: 16px; }
a { color: #0b6470; }
@media (max-width: 480px) { .panel { inset: 0; width: auto; height: auto; border: 0; border-radius: 0; } }
@media (prefers-color-scheme: dark) { .panel, iframe { background: #151a21; color: #e7ebf0; } a { color: #63cbd3; } }
`;

const script = document.currentScript;
if (script instanceof HTMLScriptElement) start(script);

function start({ src, dataset: { page = "", label = "Open chat", colour = DEFAULT_COLOUR } }: HTMLScriptElement): void {
  const { origin } = new URL(src);
  const address = `${origin}/f/${encodeURIComponent(page)}`;
  if (page === "") throw new Error("Millrace: the script tag needs data-page, the last part of the page's address.");
  const shades = readable(colour, "light") ?? readable(DEFAULT_COLOUR, "light");

  const host = document.createElement("div");
  const root = host.attachShadow({ mode: "open" });
  host.style.setProperty("--accent", shades?.accent ?? "");
  host.style.setProperty("--on-accent", shades?.onAccent ?? "");
  // Not a style element, which the policy of the site may refuse.
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(STYLE);
  root.adoptedStyleSheets = [sheet];

  const opener = element("button", { className: "open", type: "button", textContent: label });
  const panel = element("div", { className: "panel", id: "panel", hidden: true });
  const head = element("div", { className: "head" });
  const name = element("span", { textContent: label });
  const closer = element("button", { className: "close", type: "button", textContent: "Close" });
  const body = element("div", { className: "body" });
  panel.setAttribute("role", "dialog");
  panel.setAttribute("aria-label", label);
  opener.setAttribute("aria-expanded", "false");
  opener.setAttribute("aria-controls", "panel");
  opener.setAttribute("aria-haspopup", "dialog");
  head.append(name, closer);
  panel.append(head, body);
  root.append(opener, panel);

  let frame: HTMLIFrameElement | undefined;
  const load = (): void => {
    const opened = element("iframe", { title: label, src: address });
    // The page may not move the site around it elsewhere; its links open in windows of their own.
    opened.setAttribute(
      "sandbox",
      "allow-scripts allow-same-origin allow-forms allow-popups allow-popups-to-escape-sandbox allow-downloads",
    );
    opened.referrerPolicy = "no-referrer";
    frame = opened;
    body.replaceChildren(opened);
    // A browser does not say whether it has refused a frame, but a page that has loaded does.
    const timer = setTimeout(refuse, READY_MS);
    ready = () => {
      clearTimeout(timer);
      if (!panel.hidden) opened.focus();
    };
  };
  const refuse = (): void => {
    frame = undefined;
    const note = element("p", { textContent: "This page cannot be shown here. " });
    const link = element("a", {
      href: address,
      target: "_blank",
      rel: "noopener",
      textContent: "Open it in a new tab",
    });
    note.setAttribute("role", "alert");
    note.append(link);
    body.replaceChildren(note);
  };
  let ready = (): void => undefined;
  const show = (isOpen: boolean): void => {
    panel.hidden = !isOpen;
    opener.hidden = isOpen;
    opener.setAttribute("aria-expanded", String(isOpen));
    if (!isOpen) return opener.focus();
    // The frame is loaded once, so the conversation continues where it was.
    if (frame === undefined) load();
    closer.focus();
  };
  opener.addEventListener("click", () => show(true));
  closer.addEventListener("click", () => show(false));
  panel.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    event.stopPropagation();
    show(false);
  });
  addEventListener("message", ({ source, origin: from, data }: MessageEvent<FrameMessage | null>) => {
    if (frame === undefined || source !== frame.contentWindow || from !== origin) return;
    if (data?.millrace === "ready") ready();
    if (data?.millrace === "close" && !panel.hidden) show(false);
  });
  document.body.append(host);
}

function element<Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  properties: Partial<HTMLElementTagNameMap[Name]>,
): HTMLElementTagNameMap[Name] {
  return Object.assign(document.createElement(name), properties);
}
