import type { Config } from "../../config.ts";
import type { Database } from "../../stores/db.ts";
import { countStuckRuns } from "../../stores/runs/stuck-runs.ts";
import { examineServer } from "../../stores/server.ts";
import { blobs } from "./checks/blobs.ts";
import { ok, problem, warning } from "./checks/finding.ts";
import type { Finding } from "./checks/finding.ts";
import { builds } from "./checks/builds.ts";
import { erasures, house } from "./checks/house.ts";
import { masterKey } from "./checks/master-key.ts";
import { partitions } from "./checks/partitions.ts";
import { clock, postgres, roles, schema } from "./checks/postgres.ts";
import { replica } from "./checks/replica.ts";
import { schedules, temporal } from "./checks/temporal.ts";
import { openDoctorDatabase } from "./doctor-database.ts";

const MIN_NODE = [20, 19] as const;

/** Checks everything that the configured installation needs, and says how to fix each problem. Changes nothing. */
export async function examine(config: Config, migrationsDir: string): Promise<Finding[]> {
  const db = openDoctorDatabase(config);
  try {
    const server = await db.system(examineServer).catch((error: Error) => error);
    const findings = [node(), ...postgres(config, server)];
    const there = !(server instanceof Error);
    if (there) findings.push(await roles(db, server), ...(await schema(db, migrationsDir)), clock(server));
    const ofTemporal = await temporal(config);
    findings.push(...ofTemporal);
    if (!findings.some(({ state }) => state === "problem"))
      findings.push(await schedules(config, db), await house(config, db));
    if (!ofTemporal.some(({ part, state }) => part === "Temporal" && state === "problem"))
      findings.push(...(await builds(config)));
    if (there && config.DATABASE_REPLICA_URL !== undefined) {
      const standby = openDoctorDatabase(config, config.DATABASE_REPLICA_URL);
      findings.push(await replica(config, db, standby).finally(() => standby.close()));
    }
    if (there) findings.push(...(await partitions(db)), ...(await stuckRuns(db)), ...(await erasures(db)));
    findings.push(await blobs(config));
    return [...findings, await masterKey(config, there ? db : undefined)];
  } finally {
    await db.close();
  }
}

function node(): Finding {
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
  const old = major < MIN_NODE[0] || (major === MIN_NODE[0] && minor < MIN_NODE[1]);
  return old
    ? problem("Node", `${process.version} is too old`, `Install Node ${MIN_NODE.join(".")} or later.`)
    : ok("Node", process.version);
}

/** No finding if the tables do not exist, because the schema check reports that. */
async function stuckRuns(db: Database): Promise<Finding[]> {
  const counted = await db.system(countStuckRuns).catch(() => null);
  if (!counted) return [];
  const { live, ended } = counted;
  if (live === 0 && ended === 0) return [ok("Runs", "no run has a stuck workflow")];
  const advice =
    "Check these runs (their state_reason is stuck) and the worker logs. After an upgrade, go back to the previous version; otherwise cancel them, or wait: Millrace fails them after a while.";
  const text = `runs with a stuck workflow: ${live} now, ${ended} failed because of it in the last 24 hours`;
  return [live > 0 ? problem("Runs", text, advice) : warning("Runs", text, advice)];
}
