import type { Config } from "../../config.ts";
import { examineServer } from "../../stores/server.ts";
import { blobs } from "./checks/blobs.ts";
import type { Finding } from "./checks/finding.ts";
import { builds } from "./checks/builds.ts";
import { house } from "./checks/house.ts";
import { masterKey } from "./checks/master-key.ts";
import { node } from "./checks/node.ts";
import { clock, postgres, roles, schema } from "./checks/postgres.ts";
import { records } from "./checks/records.ts";
import { replica } from "./checks/replica.ts";
import { schedules, temporal } from "./checks/temporal.ts";
import { openDoctorDatabase } from "./doctor-database.ts";

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
    if (there) findings.push(...(await records(db)));
    findings.push(await blobs(config));
    return [...findings, await masterKey(config, there ? db : undefined)];
  } finally {
    await db.close();
  }
}
