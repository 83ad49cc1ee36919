import { readFileSync } from "node:fs";
import { afterAll, beforeAll, expect, it } from "vitest";
import { uuidv7 } from "uuidv7";
import { startInProcess, type InProcessApi } from "../api/in-process.ts";
import { client } from "../support/client.ts";
import { flow } from "../support/flows.ts";
import { createOrganisation } from "../support/service.ts";

interface Operation {
  readonly operationId: string;
  readonly requestBody?: { readonly content: Readonly<Record<string, unknown>> };
}
const document = JSON.parse(readFileSync("openapi.json", "utf8")) as {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
};

/** Operations that accept run inputs, a flow or an import. Each has its reason to be here; no other may accept wide JSON. */
const WIDE = [
  "addDatasetRows",
  "callMcp",
  "changeDatasetRow",
  "createDatasetImport",
  "createFlowVersion",
  "createProject",
  "createRun",
  "evaluateExpression",
  "importProvider",
  "previewEvaluator",
  "receiveWebhook",
  "resumeRun",
  "runAction",
  "runDeployedFlow",
  "saveDraft",
  "startPageRun",
  "streamDeployedFlow",
  "validateFlow",
];

let api: InProcessApi;
beforeAll(async () => {
  api = await startInProcess();
});
afterAll(() => api.close());

it("wide-json: only operations that accept inputs, flows or imports accept more than 10 000 fields", async () => {
  const { org_id, secretKey } = await createOrganisation(api);
  const member = client(api, secretKey);
  const { body: project } = await member.post("/v2/projects", { name: "Page", flow: flow() });
  const { body: page } = await member.post(`/v2/projects/${project.project_id}/pages`, { kind: "form" });
  const token = page.url.split("/").at(-1);
  const { body: entered } = await member.post(`/f/${token}/visitors`, {});
  const visitor = client(api, entered.visitor);
  const wide: string[] = [];
  const body = `{${Array.from({ length: 10_001 }, (_, at) => `"${at}":0`).join(",")}}`;
  let asked = 0;
  for (const [path, methods] of Object.entries(document.paths)) {
    const { post, patch, put } = path.startsWith("/f/") ? visitor : member;
    for (const [method, call] of Object.entries({ post, patch, put })) {
      const operation = methods[method];
      if (!operation?.requestBody?.content["application/json"]) continue;
      asked++;
      const known: Readonly<Record<string, string>> = { org_id, token };
      const address = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => known[name] ?? uuidv7());
      const answer = await call(address, body, { headers: { "content-type": "application/json" } });
      const types = (answer.status === 422 ? answer.body.detail : []) as ReadonlyArray<{ readonly type: string }>;
      if (!types.some(({ type }) => type === "json_too_complex")) wide.push(operation.operationId);
    }
  }
  expect(asked).toBeGreaterThan(40);
  expect(wide.toSorted()).toEqual(WIDE);
});
