import { lazy, Suspense } from "react";
import type { JSX } from "react";
import { BrowserRouter, Route, Routes } from "react-router";
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
        <Route index element={<Home />} />
        <Route path="runs" element={<Runs />} />
        <Route path="runs/:runId" element={<Run />} />
        <Route path="runs/:runId/compare/:otherId" element={<Compare />} />
        <Route path="inbox" element={<Inbox />} />
        <Route path="inbox/:pauseId" element={<Inbox />} />
        <Route path="webhooks" element={<Webhooks />} />
        <Route path="webhooks/:subscriptionId" element={<Webhook />} />
        <Route path="access" element={<Access />} />
        <Route path="settings" element={<Settings />} />
        <Route path="*" element={<NotFound />} />
      </Route>
    </Routes>
  );
}
