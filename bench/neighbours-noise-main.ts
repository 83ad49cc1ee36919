// The noisy organisation, in a thread of its own, so that its calls do not delay the measured calls of the quiet organisation.
import { parentPort, workerData } from "node:worker_threads";
import { openDatabase } from "../src/stores/db.ts";
import { ATTACKS } from "./neighbours-attacks.ts";
import { openParty } from "./neighbours-party.ts";
import type { Noise } from "./neighbours-targets.ts";

const { attack, databaseUrl, apiUrl, targets } = workerData as Noise;
const db = openDatabase({ url: databaseUrl, poolSize: 4, applicationName: "bench", onError: () => undefined });
const over = new AbortController();
parentPort?.once("message", () => over.abort());
// The attack's calls fail when the servers stop, and earlier if there are too many of them.
await ATTACKS.find(({ name }) => name === attack)
  ?.run(await openParty({ db }, { url: apiUrl }, "noisy"), targets, over.signal)
  .catch((error: unknown) => {
    if (!over.signal.aborted) console.error(error);
  });
await db.close();
