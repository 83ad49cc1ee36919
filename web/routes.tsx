import { lazy } from "react";
import type { ComponentType } from "react";
import type { IconName } from "./parts/icons.tsx";

/** Groups of the navigation in their order; the pages of the first one have no heading. */
export const GROUPS = ["", "Build", "Operate", "Settings"] as const;

interface Place {
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

const page = (path: string, title: string, load: () => Promise<ComponentType>, place: Place | null = null): Page => ({
  path,
  title,
  place,
  Shown: lazy(async () => ({ default: await load() })),
});

/** Every page, in the order of the navigation. Router, navigation, palette and titles come from this table. */
export const PAGES: readonly Page[] = [
  page("/", "Home", async () => (await import("./pages/home/home-page.tsx")).HomePage, { group: "", icon: "home" }),
  page("/runs", "Runs", async () => (await import("./pages/runs/runs-page.tsx")).RunsPage, { group: "", icon: "runs" }),
  page("/runs/:runId", "Run", async () => (await import("./pages/runs/run-page.tsx")).RunPage),
  page(
    "/runs/:runId/compare/:otherId",
    "Compare two runs",
    async () => (await import("./pages/runs/compare-page.tsx")).ComparePage,
  ),
  page("/inbox/:pauseId?", "Inbox", async () => (await import("./pages/inbox/inbox-page.tsx")).InboxPage, {
    group: "",
    icon: "inbox",
  }),
  page("/flows", "Flows", async () => (await import("./pages/flows/flows-page.tsx")).FlowsPage, {
    group: "Build",
    icon: "flows",
  }),
  page("/flows/:projectId", "Flow", async () => (await import("./pages/flows/flow-page.tsx")).FlowPage),
  page(
    "/flows/:projectId/versions/:version",
    "Version",
    async () => (await import("./pages/flows/version-page.tsx")).VersionPage,
  ),
  page(
    "/flows/:projectId/compare/:from/:to",
    "Compare versions",
    async () => (await import("./pages/flows/compare-page.tsx")).CompareVersionsPage,
  ),
  page(
    "/flows/:projectId/environments",
    "Environments",
    async () => (await import("./pages/flows/environments-page.tsx")).EnvironmentsPage,
  ),
  page("/flows/:projectId/call", "Call it", async () => (await import("./pages/flows/call-page.tsx")).CallPage),
  page(
    "/flows/:projectId/chat/:conversationId?",
    "Chat",
    async () => (await import("./pages/chat/chat-page.tsx")).ChatPage,
  ),
  page("/flows/:projectId/pages", "Pages", async () => (await import("./pages/published/pages-page.tsx")).PagesPage),
  page(
    "/flows/:projectId/triggers/:triggerId",
    "Trigger",
    async () => (await import("./pages/triggers/trigger-page.tsx")).TriggerPage,
  ),
  page("/flows/:projectId/edit", "Editor", async () => (await import("./pages/editor/editor-page.tsx")).EditorPage),
  page(
    "/connections",
    "Connections",
    async () => (await import("./pages/connections/connections-page.tsx")).ConnectionsPage,
    { group: "Build", icon: "connections", role: "viewer" },
  ),
  page("/webhooks", "Webhooks", async () => (await import("./pages/webhooks/webhooks-page.tsx")).WebhooksPage, {
    group: "Operate",
    icon: "webhooks",
    role: "viewer",
  }),
  page(
    "/webhooks/:subscriptionId",
    "Webhook",
    async () => (await import("./pages/webhooks/webhook-page.tsx")).WebhookPage,
  ),
  page("/usage", "Model usage", async () => (await import("./pages/usage/usage-page.tsx")).UsagePage, {
    group: "Operate",
    icon: "usage",
    name: "Usage",
    role: "viewer",
  }),
  page(
    "/background",
    "Background work",
    async () => (await import("./pages/background/background-page.tsx")).BackgroundPage,
    { group: "Operate", icon: "background", role: "viewer" },
  ),
  page(
    "/background/knowledge-bases/:knowledgeBaseId",
    "Knowledge base",
    async () => (await import("./pages/background/knowledge-base-page.tsx")).KnowledgeBasePage,
  ),
  page(
    "/background/experiments/:experimentId",
    "Experiment",
    async () => (await import("./pages/background/experiment-page.tsx")).ExperimentPage,
  ),
  page("/settings", "Settings", async () => (await import("./pages/settings/settings-page.tsx")).SettingsPage, {
    group: "Settings",
    icon: "settings",
    name: "General",
  }),
  page("/access", "Access", async () => (await import("./pages/access/access-page.tsx")).AccessPage, {
    group: "Settings",
    icon: "access",
  }),
  page("/retention", "Retention", async () => (await import("./pages/retention/retention-page.tsx")).RetentionPage, {
    group: "Settings",
    icon: "retention",
  }),
];

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
