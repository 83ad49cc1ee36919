import { useInfiniteQuery } from "@tanstack/react-query";
import { Suspense, useState } from "react";
import type { JSX } from "react";
import { Link, Outlet, useLocation } from "react-router";
import { useMay, useMayAnywhere, useMe, useSignOut } from "../api/accounts.ts";
import { shownPausesOptions } from "../api/pauses.ts";
import { links } from "../links.ts";
import { Boundary } from "../parts/boundary.tsx";
import { Icon } from "../parts/icons.tsx";
import type { IconName } from "../parts/icons.tsx";
import { useCurrentInView } from "../parts/current-in-view.ts";
import { useKeptFocus } from "../parts/kept-focus.ts";
import { Loading } from "../parts/states.tsx";
import { useRowKeys } from "../parts/table.tsx";
import { Mark } from "./brand.tsx";
import { Help } from "./help.tsx";
import { Palette } from "./palette.tsx";
import { useShortcuts } from "./shortcuts.ts";
import { THEMES, applyTheme, readTheme } from "./theme.ts";
import type { Theme } from "./theme.ts";
import "./frame.css";
import "./sign-in.css";

/** `below`: pages that are reached from that one, by addresses of their own. */
const PLACES: ReadonlyArray<readonly [name: string, to: string, icon: IconName, ...below: string[]]> = [
  ["Home", links.home(), "home", links.background()],
  ["Runs", links.runs(), "runs"],
  ["Inbox", links.inbox(), "inbox"],
  ["Webhooks", links.webhooks(), "webhooks"],
  ["Access", links.access(), "access"],
  ["Settings", links.settings(), "settings", links.connections(), links.usage(), links.retention()],
];

/** What is around every page: where one can go, who is signed in, and the keys that work everywhere. */
export function Frame(): JSX.Element {
  const [overlay, setOverlay] = useState<"palette" | "help" | null>(null);
  const { pathname } = useLocation();
  useShortcuts(setOverlay);
  useKeptFocus();
  const rows = useRowKeys<HTMLElement>();
  const close = (): void => setOverlay(null);
  return (
    <div className="frame">
      <a className="button skip" href="#content">
        Skip to the page
      </a>
      <header className="side frame-side">
        <Link className="brand" to={links.home()}>
          <Mark /> <span className="brand-name">Millrace</span>
        </Link>
        <button type="button" className="button button-quiet" onClick={() => setOverlay("palette")}>
          <Icon name="search" /> Go to… <kbd>/</kbd>
        </button>
        <Navigation />
        <Who />
      </header>
      <main id="content" className="content" tabIndex={-1} ref={rows}>
        <Boundary what="page" place={pathname}>
          <Suspense fallback={<Loading what="the page" />}>
            <Outlet />
          </Suspense>
        </Boundary>
      </main>
      {overlay === "palette" && <Palette onClose={close} />}
      {overlay === "help" && <Help onClose={close} />}
    </div>
  );
}

function Navigation(): JSX.Element {
  const mayDecide = useMayAnywhere("editor");
  const isViewer = useMay("viewer");
  const { pathname } = useLocation();
  const isAt = (place: string): boolean =>
    pathname === place || (place !== links.home() && pathname.startsWith(`${place}/`));
  const { data } = useInfiniteQuery(shownPausesOptions(mayDecide ? "answerable" : "all"));
  const open = data?.data.length ?? 0;
  return (
    <nav className="nav" aria-label="Pages" ref={useCurrentInView(pathname)}>
      {PLACES.filter(([, to]) => isViewer || to !== links.webhooks()).map(([name, to, icon, ...below]) => (
        <Link key={name} to={to} aria-current={[to, ...below].some(isAt) ? "page" : undefined}>
          <Icon name={icon} />
          {name}
          {name === "Inbox" && open > 0 && (
            <span className="count">
              {open}
              {data?.has_more === true && "+"}
              <span className="visually-hidden"> waiting</span>
            </span>
          )}
        </Link>
      ))}
      <a href="/docs">
        <Icon name="open" />
        API reference
      </a>
    </nav>
  );
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
        <button type="button" className="button button-small" onClick={() => signOut.mutate()}>
          Sign out
        </button>
      </div>
    </div>
  );
}
