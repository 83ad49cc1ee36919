import { chmodSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { findTemporal } from "../../src/dev/temporal-binary.ts";
import { startTemporal } from "../../src/dev/temporal.ts";
import { scratchDirectory } from "../support/scratch.ts";

it("makes Temporal's database, which contains the inputs of runs, unreadable for other users: a new and an older one", async () => {
  const dir = scratchDirectory();
  const binary = await findTemporal({ say: () => undefined });
  const files = (): string[] => readdirSync(dir).filter((name) => name.startsWith("temporal.db"));
  for (const when of ["new", "from before"]) {
    const temporal = await startTemporal({ binary, dir, uiPort: null });
    try {
      // While it runs, SQLite keeps its write-ahead log and shared-memory file beside the database.
      const modes = files().map((name) => [when, name, (statSync(join(dir, name)).mode & 0o777).toString(8)]);
      expect(modes.toSorted()).toEqual(
        ["temporal.db", "temporal.db-shm", "temporal.db-wal"].map((name) => [when, name, "600"]),
      );
    } finally {
      await temporal.stop();
    }
    for (const name of files()) chmodSync(join(dir, name), 0o644);
  }
});
