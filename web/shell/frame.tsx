import { Suspense, lazy, useEffect, useRef, useState, type JSX } from "react";
import { Link, Outlet, useLocation } from "react-router";
import { useMe, useSignOut } from "../api/accounts.ts";
import { toProblem } from "../api/problem.ts";
import { links } from "../links.ts";
import { Boundary } from "../parts/boundary.tsx";
import { Icon } from "../parts/icons.tsx";
import { useKeptFocus } from "../parts/kept-focus.ts";
import { useRowKeys } from "../parts/row-keys.ts";
import { Loading } from "../parts/states.tsx";
import { Mark } from "./brand.tsx";
import { Navigation, WaitingCount } from "./navigation.tsx";
import { Palette } from "./palette.tsx";
import { useShortcuts } from "./shortcuts.ts";
import { THEMES, applyTheme, readTheme, type Theme } from "./theme.ts";
import "./frame.css";
import "./sign-in.css";

// The palette is not fetched later: what people type right after its key would be lost.
const Help = lazy(async () => ({ default: (await import("./help.tsx")).Help }));

/** Frame of every page: navigation, the signed-in user, and the global keyboard shortcuts. */
export function Frame(): JSX.Element {
  const [overlay, setOverlay] = useState<"palette" | "help" | null>(null);
  const { pathname } = useLocation();
  useShortcuts(setOverlay);
  useKeptFocus();
  const rows = useRowKeys<HTMLElement>();
  const closeOverlay = (): void => setOverlay(null);
  const header = useRef<HTMLElement>(null);
  const [isMenuOpen, toggleMenu] = useNarrowMenu(header);
  return (
    <div className="frame">
      <a className="button skip" href="#content">
        Skip to content
      </a>
      <header className={`side frame-side ${isMenuOpen ? "side-open" : ""}`} ref={header}>
        <Link className="brand" to={links.home()}>
          <Mark /> <span className="brand-name">Millrace</span>
        </Link>
        <button type="button" className="button button-quiet side-search" onClick={() => setOverlay("palette")}>
          <Icon name="search" /> Go to… <kbd>/</kbd>
        </button>
        <button
          type="button"
          className="button side-menu"
          aria-expanded={isMenuOpen}
          aria-controls="side-body"
          onClick={toggleMenu}
        >
          <Icon name="menu" /> Menu {!isMenuOpen && <WaitingCount />}
        </button>
        <div className="side-body" id="side-body">
          <Navigation />
          <Who />
        </div>
      </header>
      <main id="content" className="content" tabIndex={-1} ref={rows}>
        <Boundary what="page" place={pathname}>
          <Suspense fallback={<Loading what="the page" />}>
            <Outlet />
          </Suspense>
        </Boundary>
      </main>
      {overlay === "palette" && <Palette onClose={closeOverlay} />}
      {overlay === "help" && (
        <Suspense fallback={null}>
          <Help onClose={closeOverlay} />
        </Suspense>
      )}
    </div>
  );
}

/** In a narrow window the navigation opens below a button. Escape, a click elsewhere and another page close it. */
function useNarrowMenu(header: React.RefObject<HTMLElement | null>): readonly [isOpen: boolean, toggle: () => void] {
  const { key } = useLocation();
  const [openAt, setOpenAt] = useState<string | null>(null);
  const isOpen = openAt === key;
  useEffect(() => {
    if (!isOpen) return undefined;
    const close = (event: Event): void => {
      const isEscape = event instanceof KeyboardEvent && event.key === "Escape";
      const isOutside =
        event instanceof PointerEvent &&
        event.target instanceof Node &&
        header.current?.contains(event.target) !== true;
      if (!isEscape && !isOutside) return;
      setOpenAt(null);
      if (isEscape) header.current?.querySelector<HTMLElement>(".side-menu")?.focus();
    };
    document.addEventListener("pointerdown", close);
    document.addEventListener("keydown", close);
    return () => {
      document.removeEventListener("pointerdown", close);
      document.removeEventListener("keydown", close);
    };
  }, [isOpen, header]);
  return [isOpen, () => setOpenAt(isOpen ? null : key)];
}

function Who(): JSX.Element {
  const me = useMe();
  const signOut = useSignOut();
  const [theme, setTheme] = useState(readTheme);
  return (
    <div className="who">
      <p title={me.user?.email}>
        {me.user?.email ?? "API key"}
        <br />
        <span className="small muted">
          {me.role} · {me.organisation.name}
        </span>
      </p>
      <div className="row">
        <select
          className="input button-small"
          aria-label="Theme"
          value={theme}
          onChange={(event) => {
            const chosen = event.target.value as Theme;
            applyTheme(chosen);
            setTheme(chosen);
          }}
        >
          {THEMES.map((each) => (
            <option key={each} value={each}>
              {each[0]?.toUpperCase()}
              {each.slice(1)} theme
            </option>
          ))}
        </select>
        <button
          type="button"
          className="button button-small"
          disabled={signOut.isPending}
          onClick={() => signOut.mutate()}
        >
          Sign out
        </button>
      </div>
      {signOut.error && (
        <div className="notice notice-bad small wrap" role="alert">
          You are still signed in: {toProblem(signOut.error).message}
        </div>
      )}
    </div>
  );
}
