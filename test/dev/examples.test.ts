import { copyFileSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import type { ApiClient } from "../../src/cli/api-client.ts";
import { deployExamples } from "../../src/dev/demo.ts";
import { scratchDirectory } from "../support/scratch.ts";

it("example flows call the port of the service, whatever port they contain", async () => {
  const dir = scratchDirectory();
  mkdirSync(join(dir, "flows"));
  copyFileSync(new URL("../../examples/flows/fetch.json", import.meta.url), join(dir, "flows", "fetch.json"));
  const sent: string[] = [];
  const post = <T>(_path: string, body: unknown): Promise<T> => {
    sent.push(JSON.stringify(body));
    return Promise.resolve({ project_id: "p", version: 1 } as T);
  };
  const api = {
    get: <T>(): Promise<T> => Promise.resolve({ data: [], cursor: null } as T),
    post,
    patch: post,
  } as unknown as ApiClient;
  const url = "http://127.0.0.1:9191";
  await deployExamples({ api, url, org_id: "o", examples: dir, stateFile: join(dir, "state.json") });
  expect(sent.join("\n")).toContain(`${url}/`);
  expect(sent.join("\n")).not.toContain(":8080");
});
