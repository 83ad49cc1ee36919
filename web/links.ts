/** Addresses of the console's pages, relative to where it is served. */
export const links = {
  home: () => "/",
  runs: (filters: Record<string, string | readonly string[]> = {}) => withQuery("/runs", filters),
  run: (runId: string, view: { readonly node?: string; readonly via?: readonly string[] } = {}) =>
    withQuery(`/runs/${runId}`, { ...view }),
  compare: (runId: string, otherId: string) => `/runs/${runId}/compare/${otherId}`,
  inbox: (show?: string) => withQuery("/inbox", { show }),
  pause: (pauseId: string, show?: string) => withQuery(`/inbox/${pauseId}`, { show }),
  webhooks: (filters: Record<string, string> = {}) => withQuery("/webhooks", filters),
  webhook: (subscriptionId: string, filters: Record<string, string> = {}) =>
    withQuery(`/webhooks/${subscriptionId}`, filters),
  access: (tab?: string) => withQuery("/access", tab === undefined ? {} : { tab }),
  settings: () => "/settings",
  connections: (filters: Record<string, string> = {}) => withQuery("/connections", filters),
  retention: (filters: Record<string, string> = {}) => withQuery("/retention", filters),
  background: () => "/background",
  knowledgeBase: (knowledgeBaseId: string, filters: Record<string, string> = {}) =>
    withQuery(`/background/knowledge-bases/${knowledgeBaseId}`, filters),
  experiment: (experimentId: string) => `/background/experiments/${experimentId}`,
  usage: (filters: Record<string, string> = {}) => withQuery("/usage", filters),
};

/** Every page: the address of each below `/console`, as the router takes it. */
export const PAGE_PATHS = [
  "/",
  "/runs",
  "/runs/:runId",
  "/runs/:runId/compare/:otherId",
  "/inbox",
  "/inbox/:pauseId",
  "/webhooks",
  "/webhooks/:subscriptionId",
  "/access",
  "/settings",
  "/connections",
  "/usage",
  "/background",
  "/background/knowledge-bases/:knowledgeBaseId",
  "/background/experiments/:experimentId",
  "/retention",
] as const;

function withQuery(path: string, query: Record<string, string | readonly string[] | undefined>): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined) continue;
    for (const each of typeof value === "string" ? [value] : value) search.append(name, each);
  }
  const text = search.toString();
  return text === "" ? path : `${path}?${text}`;
}
