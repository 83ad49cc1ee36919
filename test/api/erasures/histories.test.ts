import { expect, it } from "vitest";
import { createHistoryEraser } from "../../../src/temporal/erase-histories.ts";
import { historiesOf, withTemporal } from "../../support/histories.ts";
import { service } from "../../support/service.ts";
import { echo, openTenant } from "../tenant.ts";

it("deletes a Temporal history only after its findings are stored, because the process may die in between", async () => {
  const tenant = await openTenant();
  const project_id = await tenant.deploy(echo());
  const { body } = await tenant.secret.post("/v2/runs", { project_id, inputs: { "in-0": "found in it" } });
  await tenant.until(body.run_id, "COMPLETED");
  await withTemporal(service().temporalAddress, async (client) => {
    const eraser = createHistoryEraser(client, /found in \w+/g);
    const found: unknown[] = [];
    const erased = eraser.erase("run", body.run_id, async (each) => {
      found.push(each);
      throw new Error("the database is down");
    });
    await expect(erased).rejects.toThrow("the database is down");
    expect(found).toEqual([{ executions: [expect.any(String)], matches: ["found in it"] }]);
    expect(await historiesOf(client, body.run_id)).toHaveLength(1);
  });
});
