import { WorkflowNotFoundError } from "@temporalio/client";
import { afterAll, beforeAll, expect, inject, it } from "vitest";
import { ingestWorkflowId } from "../../../src/temporal/ids.ts";
import { flow } from "../../engine/support.ts";
import { withTemporal } from "../../support/histories.ts";
import { eventually } from "../../support/scratch.ts";
import { startServiceProcess, type ServiceProcess } from "../../support/service-processes.ts";
import { startService, type OwnService } from "../../support/service.ts";
import { openTenant, type ApiTenant } from "../tenant.ts";

let own: OwnService;
let worker: ServiceProcess | undefined;
beforeAll(async () => {
  // Without a worker, no document is processed.
  own = await startService({ workers: 0 });
});
afterAll(async () => {
  await worker?.kill();
  await own?.close();
});

const document = flow(
  [
    { id: "doc-0", type: "files" },
    { id: "out-0", type: "output" },
  ],
  ["doc-0>out-0"],
);

async function upload(tenant: ApiTenant, flow_id: string, user_id: string): Promise<string> {
  const form = new FormData();
  form.append("file", new Blob([`by ${user_id}`], { type: "text/plain" }), "a.txt");
  const query = { org: tenant.org_id, user_id, flow_id, node_id: "doc-0" };
  const { status, body } = await tenant.public.post("/upload_to_storage_user", form, { query });
  expect(status).toBe(200);
  return body.file_id;
}

async function isStarted(fileId: string): Promise<boolean> {
  try {
    await withTemporal(own.temporalAddress, (client) => client.workflow.getHandle(ingestWorkflowId(fileId)).describe());
    return true;
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return false;
    throw error;
  }
}

it("upload-flood: twenty documents of an organisation are read at the same time, and only its other documents wait", async () => {
  const [flooding, other] = await Promise.all([openTenant(own), openTenant(own)]);
  const flowId = await flooding.deploy(document);
  const flooded: string[] = [];
  for (let at = 0; at < 23; at += 1) flooded.push(await upload(flooding, flowId, `user-${at}`));
  const started = await Promise.all(flooded.map(isStarted));
  expect(started.filter(Boolean)).toHaveLength(20);
  expect(started.slice(20)).toEqual([false, false, false]);
  expect(await isStarted(await upload(other, await other.deploy(document), "user-0"))).toBe(true);

  worker = await startServiceProcess("worker", own.env, inject("millrace").stateDir);
  await eventually("all of them are read", async () => {
    const states = await Promise.all(
      flooded.map(async (_, at) => {
        const { body } = await flooding.secret.get(`/documents/${flooding.org_id}/${flowId}/doc-0/user-${at}`);
        return body.data[0]?.status as string;
      }),
    );
    return states.every((status) => status === "indexed");
  });
});
