import { zipOf } from "../src/platform/zip.ts";
import { importRows } from "./evals-data.ts";
import { httpFlow, inlineFlow, through } from "./flows.ts";
import type { Party } from "./neighbours-party.ts";
import type { Noise } from "./neighbours-targets.ts";
import { Refused } from "./stage.ts";

/** Attacks of the noisy organisation, until the signal fires. */
export interface Attack {
  readonly name: string;
  run(party: Party, targets: Noise["targets"], signal: AbortSignal): Promise<unknown>;
}

const inputs = { "in-0": "Ada" };

/** Repeats the same call, `count` of them in parallel; refused calls are repeated, too. */
async function repeatedly(count: number, signal: AbortSignal, work: (at: number) => Promise<unknown>, most = Infinity) {
  let made = 0;
  const loop = async (): Promise<void> => {
    while (!signal.aborted && made < most) {
      made += 1;
      await work(made).catch((error: unknown) => {
        const waitMs = error instanceof Refused ? error.retryMs : undefined;
        return new Promise((resolve) => setTimeout(resolve, waitMs ?? 20));
      });
    }
  };
  await Promise.all(Array.from({ length: count }, loop));
}

const coding = (source: string) => through({ id: "code-0", type: "code", config: { source }, timeout_ms: 60_000 });
const asking = (url: string) => ({ id: "http-0", type: "http", config: { url }, timeout_ms: 60_000 });

export const ATTACKS: readonly Attack[] = [
  {
    name: "1 000 runs with slow http nodes",
    async run(party, { slow }, signal) {
      const project = await party.deploy(through(asking(slow)));
      await repeatedly(16, signal, () => party.start(project, inputs), 1000);
    },
  },
  {
    name: "1 000 runs with chains of slow http nodes",
    async run(party, { slow }, signal) {
      const project = await party.deploy(httpFlow(slow));
      await repeatedly(16, signal, () => party.start(project, {}), 1000);
    },
  },
  {
    name: "a map of 1 000 slow http nodes",
    async run(party, { slow }) {
      const nested = {
        nodes: [asking(slow), { id: "out-0", type: "output", config: {} }],
        edges: [{ source: "http-0", target: "out-0" }],
      };
      const items = `[${Array.from({ length: 1000 }, (_, at) => at).join(",")}]`;
      const config = { items, flow: nested, max_concurrency: 100 };
      await party.start(await party.deploy(through({ id: "map-0", type: "map", config })), inputs);
    },
  },
  {
    name: "endless code",
    async run(party, _, signal) {
      const project = await party.deploy(coding("function main() { for (;;); }"));
      await repeatedly(8, signal, () => party.start(project, inputs), 100);
    },
  },
  {
    name: "hostile documents",
    async run(party, _, signal) {
      const project = await party.deploy(through({ id: "doc-0", type: "files", config: {} }));
      // One workbook that is refused soon, and one with as much text as is allowed.
      const [refused, long] = [workbook(100_000), workbook(800)];
      await repeatedly(4, signal, (at) =>
        party.upload(project, `user-${at}`, "book.xlsx", at % 2 === 0 ? refused : long),
      );
    },
  },
  {
    name: "slow receivers",
    async run(party, { slow }, signal) {
      const project = await party.deploy(inlineFlow);
      for (let at = 0; at < 14; at += 1)
        await party.call("/v2/webhooks/subscriptions", { url: `${slow}/${at}`, events: ["run.*"] });
      await repeatedly(4, signal, () => party.start(project, inputs), 200);
    },
  },
  {
    name: "10 000 asynchronous runs",
    async run(party, _, signal) {
      const project = await party.deploy(inlineFlow);
      await repeatedly(16, signal, () => party.start(project, inputs), 10_000);
    },
  },
  {
    name: "10 000 firings",
    run: async (party) => party.fire(await trigger(party), 10_000),
  },
  {
    name: "10 000 queued runs and 10 000 firings",
    async run(party) {
      const [project, fired] = [await party.deploy(inlineFlow), await trigger(party)];
      await Promise.all([party.queue(project, inputs, 10_000), party.fire(fired, 10_000)]);
    },
  },
  {
    name: "imports",
    async run(party, _, signal) {
      const { dataset_id } = await party.call<{ dataset_id: string }>("/v2/evals/datasets", { name: "rows" });
      const rows = importRows((path, body) => party.call(`/v2/${path}`, body), dataset_id, 50_000);
      const operations = Object.fromEntries(
        Array.from({ length: 500 }, (_, at) => [
          `/things-${at}/{id}`,
          {
            get: {
              operationId: `get${at}`,
              parameters: [{ name: "id", in: "path", required: true, schema: { type: "string" } }],
              responses: {
                200: { description: "It", content: { "application/json": { schema: { type: "object" } } } },
              },
            },
          },
        ]),
      );
      const openapi = (at: number) => ({
        openapi: "3.1.0",
        info: { title: `Large ${at}`, version: "1" },
        servers: [{ url: "https://api.example.com" }],
        paths: operations,
      });
      await Promise.all([rows, repeatedly(4, signal, (at) => party.call("/v2/providers", { openapi: openapi(at) }))]);
    },
  },
  {
    name: "an experiment",
    async run(party) {
      const call = (path: string, body?: unknown) => party.call(`/v2/${path}`, body);
      const project_id = await party.deploy(inlineFlow);
      const { dataset_id } = (await call("evals/datasets", { name: "rows" })) as { dataset_id: string };
      await importRows(call, dataset_id, 5000);
      const evaluator = { name: "equal", type: "exact_match" };
      const { evaluator_id } = (await call("evals/evaluators", evaluator)) as { evaluator_id: string };
      const { experiment_id } = (await call("evals/experiments", {
        name: "bench",
        project_id,
        dataset_id,
        evaluator_ids: [evaluator_id],
        max_concurrency: 50,
      })) as { experiment_id: string };
      await call(`evals/experiments/${experiment_id}/jobs`, { kind: "run" });
    },
  },
  {
    name: "bodies of 5.9 MB",
    async run(party, _, signal) {
      const project = await party.deploy(inlineFlow);
      const long = { "in-0": "x".repeat(5_900_000) };
      await repeatedly(4, signal, () => party.start(project, long));
    },
  },
  {
    name: "50 parallel lists of the audit log",
    async run(party, _, signal) {
      // Each creation is an audit entry.
      await repeatedly(8, signal, (at) => party.call("/v2/evals/datasets", { name: `rows ${at}` }), 250);
      await repeatedly(50, signal, () => party.read("/v2/audit-log?page_size=200"));
    },
  },
  {
    name: "400 parallel lists of runs",
    async run(party, _, signal) {
      const project = await party.deploy(inlineFlow);
      await repeatedly(8, signal, () => party.start(project, inputs), 100);
      await repeatedly(400, signal, () => party.read("/v2/runs?page_size=50"));
    },
  },
  {
    name: "300 parallel arrivals",
    async run(party, _, signal) {
      const project = await party.deploy(inlineFlow);
      await repeatedly(300, signal, () => party.start(project, inputs));
    },
  },
  {
    name: "200 parallel streams of runs",
    async run(party, _, signal) {
      const project = await party.deploy(through({ id: "delay-0", type: "delay", config: { seconds: 20 } }));
      const address = `/inference/v0/stream/${party.org_id}/${project}`;
      await repeatedly(200, signal, () => party.read(address, inputs));
    },
  },
  {
    name: "16 parallel exports",
    async run(party, _, signal) {
      const { dataset_id } = await party.call<{ dataset_id: string }>("/v2/evals/datasets", { name: "rows" });
      await importRows((path, body) => party.call(`/v2/${path}`, body), dataset_id, 5000);
      await repeatedly(16, signal, () => party.read(`/v2/evals/datasets/${dataset_id}/export?format=jsonl`));
    },
  },
  {
    name: "erasures of 200 users",
    async run(party, _, signal) {
      const project = await party.deploy(inlineFlow);
      const run = (at: number) => ({ project_id: project, inputs, user_id: `user-${1 + (at % 200)}`, mode: "async" });
      await repeatedly(8, signal, (at) => party.call("/v2/runs", run(at)), 400);
      await repeatedly(8, signal, (at) => party.call("/v2/erasures", { user_id: `user-${at}` }), 200);
    },
  },
];

/** A trigger whose firings start runs of a flow. */
async function trigger(party: Party): Promise<string> {
  const { id } = await party.call<{ id: string }>("/v2/triggers", {
    project_id: await party.deploy(inlineFlow),
    provider_id: "millrace",
    trigger_id: "run_event",
    config: { project_id: await party.deploy(inlineFlow) },
    inputs: { "in-0": "'Ada'" },
  });
  return id;
}

/** A workbook of one row, whose cells all show the same long text. */
function workbook(cells: number): Uint8Array {
  const office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
  const relations = "http://schemas.openxmlformats.org/package/2006/relationships";
  const files: Readonly<Record<string, string>> = {
    "xl/workbook.xml": `<workbook xmlns:r="${office}"><sheets><sheet name="s" sheetId="1" r:id="r1"/></sheets></workbook>`,
    "xl/_rels/workbook.xml.rels": `<Relationships xmlns="${relations}"><Relationship Id="r1" Type="${office}/worksheet" Target="worksheets/sheet1.xml"/></Relationships>`,
    "xl/sharedStrings.xml": `<sst><si><t>${"mill ".repeat(6000)}</t></si></sst>`,
    "xl/worksheets/sheet1.xml": `<worksheet><sheetData><row>${'<c t="s"><v>0</v></c>'.repeat(cells)}</row></sheetData></worksheet>`,
  };
  const contents = Object.entries(files).map(([path, text]) => ({ path, content: Buffer.from(text) }));
  return Buffer.concat([...zipOf(contents).parts]);
}
