import { inlineFlow, through } from "./flows.ts";
import type { Party } from "./neighbours-party.ts";
import type { Targets } from "./neighbours-targets.ts";

/** The calls of the quiet organisation. */
export const KINDS = ["inline call", "http node", "code node", "document", "delivery"] as const;
export type Kind = (typeof KINDS)[number];

/** How long each successful call took (ms), and why the others failed. */
export type Observed = Readonly<
  Record<Kind, { readonly times: readonly number[]; readonly failures: readonly string[] }>
>;

export interface Quiet {
  /** Repeats each kind of call for this long, all kinds in parallel. */
  observe(ms: number): Promise<Observed>;
  close(): Promise<void>;
}

/** Time limit of one call (ms); a call that takes longer has failed. */
const PATIENCE_MS = 30_000;
const PAUSE_MS = 50;

export async function openQuiet(party: Party, targets: Targets): Promise<Quiet> {
  const flows = {
    inline: await party.deploy(inlineFlow),
    http: await party.deploy(through({ id: "http-0", type: "http", config: { url: targets.quick } })),
    code: await party.deploy(
      through({ id: "code-0", type: "code", config: { source: "function main() { return 1; }" } }),
    ),
    document: await party.deploy(through({ id: "doc-0", type: "files", config: { required: true } })),
    delivered: await party.deploy(inlineFlow),
  };
  await party.call("/v2/webhooks/subscriptions", {
    url: targets.receiver,
    events: ["run.completed"],
    filter: { project_id: [flows.delivered] },
  });
  const inputs = { "in-0": "Ada" };
  let users = 0;
  const document = Buffer.from(`<html><body><h1>Mills</h1>${"<p>They grind.</p>".repeat(200)}</body></html>`);
  const work: Readonly<Record<Kind, () => Promise<unknown>>> = {
    "inline call": () => party.run(flows.inline, inputs),
    "http node": () => party.run(flows.http, inputs),
    "code node": () => party.run(flows.code, inputs),
    async document() {
      const user = `user-${(users += 1)}`;
      await party.upload(flows.document, user, "mills.html", document);
      await party.run(flows.document, { ...inputs, user_id: user });
    },
    async delivery() {
      await targets.arrival(await party.start(flows.delivered, inputs));
    },
  };
  let under: Array<Promise<unknown>> = [];
  return {
    async observe(ms) {
      const until = performance.now() + ms;
      const observeKind = async (kind: Kind) => {
        const times: number[] = [];
        const failures: string[] = [];
        while (performance.now() < until) {
          const since = performance.now();
          const one = work[kind]();
          under.push(one.catch(() => undefined));
          try {
            await within(one);
            times.push(performance.now() - since);
          } catch (error) {
            failures.push((error as Error).message);
          }
          await pause(PAUSE_MS);
        }
        return [kind, { times, failures }] as const;
      };
      return Object.fromEntries(await Promise.all(KINDS.map(observeKind))) as unknown as Observed;
    },
    async close() {
      await Promise.race([Promise.all(under), pause(PAUSE_MS)]);
      under = [];
    },
  };
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

async function within(work: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`not ended after ${PATIENCE_MS} ms`)), PATIENCE_MS);
  });
  await Promise.race([work, late]).finally(() => clearTimeout(timer));
}
