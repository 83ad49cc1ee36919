import { lazy } from "react";
import type { Page, Place } from "./page.ts";
import { home } from "./pages/home/index.ts";
import { runs } from "./pages/runs/index.ts";
import { inbox } from "./pages/inbox/index.ts";
import { flows } from "./pages/flows/index.ts";
import { chat } from "./pages/chat/index.ts";
import { published } from "./pages/published/index.ts";
import { triggers } from "./pages/triggers/index.ts";
import { editor } from "./pages/editor/index.ts";
import { connections } from "./pages/connections/index.ts";
import { webhooks } from "./pages/webhooks/index.ts";
import { usage } from "./pages/usage/index.ts";
import { background } from "./pages/background/index.ts";
import { settings } from "./pages/settings/index.ts";
import { access } from "./pages/access/index.ts";
import { retention } from "./pages/retention/index.ts";

/** Every page, in the order of the navigation. Router, navigation, palette and titles come from this table. */
export const PAGES: readonly Page[] = [
  home,
  runs,
  inbox,
  flows,
  chat,
  published,
  triggers,
  editor,
  connections,
  webhooks,
  usage,
  background,
  settings,
  access,
  retention,
].flat();

/** The API reference, which has a URL outside the console and needs no sign-in. */
export const Reference = lazy(async () => ({
  default: (await import("./pages/reference/reference-page.tsx")).ReferencePage,
}));

/** A page of the navigation, with its address. */
export interface ListedPage extends Page {
  readonly place: Place;
  readonly to: string;
}

const isListed = (each: Page): each is Page & { readonly place: Place } => each.place !== null;
/** The pages of the navigation. Their address is the path without its optional parts. */
export const LISTED: readonly ListedPage[] = PAGES.filter(isListed).map((each) => ({
  ...each,
  to: each.path.replace(/\/:.*/, "") || "/",
}));

/** The page of the navigation to which an address belongs: the one with the longest path that the address starts with. */
export function listedAt(pathname: string): ListedPage | undefined {
  const isAt = ({ to }: ListedPage): boolean => pathname === to || (to !== "/" && pathname.startsWith(`${to}/`));
  return LISTED.filter(isAt).toSorted((a, b) => b.to.length - a.to.length)[0];
}
