import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium, type Browser } from "playwright-core";
import { inject } from "vitest";

const NAMES = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
const ARGS = [
  "--headless",
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  // A host name other than localhost, because browsers allow less to its pages over plain HTTP.
  "--host-resolver-rules=MAP console.test 127.0.0.1",
  "--no-proxy-server",
  // A microphone that beeps, and that every page may use.
  "--use-fake-device-for-media-stream",
  "--use-fake-ui-for-media-stream",
];
const HOW =
  "There is no Chromium for the tests of the console. Name one in MILLRACE_TEST_BROWSER, install the package chromium, or run: npx playwright-core install chromium";

/** Starts a Chromium: the configured one, an installed one, Playwright's own, or, as root, the distribution's package. */
export async function launchBrowser(): Promise<{ readonly endpoint: string; close(): Promise<void> }> {
  const executablePath = findBrowser() ?? installBrowser();
  if (executablePath === undefined) throw new Error(HOW);
  const profile = mkdtempSync(join(tmpdir(), "millrace-browser-"));
  const server = await chromium.launchServer({ executablePath, args: ARGS, env: { ...process.env, HOME: profile } });
  return {
    endpoint: server.wsEndpoint(),
    async close() {
      await server.close();
      rmSync(profile, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

/** Connects to the Chromium that all files share; closing ends what was opened through this connection. */
export async function openBrowser(): Promise<{ readonly browser: Browser; close(): Promise<void> }> {
  const shared = inject("browser");
  if ("problem" in shared) throw new Error(`Chromium did not start: ${shared.problem}`);
  const browser = await chromium.connect(shared.endpoint);
  return { browser, close: () => browser.close() };
}

function findBrowser(): string | undefined {
  const named = process.env["MILLRACE_TEST_BROWSER"];
  if (named !== undefined && named !== "") {
    if (existsSync(named)) return named;
    throw new Error(`MILLRACE_TEST_BROWSER is ${named}, where there is nothing.`);
  }
  const folders = (process.env["PATH"] ?? "").split(":");
  const installed = NAMES.flatMap((name) => folders.map((folder) => join(folder, name))).find((path) =>
    existsSync(path),
  );
  const own = chromium.executablePath();
  return installed ?? (existsSync(own) ? own : undefined);
}

function installBrowser(): string | undefined {
  if (process.getuid?.() !== 0) return undefined;
  console.error("Installing Chromium for the tests of the console.");
  for (const args of [["update"], ["install", "-y", "--no-install-recommends", "chromium"]]) {
    if (spawnSync("apt-get", ["-qq", ...args], { stdio: "ignore" }).status !== 0) return undefined;
  }
  return findBrowser();
}
