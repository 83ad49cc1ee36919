import { lazy, Suspense } from "react";
import type { ComponentType, JSX } from "react";
import { BrowserRouter, Route, Routes } from "react-router";
import { PAGE_PATHS } from "./links.ts";
import { Gate } from "./shell/gate.tsx";
import { NotFound } from "./shell/not-found.tsx";

// Each page is a chunk of its own, fetched when it is first looked at.
const Home = lazy(async () => ({ default: (await import("./pages/home/home-page.tsx")).HomePage }));
const Runs = lazy(async () => ({ default: (await import("./pages/runs/runs-page.tsx")).RunsPage }));
const Run = lazy(async () => ({ default: (await import("./pages/runs/run-page.tsx")).RunPage }));
const Compare = lazy(async () => ({ default: (await import("./pages/runs/compare-page.tsx")).ComparePage }));
const Inbox = lazy(async () => ({ default: (await import("./pages/inbox/inbox-page.tsx")).InboxPage }));
const Webhooks = lazy(async () => ({ default: (await import("./pages/webhooks/webhooks-page.tsx")).WebhooksPage }));
const Webhook = lazy(async () => ({ default: (await import("./pages/webhooks/webhook-page.tsx")).WebhookPage }));
const Access = lazy(async () => ({ default: (await import("./pages/access/access-page.tsx")).AccessPage }));
const Settings = lazy(async () => ({ default: (await import("./pages/settings/settings-page.tsx")).SettingsPage }));

const Connections = lazy(async () => ({
  default: (await import("./pages/connections/connections-page.tsx")).ConnectionsPage,
}));
const Retention = lazy(async () => ({ default: (await import("./pages/retention/retention-page.tsx")).RetentionPage }));
const Background = lazy(async () => ({
  default: (await import("./pages/background/background-page.tsx")).BackgroundPage,
}));
const KnowledgeBase = lazy(async () => ({
  default: (await import("./pages/background/knowledge-base-page.tsx")).KnowledgeBasePage,
}));
const Experiment = lazy(async () => ({
  default: (await import("./pages/background/experiment-page.tsx")).ExperimentPage,
}));
const Usage = lazy(async () => ({ default: (await import("./pages/usage/usage-page.tsx")).UsagePage }));

const PAGES: Readonly<Record<(typeof PAGE_PATHS)[number], ComponentType>> = {
  "/": Home,
  "/runs": Runs,
  "/runs/:runId": Run,
  "/runs/:runId/compare/:otherId": Compare,
  "/inbox": Inbox,
  "/inbox/:pauseId": Inbox,
  "/webhooks": Webhooks,
  "/webhooks/:subscriptionId": Webhook,
  "/access": Access,
  "/settings": Settings,
  "/connections": Connections,
  "/usage": Usage,
  "/background": Background,
  "/background/knowledge-bases/:knowledgeBaseId": KnowledgeBase,
  "/background/experiments/:experimentId": Experiment,
  "/retention": Retention,
};

const Reference = lazy(async () => ({ default: (await import("./pages/reference/reference-page.tsx")).ReferencePage }));

/** The reference stands at an address of its own, and nobody has to be signed in for it. */
export function Routing(): JSX.Element {
  if (location.pathname !== "/docs")
    return (
      <BrowserRouter basename="/console">
        <Pages />
      </BrowserRouter>
    );
  return (
    <Suspense>
      <Reference />
    </Suspense>
  );
}

function Pages(): JSX.Element {
  return (
    <Routes>
      <Route element={<Gate />}>
        {PAGE_PATHS.map((path) => {
          const Page = PAGES[path];
          return <Route key={path} path={path} element={<Page />} />;
        })}
        <Route path="*" element={<NotFound />} />
      </Route>
    </Routes>
  );
}
