import { asking, type ApiTenant } from "../../api/tenant.ts";

const FORM = {
  type: "object",
  required: ["amount"],
  properties: { amount: { type: "number", title: "Amount", maximum: 100 }, notes: { type: "string", title: "Notes" } },
};

/** A run that waits for approval of a payment to `payee`. */
export async function pausedRun(
  tenant: ApiTenant,
  payee = "Ada",
  message = "Pay {{in-0}}?",
): Promise<{ run_id: string; pause_id: string }> {
  const project_id = await tenant.deploy(asking({ message, form: FORM }));
  const { body } = await tenant.secret.post("/v2/runs", { project_id, inputs: { "in-0": payee } });
  const run = await tenant.until(body.run_id, "PAUSED");
  return { run_id: body.run_id, pause_id: run.pauses[0].pause_id };
}
