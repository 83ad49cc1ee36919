/** URLs of the console's pages, relative to its base path. */
export const links = {
  home: () => "/",
  runs: (filters: Record<string, string | readonly string[]> = {}) => withQuery("/runs", filters),
  run: (runId: string, view: { readonly node?: string; readonly via?: readonly string[] } = {}) =>
    withQuery(`/runs/${runId}`, { ...view }),
  /** The editor with the values of a run. */
  valuesInEditor: (projectId: string, runId: string) =>
    withQuery(`/flows/${projectId}/edit`, { panel: "try", values: runId }),
  compare: (runId: string, otherId: string) => `/runs/${runId}/compare/${otherId}`,
  inbox: (show?: string) => withQuery("/inbox", { show }),
  pause: (pauseId: string, show?: string) => withQuery(`/inbox/${pauseId}`, { show }),
  flows: (filters: Record<string, string> = {}) => withQuery("/flows", filters),
  flow: (projectId: string) => `/flows/${projectId}`,
  flowVersion: (projectId: string, version: number) => `/flows/${projectId}/versions/${version}`,
  /** `from` and `to` are version numbers, `published` or `draft`. */
  flowCompare: (projectId: string, from: string, to: string) => `/flows/${projectId}/compare/${from}/${to}`,
  flowEnvironments: (projectId: string, view: Record<string, string> = {}) =>
    withQuery(`/flows/${projectId}/environments`, view),
  flowCall: (projectId: string) => `/flows/${projectId}/call`,
  trigger: (projectId: string, triggerId: string, filters: Record<string, string> = {}) =>
    withQuery(`/flows/${projectId}/triggers/${triggerId}`, filters),
  flowEdit: (projectId: string) => `/flows/${projectId}/edit`,
  flowChat: (projectId: string, conversationId?: string, filters: Record<string, string> = {}) =>
    withQuery(`/flows/${projectId}/chat${conversationId === undefined ? "" : `/${conversationId}`}`, filters),
  flowPages: (projectId: string, filters: Record<string, string> = {}) =>
    withQuery(`/flows/${projectId}/pages`, filters),
  webhooks: (filters: Record<string, string> = {}) => withQuery("/webhooks", filters),
  webhook: (subscriptionId: string, filters: Record<string, string> = {}) =>
    withQuery(`/webhooks/${subscriptionId}`, filters),
  access: (tab?: string, filters: Record<string, string> = {}) => withQuery("/access", { tab, ...filters }),
  settings: () => "/settings",
  connections: (filters: Record<string, string> = {}) => withQuery("/connections", filters),
  retention: (filters: Record<string, string> = {}) => withQuery("/retention", filters),
  background: () => "/background",
  knowledgeBase: (knowledgeBaseId: string, filters: Record<string, string> = {}) =>
    withQuery(`/background/knowledge-bases/${knowledgeBaseId}`, filters),
  experiment: (experimentId: string) => `/background/experiments/${experimentId}`,
  usage: (filters: Record<string, string> = {}) => withQuery("/usage", filters),
};

function withQuery(path: string, query: Record<string, string | readonly string[] | undefined>): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined) continue;
    for (const each of typeof value === "string" ? [value] : value) search.append(name, each);
  }
  const text = search.toString();
  return text === "" ? path : `${path}?${text}`;
}
