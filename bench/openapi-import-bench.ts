// npm run bench:openapi [-- <document.json|yaml> ...]: how long the import of a large OpenAPI document takes, over HTTP.
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { basename } from "node:path";
import { stringify } from "yaml";
import { latencies, median, quantile } from "./measure.ts";
import { openStage, request } from "./stage.ts";

const OPERATIONS = 1000;
const ROUNDS = 5;

/** A document with this many operations, whose schemas refer to each other. */
function generated(operations: number): object {
  const text = { type: "string", description: "A text of this resource, which callers may set and read again" };
  const names = Array.from({ length: operations / 4 }, (_, n) => `Resource${n}`);
  const schemas = names.map((name, n) => {
    // Chains of five, because the import of a request or response includes the schemas that it refers to.
    const next = n % 5 === 4 ? text : { $ref: `#/components/schemas/${names[n + 1] ?? name}` };
    const properties = { id: { type: "integer" }, title: text, state: { enum: ["open", "closed"] }, next };
    return [name, { type: "object", properties, required: ["title"] }] as const;
  });
  const paths = names.flatMap((name) => {
    const schema = { $ref: `#/components/schemas/${name}` };
    const content = { "application/json": { schema } };
    const operation = (verb: string, more: object = {}) => ({
      operationId: `${verb}${name}`,
      summary: `${verb} a ${name}`,
      description: "What it does, in a sentence or two, as documents have them. ".repeat(3),
      responses: { 200: { description: "It", content } },
      ...more,
    });
    const id = { name: "id", in: "path", required: true, schema: { type: "integer" } };
    const page = { name: "page", in: "query", schema: { type: "integer", minimum: 1 } };
    const path = `/${name.toLowerCase()}`;
    return [
      [
        path,
        { get: operation("list", { parameters: [page] }), post: operation("create", { requestBody: { content } }) },
      ],
      [`${path}/{id}`, { parameters: [id], get: operation("get"), delete: operation("delete") }],
    ] as const;
  });
  const components = {
    schemas: Object.fromEntries(schemas),
    securitySchemes: { key: { type: "http", scheme: "bearer" } },
  };
  const head = {
    openapi: "3.1.0",
    info: { title: "Large", version: "1" },
    servers: [{ url: "https://api.example.com" }],
  };
  return { ...head, security: [{ key: [] }], paths: Object.fromEntries(paths), components };
}

const own = generated(OPERATIONS);
const documents: Array<readonly [name: string, text: string]> = [
  [`generated, ${OPERATIONS} operations, JSON`, JSON.stringify(JSON.parse(JSON.stringify(own)))],
  [`generated, ${OPERATIONS} operations, YAML`, stringify(JSON.parse(JSON.stringify(own)))],
  ["our own, JSON", readFileSync(new URL("../../openapi.json", import.meta.url), "utf8")],
  ...process.argv.slice(2).map((file) => [basename(file), readFileSync(file, "utf8")] as const),
];
const server = createServer(({ url = "" }, response) => response.end(documents[Number(url.slice(1))]?.[1] ?? ""));
await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
const { port } = server.address() as AddressInfo;
const stage = await openStage({ durable: false });
try {
  const api = await stage.api({ MILLRACE_PRIVATE_HOSTS: "127.0.0.1" });
  console.log(
    "| document, by its address | MB | actions | first (ms) | again: p50 (ms) | slowest | another request meanwhile, slowest (ms) |",
  );
  console.log("| --- | --- | --- | --- | --- | --- | --- |");
  for (const [at, [name, text]] of documents.entries()) {
    const body = { openapi: `http://127.0.0.1:${port}/${at}`, provider_id: `document-${at}` };
    let actions = 0;
    const put = async (): Promise<void> => {
      const made = (await request(`${api.url}/v2/providers`, stage.key, body)) as { import: { operations: number } };
      actions = made.import.operations;
    };
    const [first = Number.NaN] = await latencies(put, 1);
    let done = false;
    const meanwhile: number[] = [];
    const others = (async () => {
      while (!done) meanwhile.push(...(await latencies(() => request(`${api.url}/healthz`, null), 1)));
    })();
    const again = await latencies(put, ROUNDS);
    done = true;
    await others;
    const cells = [first, median(again), quantile(again, 1), quantile(meanwhile, 1)].map((ms) => ms.toFixed(0));
    console.log(`| ${name} | ${(Buffer.byteLength(text) / 1e6).toFixed(1)} | ${actions} | ${cells.join(" | ")} |`);
  }
} finally {
  server.close();
  await stage.close();
}
