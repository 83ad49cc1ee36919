import { beforeAll, expect, it } from "vitest";
import { uuidv7 } from "uuidv7";
import type { FlowReference } from "../../../src/domain/flow/references.ts";
import { compileFlow } from "../../../src/domain/flow/plan/compile.ts";
import { referenceProblems, refuseWhileUsed } from "../../../src/services/projects/flow-references.ts";
import type { Db } from "../../../src/stores/db.ts";
import { insertFlowReferences } from "../../../src/stores/projects/flow-references.ts";
import { insertFlowVersion } from "../../../src/stores/projects/flow-versions.ts";
import { insertProject, lockProjectToDelete, publishVersion } from "../../../src/stores/projects/projects.ts";
import { flow } from "../../support/flows.ts";
import { buildProject, buildTenant, ownDatabase, type Tenant } from "../../stores/rows.ts";

const own = ownDatabase();
let tenant: Tenant;
beforeAll(async () => {
  tenant = await buildTenant(own.database);
});

const calls = (id: string): FlowReference => ({
  kind: "project",
  id,
  version: -1,
  path: ["nodes", 0, "config", "project_id"],
  node_id: "sub-0",
  node_path: "sub-0",
});

async function publish(db: Db, references: readonly FlowReference[]): Promise<string> {
  const version = { project_id: uuidv7(), org_id: tenant.org_id, version: 1 };
  await insertProject(db, { ...version, name: "Caller", description: "" });
  await insertFlowVersion(db, {
    ...version,
    definition: flow(),
    plan: compileFlow(flow()),
    content_hash: "a",
    notes: "",
    created_by: null,
    rights: null,
  });
  await insertFlowReferences(db, version, references);
  await publishVersion(db, version.project_id, 1);
  return version.project_id;
}

it("a resource that a deploy has checked cannot be deleted before the flow is published", async () => {
  let settled = false;
  let deleting: Promise<unknown> = Promise.resolve();
  const caller = await own.database.orgTransaction(tenant.org_id, async (db) => {
    expect(await referenceProblems(db, [calls(tenant.project_id)])).toEqual([]);
    deleting = own.database
      .orgTransaction(tenant.org_id, async (other) => {
        await lockProjectToDelete(other, tenant.project_id);
        await refuseWhileUsed(other, "project", tenant.project_id);
      })
      .then(() => "deleted")
      .catch((error: unknown) => error)
      .finally(() => (settled = true));
    const waits = async () => {
      const [row] = await own.database.system((seen) =>
        seen.query<{ n: number }>(
          "select count(*)::int n from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
        ),
      );
      return row?.n;
    };
    await expect.poll(async () => settled || (await waits()), { interval: 20 }).toBeTruthy();
    return publish(db, [calls(tenant.project_id)]);
  });
  expect(await deleting).toMatchObject({ code: "in_use", extra: { used_by: [{ project_id: caller }] } });
});

it("a refusal lists at most a hundred uses and says if there are more", async () => {
  const project_id = await buildProject(own.database, tenant.org_id);
  await own.database.orgTransaction(tenant.org_id, async (db) => {
    for (let n = 0; n < 101; n += 1) await publish(db, [calls(project_id), calls(project_id)]);
    const refused = await refuseWhileUsed(db, "project", project_id.toUpperCase()).catch((error: unknown) => error);
    expect(refused).toMatchObject({ code: "in_use", message: expect.stringContaining("and of many more") });
    expect((refused as { extra: { used_by: unknown[] } }).extra.used_by).toHaveLength(100);
  });
});
