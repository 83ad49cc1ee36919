#!/usr/bin/env node
// The command line. In a checkout it installs and builds what is missing first; a container image has neither to do.
import { existsSync } from "node:fs";

const prepare = new URL("../scripts/prepare.mjs", import.meta.url);
const main = new URL("../dist/src/cli-main.js", import.meta.url);
try {
  if (existsSync(prepare)) await (await import(prepare.href)).prepare();
  await import(main.href);
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
}
