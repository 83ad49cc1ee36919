import { Client } from "pg";
import { expect, inject, it } from "vitest";
import { createGuardedSockets } from "../../src/platform/fetch/guarded-sockets.ts";

it("the Postgres driver connects through a guarded socket if the address is allowed", async () => {
  const { adminUrl } = inject("millrace");
  const ask = async (allow: readonly string[]) => {
    const client = new Client({ connectionString: adminUrl, stream: () => createGuardedSockets({ allow }).socket() });
    try {
      await client.connect();
      return (await client.query("select 1 + 1 as sum")).rows;
    } finally {
      await client.end().catch(() => undefined);
    }
  };
  expect(await ask(["loopback"])).toEqual([{ sum: 2 }]);
  await expect(ask([])).rejects.toMatchObject({ code: "address_not_allowed" });
});
