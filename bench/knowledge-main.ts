// Measures searches of knowledge bases: `npm run bench:knowledge -- sizes 1000,10000,100000` (times by number of chunks), or `-- quality
// <folder of a collection>` and `-- ingest <folder of files> <copies>`, which use the HTTP API.
import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PACKAGE_ROOT } from "../src/dev/package-root.ts";
import { startPostgres } from "../src/dev/postgres.ts";
import { openDatabase, type Database } from "../src/stores/db.ts";
import { migrate } from "../src/stores/migrate.ts";
import { measureIngest } from "./knowledge-http.ts";
import { measureQuality } from "./knowledge-quality.ts";
import { measureSizes } from "./knowledge-sizes.ts";
import { findPgvector } from "./pgvector.ts";
import { openStage } from "./stage.ts";

const [what = "sizes", argument = "", copies = "10"] = process.argv.slice(2);
const say = (line: string): void => void process.stdout.write(`${line}\n`);
if (what === "quality" || what === "ingest") {
  const stage = await openStage({ durable: false });
  try {
    const [api] = await Promise.all([stage.api(), stage.worker()]);
    if (what === "quality") await measureQuality(stage, api, argument, say);
    else await measureIngest(stage, api, argument, Number(copies), say);
  } finally {
    await stage.close();
  }
  process.exit(0);
}
const pgvector = findPgvector();
if ("no" in pgvector) say(`Without pgvector: ${pgvector.no}`);
const dir = mkdtempSync(join(tmpdir(), "millrace-bench-"));
chmodSync(dir, 0o711);
const postgres = await startPostgres({
  dir: join(dir, "postgres"),
  durable: false,
  ...("no" in pgvector ? {} : { binaries: pgvector }),
});
let database: Database | undefined;
try {
  await migrate(postgres.url, join(PACKAGE_ROOT, "migrations"));
  database = openDatabase({ url: postgres.url, poolSize: 10, applicationName: "bench", onError: () => undefined });
  await measureSizes(database, (argument || "1000,10000,100000").split(",").map(Number), say);
} finally {
  await database?.close();
  await postgres.stop();
  rmSync(dir, { recursive: true, force: true });
}
