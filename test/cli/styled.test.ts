import { afterEach, expect, it, vi } from "vitest";
import { styled } from "../../src/cli/terminal.ts";

const { isTTY } = process.stdout;
afterEach(() => {
  vi.unstubAllEnvs();
  process.stdout.isTTY = isTTY;
});

it.each([
  ["a terminal", true, {}, true],
  ["a terminal, with an empty NO_COLOR", true, { NO_COLOR: "" }, true],
  ["a terminal, with NO_COLOR", true, { NO_COLOR: "1" }, false],
  ["a terminal that shows none", true, { TERM: "dumb" }, false],
  ["a terminal, with FORCE_COLOR=0", true, { FORCE_COLOR: "0" }, false],
  ["a pipe", false, {}, false],
  ["a pipe, with FORCE_COLOR", false, { FORCE_COLOR: "1" }, true],
])("prints styles only if the output can show them: %s", (_, terminal, environment, shows) => {
  for (const [name, value] of Object.entries({ NO_COLOR: "", FORCE_COLOR: "", TERM: "xterm", ...environment }))
    vi.stubEnv(name, value);
  process.stdout.isTTY = terminal;
  expect(styled("red", "text")).toBe(shows ? "\u001b[31mtext\u001b[39m" : "text");
});
