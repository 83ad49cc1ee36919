import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import { api, unwrap, type Schemas } from "./client.ts";
import { newKey } from "./intent.ts";

export type Conversation = Schemas["Conversation"];

const PATH = "/v2/projects/{project_id}/conversations" as const;
/** Longest title made from a first question (characters). */
const TITLE = 80;

/** The user ID of a person's conversation. Model memory and documents belong to exactly this ID. */
export const conversationUser = (userId: string, conversationId: string): string => `${userId}-${conversationId}`;

/** The conversations of a person with a flow, newest first. */
export const conversationsOptions = (project_id: string, user: string) =>
  infiniteQueryOptions({
    queryKey: ["conversations", "list", project_id, user],
    initialPageParam: null as string | null,
    queryFn: ({ pageParam }) =>
      unwrap(
        api.GET(PATH, {
          params: { path: { project_id }, query: { user, ...(pageParam !== null && { cursor: pageParam }) } },
        }),
      ),
    getNextPageParam: (page) => (page.has_more ? page.cursor : null),
  });

interface Named {
  readonly project_id: string;
  readonly user_id: string;
}

/** Names a conversation; makes it, if the flow has no memory of it. */
export const nameConversation = ({ title, ...path }: Named & { readonly title: string }) =>
  unwrap(api.PATCH(`${PATH}/{user_id}`, { params: { path }, body: { title } }));

/** Deletes what the flow remembers of a conversation, and its documents; its runs stay. */
export const deleteConversation = (path: Named) => unwrap(api.DELETE(`${PATH}/{user_id}`, { params: { path } }));

/** The title of a conversation that begins with a question. */
export const titleOf = (question: string): string =>
  [...question.trim().replaceAll(/\s+/g, " ")].slice(0, TITLE).join("");

const PAGE = 20;

/** The runs of a conversation, newest first, page by page. */
export const conversationRunsOptions = (project_id: string, user_id: string) =>
  infiniteQueryOptions({
    queryKey: ["conversations", "runs", project_id, user_id],
    initialPageParam: null as string | null,
    queryFn: ({ pageParam }) =>
      unwrap(
        api.GET("/v2/runs", {
          params: {
            query: { project_id, user_id, page_size: PAGE, ...(pageParam !== null && { cursor: pageParam }) },
          },
        }),
      ),
    getNextPageParam: (page) => (page.has_more ? page.cursor : null),
  });

/** What a chat talks to: the published version, the version of another environment, or the draft. */
export type Target = { readonly draft: true } | { readonly environment?: string };

export interface Question {
  readonly project_id: string;
  readonly user_id: string;
  readonly inputs: Readonly<Record<string, unknown>>;
  readonly target: Target;
  /** The same key again returns the same run. */
  readonly key: string;
}

/** Starts the run that answers a question. */
export const ask = ({ key, target, ...question }: Question) =>
  unwrap(
    api.POST("/v2/runs", {
      params: { header: { "Idempotency-Key": key } },
      body: { ...question, ...target } as Schemas["RunCreate"],
    }),
  );

const FEEDBACK = "feedback";
const RATED = 200;

/** The latest ratings of a project's runs: by run, whether it was helpful. */
export const ratingsOptions = (project_id: string) =>
  queryOptions({
    queryKey: ["conversations", "ratings", project_id],
    queryFn: async () => {
      const query = { project_id, name: FEEDBACK, page_size: RATED };
      const { data } = await unwrap(api.GET("/v2/evals/scores", { params: { query } }));
      return new Map(data.toReversed().map(({ run_id, value }) => [run_id, value === true || value === "positive"]));
    },
  });

/** Rates the answer of a run. */
export const rate = ({ run_id, isHelpful }: { readonly run_id: string; readonly isHelpful: boolean }) =>
  unwrap(
    api.POST("/v2/evals/runs/{run_id}/scores", {
      params: { path: { run_id }, header: { "Idempotency-Key": newKey() } },
      body: { name: FEEDBACK, data_type: "boolean", value: isHelpful, metadata: {} },
    }),
  );
