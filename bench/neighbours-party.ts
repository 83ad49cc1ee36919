import { uuidv7 } from "uuidv7";
import { createKey, createOrganisation } from "../src/cli/accounts.ts";
import type { Db } from "../src/stores/db.ts";
import { getRun, insertRuns } from "../src/stores/runs/runs.ts";
import { queueFirings } from "../src/stores/triggers/firings.ts";
import { request, requestText, type Process, type Stage } from "./stage.ts";

/** An organisation of a benchmark, and its calls. */
export interface Party {
  readonly org_id: string;
  readonly call: <T>(path: string, body?: unknown) => Promise<T>;
  /** Reads a response of any kind to its end. */
  read(path: string, body?: unknown): Promise<string>;
  deploy(flow: unknown): Promise<string>;
  /** Runs a flow, and waits for its outputs. */
  run(projectId: string, inputs: Readonly<Record<string, unknown>>): Promise<Readonly<Record<string, unknown>>>;
  /** Starts a run, and does not wait. */
  start(projectId: string, inputs: Readonly<Record<string, unknown>>): Promise<string>;
  /** Queues runs like an existing one, as if a process had accepted this many and then died. */
  queue(projectId: string, inputs: Readonly<Record<string, unknown>>, count: number): Promise<void>;
  /** Queues firings of a trigger, as if this many events had arrived together. */
  fire(triggerId: string, count: number): Promise<void>;
  upload(projectId: string, userId: string, name: string, content: Uint8Array): Promise<void>;
}

export async function openParty(stage: Pick<Stage, "db">, api: Pick<Process, "url">, name: string): Promise<Party> {
  const { org_id } = await createOrganisation(stage.db, name);
  const { value: key } = await createKey(stage.db, { org_id, name, kind: "secret" });
  const call = <T>(path: string, body?: unknown): Promise<T> => request(`${api.url}${path}`, key, body) as Promise<T>;
  const start = async (project_id: string, inputs: Readonly<Record<string, unknown>>): Promise<string> =>
    (await call<{ run_id: string }>("/v2/runs", { project_id, inputs, mode: "async" })).run_id;
  const inThousands = async (count: number, insert: (db: Db, some: readonly string[]) => Promise<unknown>) => {
    await stage.db.org(org_id, async (db) => {
      for (let left = count; left > 0; left -= 1000)
        await insert(db, Array.from({ length: Math.min(left, 1000) }, uuidv7));
    });
  };
  return {
    org_id,
    call,
    read: (path, body) => requestText(`${api.url}${path}`, key, body),
    async deploy(flow) {
      const made = await call<{ project_id: string }>("/v2/projects", { name: "bench", flow, publish: true });
      return made.project_id;
    },
    async run(projectId, inputs) {
      const run = await call<{ state: string; outputs: Record<string, unknown> }>(
        `/inference/v0/run/${org_id}/${projectId}`,
        inputs,
      );
      if (run.state !== "COMPLETED") throw new Error(`the run is ${run.state}`);
      return run.outputs;
    },
    start,
    async queue(projectId, inputs, count) {
      const started = await start(projectId, inputs);
      await inThousands(count, async (db, ids) => {
        const row = await getRun(db, started);
        if (row === null) throw new Error("the run is gone");
        await insertRuns(
          db,
          ids.map((run_id) => ({ ...row, run_id })),
        );
      });
    },
    async fire(trigger_id, count) {
      await inThousands(count, (db, ids) =>
        queueFirings(
          db,
          ids.map((run_id) => ({ run_id, org_id, trigger_id, key: run_id, depth: 0, payload: { outputs: {} } })),
        ),
      );
    },
    async upload(projectId, userId, filename, content) {
      const form = new FormData();
      form.set("file", new Blob([new Uint8Array(content)]), filename);
      const query = new URLSearchParams({
        org: org_id,
        user_id: userId,
        flow_id: projectId,
        node_id: "doc-0",
      }).toString();
      const response = await fetch(`${api.url}/upload_to_storage_user?${query}`, {
        method: "POST",
        headers: { authorization: `Bearer ${key}` },
        body: form,
      });
      if (!response.ok) throw new Error(`upload: ${response.status} ${(await response.text()).slice(0, 300)}`);
      await response.arrayBuffer();
    },
  };
}
