// Writes web/api/schema.d.ts, the types of the console's client, from openapi.json, if that has changed. The file is not committed:
// two changes of the API would conflict in it as well.
import { createHash } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const source = fileURLToPath(new URL("../openapi.json", import.meta.url));
const target = fileURLToPath(new URL("../web/api/schema.d.ts", import.meta.url));

const digest = createHash("sha256").update(readFileSync(source)).digest("hex");
const stamp = `// Generated from openapi.json ${digest}\n`;
if (!existsSync(target) || !readFileSync(target, "utf8").startsWith(stamp)) {
  await import("./typescript5.mjs");
  const { default: generate, astToString } = await import("openapi-typescript");
  writeFileSync(target, stamp + astToString(await generate(new URL(`file://${source}`), { silent: true })));
}
