#!/usr/bin/env node
// The command line. In a checkout it installs and builds what is missing first; a container image has neither to do.
import { existsSync } from "node:fs";

const scripts = new URL("../scripts/prepare.mjs", import.meta.url);
const main = new URL("../dist/src/cli-main.js", import.meta.url);
const args = process.argv.slice(2);
try {
  const checkout = existsSync(scripts) ? await import(scripts.href) : undefined;
  // Who only asks gets an answer, not an installation of minutes.
  const answer = checkout?.onlyAsks(args) ? await checkout.answerUnprepared(args) : await checkout?.prepare();
  if (answer === undefined) await import(main.href);
  else process.exitCode = answer;
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
}
