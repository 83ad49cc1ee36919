import { expect } from "vitest";
import type { FlowDefinition } from "../../../src/domain/flow/definition/definition.ts";
import type { Answer, TestClient } from "../../support/client.ts";
import { flow } from "../../engine/support.ts";
import { checkedClient } from "../http/conformance.ts";
import type { ApiTenant } from "../tenant.ts";

/** A published page of a new project. */
export interface Published {
  readonly page: Answer["body"];
  /** The API's path of the page for members. */
  readonly path: string;
  /** The page's own path, `/f/<token>`. */
  readonly door: string;
  /** A client without a handle. */
  readonly nobody: TestClient;
  /** A client with the handle of a new visitor. */
  enter(password?: string): Promise<Visitor>;
}

/** A browser that uses a page. */
export interface Visitor {
  readonly api: TestClient;
  readonly handle: string;
  /** Starts a run and waits until it finishes or pauses. */
  run(inputs: object, more?: object): Promise<Answer["body"]>;
}

/** Publishes a page of a new project with this flow. */
export async function publish(
  tenant: ApiTenant,
  definition: FlowDefinition,
  fields: object = {},
  target: { readonly url: string } = tenant.target,
): Promise<Published> {
  const project = await tenant.deploy(definition);
  const pages = `/v2/projects/${project}/pages`;
  const { status, body: page } = await tenant.secret.post(pages, { kind: "form", ...fields });
  expect(status, JSON.stringify(page)).toBe(201);
  const door = new URL(page.url).pathname;
  const nobody = checkedClient(target);
  return {
    page,
    path: `${pages}/${page.page_id}`,
    door,
    nobody,
    async enter(password) {
      const entered = await nobody.post(`${door}/visitors`, password === undefined ? {} : { password });
      expect(entered.status, JSON.stringify(entered.body)).toBe(201);
      const handle = entered.body.visitor;
      const api = checkedClient(target, handle);
      return {
        api,
        handle,
        async run(inputs, more = {}) {
          const started = await api.post(`${door}/runs`, { inputs, ...more });
          expect(started.status, JSON.stringify(started.body)).toBe(202);
          return settled(api, `${door}/runs/${started.body.run_id}`);
        },
      };
    },
  };
}

/** A run of a page once it has finished or paused. */
export async function settled(api: TestClient, path: string): Promise<Answer["body"]> {
  const response = await api.raw("GET", path, undefined, { headers: EVENTS, signal: AbortSignal.timeout(30_000) });
  expect(response.status).toBe(200);
  await response.text();
  const { body } = await api.get(path);
  return body;
}

export const EVENTS = { accept: "text/event-stream" };

/** A flow with a text, documents, and a question to people before its output. */
export const consulting = (): FlowDefinition =>
  flow(
    [
      { id: "in-0", type: "input", name: "Question" },
      { id: "doc-0", type: "files", config: { accept: ["text/plain"] } },
      { id: "approval-0", type: "approval", config: { message: "Send {{in-0}}?", data: "{'secret': 'inner'}" } },
      { id: "out-0", type: "output", config: { value: "{{in-0}} {{doc-0.text}}" } },
    ],
    ["in-0>approval-0", "doc-0>out-0", "approval-0:approve>out-0", "approval-0:reject>out-0"],
  );
