import { useInfiniteQuery } from "@tanstack/react-query";
import type { JSX } from "react";
import { Link, useLocation } from "react-router";
import { useMay, useMayAnywhere } from "../api/accounts.ts";
import { shownPausesOptions } from "../api/pauses.ts";
import { links } from "../links.ts";
import { Icon } from "../parts/icons.tsx";
import { GROUPS } from "../page.ts";
import { LISTED, listedAt, type ListedPage } from "../routes.tsx";
import "./navigation.css";

/** The pages of the navigation that the signed-in person may open. */
export function useListed(): readonly ListedPage[] {
  const isViewer = useMay("viewer");
  return LISTED.filter(({ place }) => isViewer || place.role === undefined);
}

/** All pages by group, with the current one marked. */
export function Navigation(): JSX.Element {
  const { pathname } = useLocation();
  const current = listedAt(pathname);
  const listed = useListed();
  return (
    <nav className="nav" aria-label="Pages">
      {GROUPS.map((group) => {
        const pages = listed.filter(({ place }) => place.group === group);
        return (
          pages.length > 0 && (
            <div key={group} className="nav-group" role="group" aria-label={group || "Daily work"}>
              {group !== "" && <p aria-hidden="true">{group}</p>}
              {pages.map(({ to, title, place }) => (
                <Link key={to} to={to} aria-current={to === current?.to ? "page" : undefined}>
                  <Icon name={place.icon} />
                  {place.name ?? title}
                  {to === links.inbox() && <WaitingCount />}
                </Link>
              ))}
            </div>
          )
        );
      })}
      <a href="/docs">
        <Icon name="open" />
        API reference
      </a>
    </nav>
  );
}

/** How many approvals wait for the signed-in person; nothing if there are none. */
export function WaitingCount(): JSX.Element | null {
  const mayDecide = useMayAnywhere("editor");
  const { data } = useInfiniteQuery(shownPausesOptions(mayDecide ? "answerable" : "all"));
  const open = data?.data.length ?? 0;
  if (open === 0) return null;
  return (
    <span className="count">
      {open}
      {data?.has_more === true && "+"}
      <span className="visually-hidden"> waiting</span>
    </span>
  );
}
