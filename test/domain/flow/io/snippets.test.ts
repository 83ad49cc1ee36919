import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { FlowDefinition } from "../../../../src/domain/flow/definition/definition.ts";
import { describeFlow } from "../../../../src/domain/flow/io/io-schema.ts";
import type { FlowAddress } from "../../../../src/domain/flow/io/io-formats.ts";
import { flowSnippets } from "../../../../src/domain/flow/io/snippets.ts";
import type { JsonObject } from "../../../../src/domain/json.ts";
import { edges, flow, node } from "../../../support/flows.ts";

const identity = { project_id: "p-1", name: "Test", version: 1, content_hash: "abc" };
const address: FlowAddress = { base_url: "https://millrace.example", org_id: "o-1" };

function snippets(over: Partial<FlowDefinition>, at = address) {
  return flowSnippets(describeFlow(flow(over), identity, { max_input_bytes: 1000 }), at);
}
const withInputs = (inputs: JsonObject, at = address) => snippets({ examples: [{ name: "a", inputs }] }, at);

let directory = "";
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), "millrace-snippets-"));
  writeFileSync(join(directory, "report.pdf"), "%PDF-1.4");
});
afterAll(() => {
  rmSync(directory, { recursive: true });
});

/** Runs a snippet with a stand-in for its HTTP client that prints what it would send. */
function run(command: string, args: string[], input: string): string {
  const env = { PATH: process.env["PATH"] ?? "", MILLRACE_API_KEY: "mr_pub_key" };
  const result = spawnSync(command, args, { input, env, cwd: directory, encoding: "utf8", timeout: 60_000 });
  expect(result.stderr).toBe("");
  return result.stdout;
}

const SHELL = String.raw`curl() { printf '%s\0' "$@"; }` + "\n";
const PYTHON = `
import io, json, urllib.request
def urlopen(request):
    body = request.data.decode()
    print(json.dumps({"url": request.full_url, "auth": request.get_header("Authorization"), "type": request.get_header("Content-type"), "body": body}))
    return io.BytesIO(b'{"state": "COMPLETED", "outputs": {}, "filename": "report.pdf", "status": "ready"}')
urllib.request.urlopen = urlopen
`;
const JAVASCRIPT = `
globalThis.fetch = async (url, { headers, body }) => {
  const text = typeof body === "string" ? body : await new Response(body).text();
  console.log(JSON.stringify({ url, auth: headers.Authorization, type: headers["Content-Type"], body: text }));
  return new Response('{"state":"COMPLETED","outputs":{}}');
};
`;

interface Sent {
  url: string;
  auth: string;
  body: string;
}
const firstCalls = (output: string) =>
  output
    .split("\n")
    .filter((line) => line.startsWith('{"url"'))
    .map((line) => JSON.parse(line) as Sent);
const hasPython = spawnSync("python3", ["--version"]).status === 0;

/** What each language sends when its snippet runs. */
const languages: Array<[string, (all: ReturnType<typeof flowSnippets>) => Sent[]]> = [
  [
    "curl",
    ({ curl }) =>
      curl.split(/\n(?=curl )/).map((call) => {
        const args = run("bash", ["-s"], SHELL + call).split("\0");
        const after = (flag: string) => args[args.indexOf(flag) + 1] ?? "";
        return {
          url: after("POST"),
          auth: after("--header").replace("Authorization: ", ""),
          body: args.includes("--data-raw") ? after("--data-raw") : after("--form"),
        };
      }),
  ],
  ...(hasPython
    ? [["python", ({ python }) => firstCalls(run("python3", ["-"], PYTHON + python))] as (typeof languages)[number]]
    : []),
  // Imports are evaluated first, wherever they stand in a module.
  [
    "javascript",
    ({ javascript }) => firstCalls(run(process.execPath, ["--input-type=module", "-"], JAVASCRIPT + javascript)),
  ],
];

describe.each(languages)("the snippet for %s", (_, send) => {
  it("calls the flow with the inputs of its first example", () => {
    const [sent] = send(withInputs({ "in-0": "Hello" }));
    expect(sent).toMatchObject({ url: "https://millrace.example/inference/v0/run/o-1/p-1", auth: "Bearer mr_pub_key" });
    expect(JSON.parse(sent?.body ?? "")).toEqual({ "in-0": "Hello" });
  });

  it("sends hostile texts unchanged", () => {
    const hostile = [
      'it\'s "quoted" \\ `back` $(touch pwned) ${HOME} $HOME !! %s %(x)s {x}',
      "two\nlines\r\n\ttab \u0000 \u001b \u007f",
      "Zoë 日本 🎉 \u2028\u2029 \ud800 lone",
      "'; rm -rf / #",
      "'''\"\"\"`${1}`",
      "</script>",
      "@file",
    ];
    const inputs: JsonObject = {
      "in-0": hostile[0] ?? "",
      list: hostile,
      nested: { "ke'y\n\"": [true, false, null, 1.5, -3, 1e21, {}, []] },
    };
    const [sent] = send(withInputs(inputs));
    expect(JSON.parse(sent?.body ?? "")).toEqual(inputs);
  });

  it("keeps a key named like a prototype property", () => {
    const inputs = JSON.parse('{"in-0":"a","x":{"__proto__":{"b":1}}}') as JsonObject;
    const [sent] = send(withInputs(inputs));
    expect(JSON.stringify(JSON.parse(sent?.body ?? ""))).toBe(JSON.stringify(inputs));
  });

  it("quotes URLs too", () => {
    const [sent] = send(withInputs({ "in-0": "x" }, { base_url: "https://a.example/it's$(x)", org_id: 'o\'1 "$(y)"' }));
    expect(sent?.url).toBe("https://a.example/it's$(x)/inference/v0/run/o'1%20%22%24(y)%22/p-1");
  });

  it("invents inputs if the flow has no example", () => {
    const nodes = [
      node("in-0", "input"),
      node("url-0", "url"),
      node("in-1", "input", { default: "d" }),
      node("in-2", "input", { required: false }),
      node("out-0", "output"),
    ];
    const [sent] = send(snippets({ nodes, edges: edges("in-0 > out-0") }));
    expect(JSON.parse(sent?.body ?? "")).toEqual({ "in-0": "Hello", "url-0": "https://example.com/", "in-1": "d" });
  });

  it("uploads a document first if the flow reads documents, under the user ID that the run uses", () => {
    const reading = { nodes: [node("doc-0", "files"), node("out-0", "output")], edges: edges("doc-0 > out-0") };
    const [upload, call] = send(snippets(reading));
    const url = "https://millrace.example/upload_to_storage_user?org=o-1&user_id=ada-1&flow_id=p-1&node_id=doc-0";
    expect(upload?.url).toBe(url);
    const staged = send(snippets(reading, { ...address, environment: "staging" }));
    expect(staged.map((each) => each.url.includes("environment=staging"))).toEqual([true, true]);
    expect(upload?.auth).toBe("Bearer mr_pub_key");
    expect(upload?.body).toMatch(/file/);
    expect(JSON.parse(call?.body ?? "")).toEqual({ user_id: "ada-1" });
  });
});

describe("an uploaded document", () => {
  it("is sent as one part named file", () => {
    const all = snippets({ nodes: [node("doc-0", "files"), node("out-0", "output")], edges: edges("doc-0 > out-0") });
    const javascript = firstCalls(run(process.execPath, ["--input-type=module", "-"], JAVASCRIPT + all.javascript))[0]
      ?.body;
    const python = hasPython ? firstCalls(run("python3", ["-"], PYTHON + all.python))[0]?.body : javascript;
    for (const body of [javascript, python]) {
      expect(body).toMatch(
        /^--[^\r]+\r\nContent-Disposition: form-data; name="file"; filename="report.pdf"\r\nContent-Type: application\/octet-stream\r\n\r\n%PDF-1.4\r\n--[^\r]+--\r\n$/,
      );
    }
  });
});
