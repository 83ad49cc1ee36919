import { readFileSync } from "node:fs";
import { afterAll, beforeAll, expect, it } from "vitest";
import { uuidv7 } from "uuidv7";
import { startInProcess } from "../api/in-process.ts";
import type { InProcessApi } from "../api/in-process.ts";
import { client } from "../support/client.ts";
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
  const { post, patch, put } = client(api, secretKey);
  const calls = { post, patch, put };
  const wide: string[] = [];
  const body = `{${Array.from({ length: 10_001 }, (_, at) => `"${at}":0`).join(",")}}`;
  let asked = 0;
  for (const [path, methods] of Object.entries(document.paths)) {
    for (const [method, call] of Object.entries(calls)) {
      const operation = methods[method];
      if (!operation?.requestBody?.content["application/json"]) continue;
      asked++;
      const address = path.replaceAll(/\{(\w+)\}/g, (_, name) => (name === "org_id" ? org_id : uuidv7()));
      const answer = await call(address, body, { headers: { "content-type": "application/json" } });
      const types = (answer.status === 422 ? answer.body.detail : []) as ReadonlyArray<{ readonly type: string }>;
      if (!types.some(({ type }) => type === "json_too_complex")) wide.push(operation.operationId);
    }
  }
  expect(asked).toBeGreaterThan(40);
  expect(wide.toSorted()).toEqual(WIDE);
});
