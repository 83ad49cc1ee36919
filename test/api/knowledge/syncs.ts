import { expect, vi } from "vitest";
import type { Answer } from "../../support/client.ts";
import type { ApiTenant } from "../tenant.ts";

type Body = Answer["body"];
type Tenant = Pick<ApiTenant, "secret">;

/** Requests a sync of the knowledge base at this path; returns its ID. */
export async function begin({ secret }: Tenant, path: string, body: Record<string, unknown> = {}): Promise<string> {
  const accepted = await secret.post(`${path}/sync`, body);
  expect(accepted.status, JSON.stringify(accepted.body)).toBe(202);
  expect(accepted.body).toEqual({ message: expect.any(String), status: "accepted", sync_id: expect.any(String) });
  return accepted.body.sync_id;
}

/** The sync after it has finished. */
export async function ended({ secret }: Tenant, path: string, syncId: string): Promise<Body> {
  const get = async (): Promise<Body> => (await secret.get(`${path}/syncs/${syncId}`)).body;
  await vi.waitFor(async () => expect((await get()).state).toMatch(/^(completed|failed|cancelled)$/), {
    timeout: 60_000,
    interval: 100,
  });
  return await get();
}

/** Runs a sync until it finishes; returns it. */
export async function run(tenant: Tenant, path: string, body: Record<string, unknown> = {}): Promise<Body> {
  return await ended(tenant, path, await begin(tenant, path, body));
}

export const counts = (of: Partial<Record<string, number>>) => ({
  added: 0,
  updated: 0,
  deleted: 0,
  unchanged: 0,
  failed: 0,
  ...of,
});

/** The documents of a knowledge base, up to one page. */
export async function resources({ secret }: Tenant, path: string): Promise<Body[]> {
  return (await secret.get(`${path}/resources`, { query: { page_size: 200 } })).body.data;
}
