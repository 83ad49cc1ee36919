import { queryOptions } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { api, unwrap, type Schemas } from "./client.ts";
import { everyPage } from "./every-page.ts";
import { memberText } from "./member-text.ts";
import { ApiProblem, problemOf, toProblem } from "./problem.ts";

export type NodeKind = Schemas["NodeKind"];
export type FlowProblem = Schemas["FlowProblem"];
export type FlowScope = Schemas["FlowScope"];
export type DraftHead = Omit<Schemas["Draft"], "flow">;
export type DraftStep = Schemas["DraftStep"];

/** All node types, in the order of the palette. They change only with a new release. */
export const nodeKindsOptions = queryOptions({
  queryKey: ["node-kinds", "list"],
  staleTime: Number.POSITIVE_INFINITY,
  queryFn: async () => (await unwrap(api.GET("/v2/flows/node-kinds"))).data,
});

export const flowProjectOptions = (project_id: string) =>
  queryOptions({
    queryKey: ["projects", "detail", project_id],
    queryFn: () => unwrap(api.GET("/v2/projects/{project_id}", { params: { path: { project_id } } })),
  });

/** A flow as text, because parsing in the browser would change numbers with many digits. */
export interface StoredFlow {
  readonly text: string;
  /** Null if the text is not that of the draft. */
  readonly etag: string | null;
  readonly head: DraftHead | null;
  /** The version that the text is from, if there is no draft. */
  readonly version: number | null;
}

/** The draft of a project; null if it has none. */
export async function readDraft(project_id: string): Promise<StoredFlow | null> {
  try {
    const { data, etag } = await textOf(
      api.GET("/v2/projects/{project_id}/draft", { params: { path: { project_id } }, parseAs: "text" }),
    );
    const { flow: _, ...head } = JSON.parse(data) as Schemas["Draft"];
    return { text: memberText(data, "flow") ?? "{}", etag, head, version: null };
  } catch (error) {
    if (error instanceof ApiProblem && error.status === 404) return null;
    throw error;
  }
}

/** Reads the published version; null if there is none. */
async function readPublished(project_id: string): Promise<StoredFlow | null> {
  const path = { project_id, version: -1 };
  try {
    const { data } = await textOf(
      api.GET("/v2/projects/{project_id}/versions/{version}", { params: { path }, parseAs: "text" }),
    );
    const found = JSON.parse(data) as { readonly version: number };
    return { text: memberText(data, "flow") ?? "{}", etag: null, head: null, version: found.version };
  } catch (error) {
    if (error instanceof ApiProblem && error.code === "flow_version_not_found") return null;
    throw error;
  }
}

/** What the editor opens: the draft, otherwise the published version; null for a project without both. It is read once, because the editor then holds the flow. */
export const draftOptions = (project_id: string) =>
  queryOptions({
    queryKey: ["drafts", "edited", project_id],
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
    refetchOnWindowFocus: false,
    refetchOnReconnect: false,
    queryFn: async () => {
      // An editor that was just left may still be saving; what is read before that would be stale at once.
      await saving.get(project_id)?.catch(() => undefined);
      return (await readDraft(project_id)) ?? (await readPublished(project_id));
    },
  });

/** Drafts that are being saved by this page. */
const saving = new Map<string, Promise<SavedDraft>>();

/** A draft that another person changed after it was read. */
export class DraftChanged extends ApiProblem {
  /** The step that came in between; null if the project has no draft and never had one. */
  readonly change: DraftStep | null;
  constructor(problem: ApiProblem, change: DraftStep | null) {
    super(problem.status, problem.code, problem.message, problem.requestId);
    this.change = change;
  }
}

export interface SavedDraft {
  readonly etag: string | null;
  readonly head: DraftHead;
}

interface SaveOptions {
  readonly etag: string | null;
  /** Whether the request may outlive the page. */
  readonly keepalive?: boolean;
}

/** Saves the flow as the draft that `etag` names; without an ETag, as the first draft of the project. */
export function saveDraft(project_id: string, flow: string, how: SaveOptions): Promise<SavedDraft> {
  const save = putDraft(project_id, flow, how);
  saving.set(project_id, save);
  return save;
}

async function putDraft(
  project_id: string,
  flow: string,
  { etag, keepalive = false }: SaveOptions,
): Promise<SavedDraft> {
  const { data, error, response } = await api.PUT("/v2/projects/{project_id}/draft", {
    params: { path: { project_id }, header: etag === null ? { "If-None-Match": "*" } : { "If-Match": etag } },
    body: { flow: {} },
    bodySerializer: () => `{"flow":${flow}}`,
    keepalive,
  });
  if (response.ok) return { etag: response.headers.get("etag"), head: data as DraftHead };
  const problem = problemOf(response, error);
  if (response.status !== 412) throw problem;
  throw new DraftChanged(problem, (error as { readonly change?: DraftStep }).change ?? null);
}

/** The steps of the draft, newest first. */
export const draftStepsOptions = (project_id: string) =>
  queryOptions({
    queryKey: ["draft-steps", "list", project_id],
    queryFn: () =>
      everyPage((query) =>
        unwrap(api.GET("/v2/projects/{project_id}/draft/steps", { params: { path: { project_id }, query } })),
      ),
  });

/** The flow of a step, as text; null for a step that deleted or published the draft. */
export async function readDraftStep(project_id: string, revision: number): Promise<string | null> {
  const path = { project_id, revision };
  const { data } = await textOf(
    api.GET("/v2/projects/{project_id}/draft/steps/{revision}", { params: { path }, parseAs: "text" }),
  );
  const text = memberText(data, "flow");
  return text === undefined || text === "null" ? null : text;
}

export interface FlowCheck {
  readonly problems: readonly FlowProblem[];
  readonly scope: FlowScope | null;
  /** Whether the result belongs to the flow as it is now. */
  readonly isCurrent: boolean;
  /** Why the last check got no result. */
  readonly failure: ApiProblem | null;
}

const CHECK_AFTER_MS = 400;
const UNCHECKED = { problems: [], scope: null, failure: null, of: null };

/** Checks a flow (as text) whenever it has not changed for a moment. The previous result stays until the next arrives. */
export function useScope(project_id: string, flow: string): FlowCheck {
  const [known, setKnown] = useState<Omit<FlowCheck, "isCurrent"> & { readonly of: string | null }>(UNCHECKED);
  useEffect(() => {
    const abort = new AbortController();
    const check = async (): Promise<void> => {
      try {
        const { problems, scope = null } = await unwrap(
          api.POST("/v2/flows/validate", {
            params: { query: { expand: "scope" } },
            body: { flow: {} as never },
            bodySerializer: () => `{"project_id":${JSON.stringify(project_id)},"flow":${flow}}`,
            signal: abort.signal,
          }),
        );
        if (!abort.signal.aborted) setKnown({ problems, scope, failure: null, of: flow });
      } catch (error) {
        if (!abort.signal.aborted) setKnown((last) => ({ ...last, failure: toProblem(error), of: flow }));
      }
    };
    const timer = setTimeout(() => void check(), CHECK_AFTER_MS);
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [project_id, flow]);
  const { of, ...result } = known;
  return { ...result, isCurrent: of === flow };
}

/** The body of a successful response as text, with its ETag. */
async function textOf(
  call: Promise<{ readonly data?: string; readonly error?: unknown; readonly response: Response }>,
): Promise<{ readonly data: string; readonly etag: string | null }> {
  const data = await unwrap(call);
  return { data, etag: (await call).response.headers.get("etag") };
}
