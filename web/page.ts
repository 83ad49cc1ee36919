import { lazy, type ComponentType } from "react";
import type { IconName } from "./parts/icons.tsx";

/** Groups of the navigation in their order; the pages of the first one have no heading. */
export const GROUPS = ["", "Build", "Operate", "Settings"] as const;

/** Where the navigation shows a page. */
export interface Place {
  readonly group: (typeof GROUPS)[number];
  readonly icon: IconName;
  /** Name in the navigation, if it differs from the title. */
  readonly name?: string;
  /** The page needs a role in the organisation, not only in projects. */
  readonly role?: "viewer";
}

/** A page of the console; its code is a chunk of its own, fetched when the page is first opened. */
export interface Page {
  /** Pattern of the address below `/console`. */
  readonly path: string;
  /** Title until the page sets the name of what it shows. */
  readonly title: string;
  /** Place in the navigation; a page without one belongs to the listed page whose path its own path starts with. */
  readonly place: Place | null;
  readonly Shown: ComponentType;
}

/** A page for the index.ts of its folder. */
export const page = (
  path: string,
  title: string,
  load: () => Promise<ComponentType>,
  place: Place | null = null,
): Page => ({
  path,
  title,
  place,
  Shown: lazy(async () => ({ default: await load() })),
});
