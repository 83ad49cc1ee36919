import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { asking } from "../api/tenant.ts";
import { flow } from "../engine/support.ts";
import { signedIn, text, visit } from "./support/console.ts";
import { browser, tenant, useConsole } from "./support/shared-console.ts";

useConsole();

/** Signs that mean something to a shell, to Python, to JavaScript or to readers of text. */
const HOSTILE = `"quoted" 'single' \`back\` $HOME \${HOME} $(id) \\n \\ %s {0} {{x}} #{y} !! </pre>\n\ttwo lines \u202E\u2028 “žluť” 漢字 🦊 \u0001`;
/** A file name that curl, a shell and a header would read in other ways. */
const FILE = `re"port; $1 'é'.txt`;
const LANGUAGES = ["curl", "JavaScript", "Python"] as const;
const COMMANDS = {
  curl: ["bash", "-e", "-s"],
  JavaScript: ["node", "--input-type=module", "-"],
  Python: ["python3", "-"],
} as const;

let directory = "";
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), "millrace-call-"));
  writeFileSync(join(directory, FILE), "The well is dry.");
});
afterAll(() => rmSync(directory, { recursive: true }));

/** Runs code as it is shown, with only the key in its environment. */
function execute(language: (typeof LANGUAGES)[number], code: string, key: string): Promise<string> {
  const [command, ...args] = COMMANDS[language];
  const { PATH, HOME } = process.env;
  return new Promise((resolve, reject) => {
    const options = { cwd: directory, env: { PATH, HOME, MILLRACE_API_KEY: key }, timeout: 60_000 };
    const child = execFile(command, args, options, (error, out, problem) =>
      error ? reject(new Error(`${language}: ${problem}\n${out}\n${code}`)) : resolve(out),
    );
    child.stdin?.end(code);
  });
}

const shown = async (page: Page, language: string): Promise<string> => {
  await page.getByRole("button", { name: language, exact: true }).click();
  return (await page.getByRole("region", { name: `${language} snippet` }).textContent()) ?? "";
};
/** The code in each language. */
async function inEach(page: Page): Promise<string[]> {
  const codes: string[] = [];
  for (const language of LANGUAGES) codes.push(await shown(page, language));
  return codes;
}
interface ListedRun {
  readonly inputs: Readonly<Record<string, unknown>>;
  readonly outputs: Readonly<Record<string, unknown>>;
}
const newestRuns = async (project_id: string, count = 1): Promise<ListedRun[]> =>
  (await tenant.secret.get("/v2/runs", { query: { project_id, page_size: count } })).body.data;

describe("the page that calls a flow", () => {
  it("shows code that does in each language and each way what it says, with a key made here", async () => {
    const definition = flow(
      [
        { id: "in-0", type: "input", name: "Question" },
        { id: "in-1", type: "input", config: { required: false, default: "x" } },
        { id: "out-0", type: "output", config: { value: "{{in-0}}" } },
      ],
      ["in-0>out-0", "in-1>out-0"],
      {
        examples: [
          { name: "first", inputs: { "in-0": "One" } },
          { name: "second", inputs: { "in-0": "Two" } },
        ],
      },
    );
    const project_id = await tenant.deploy(definition);
    await tenant.secret.post(`/v2/projects/${project_id}/versions`, { flow: { ...definition, description: "v2" } });
    const { page } = await signedIn(browser, tenant, "admin", `/flows/${project_id}/call`);
    const input = page.getByLabel("Question", { exact: true });
    await page.getByLabel("Example").selectOption("second");
    expect(await input.inputValue()).toBe("Two");

    await page.getByRole("button", { name: "Create key…" }).click();
    const dialog = page.getByRole("dialog", { name: "Create API key" });
    await dialog.getByLabel("Name").fill("Shop");
    await dialog.getByRole("button", { name: "Create key" }).click();
    const key = (await page.getByRole("dialog", { name: "New API key" }).locator("code").textContent()) ?? "";
    await page.getByRole("button", { name: "Done" }).click();
    expect(key).toMatch(/^mr_pub_/);

    // A form field keeps no line break; the textarea of a long text would.
    const value = HOSTILE.replaceAll("\n", " ").replace("\u0001", "");
    await input.fill(value);
    for (const [way, name] of [
      ["sync", "Wait for outputs"],
      ["stream", "Stream"],
      ["async", "Run in background"],
    ] as const) {
      await page.getByRole("button", { name, exact: true }).click();
      const codes = await inEach(page);
      expect(codes.join()).not.toContain(key);
      const printed = await Promise.all(LANGUAGES.map((language, at) => execute(language, codes[at] ?? "", key)));
      for (const text of printed) expect(text, way).toContain("COMPLETED");
      const runs = await newestRuns(project_id, LANGUAGES.length);
      expect(
        runs.map((run) => [run.inputs["in-0"], run.outputs["out-0"]]),
        way,
      ).toEqual(LANGUAGES.map(() => [value, value]));
    }
    expect(page.url()).toContain("way=async");

    await page.getByLabel("Version").selectOption("1");
    await page.getByLabel("Question", { exact: true }).fill("pinned");
    await execute("curl", await shown(page, "curl"), key);
    expect((await newestRuns(project_id))[0]).toMatchObject({ flow_version: 1, inputs: { "in-0": "pinned" } });

    await page.getByRole("button", { name: "Stream", exact: true }).click();
    await page.getByRole("button", { name: "Send" }).click();
    const answer = page.getByRole("region", { name: "Response", exact: true });
    await answer.getByText("200 OK").waitFor();
    await expect.poll(() => answer.getByRole("region", { name: "Response body" }).textContent()).toContain("COMPLETED");
    await page.getByRole("link", { name: "Open the run" }).waitFor();
    const kept = await page.evaluate("JSON.stringify([{ ...localStorage }, { ...sessionStorage }, history.state])");
    expect(kept).not.toContain(key);

    const [mcp = "", openapi = ""] = await page.locator(".address code").allTextContents();
    const list = await fetch(mcp, {
      method: "POST",
      headers: { Authorization: `Bearer ${key}`, "Content-Type": "application/json", Accept: "application/json" },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" }),
    });
    expect(JSON.stringify(await list.json())).toContain('"name":"test"');
    const document = await fetch(openapi, { headers: { Authorization: `Bearer ${tenant.secretKey}` } });
    expect(Object.keys(((await document.json()) as { paths: object }).paths)[0]).toContain(project_id);
  }, 90_000);

  it("uploads files first where the flow reads documents, and keeps line breaks of long texts", async () => {
    const project_id = await tenant.deploy(
      flow(
        [
          { id: "str-0", type: "string" },
          { id: "doc-0", type: "files" },
          { id: "out-0", type: "output", config: { value: "{{str-0}}|{{doc-0.text}}" } },
        ],
        ["str-0>out-0", "doc-0>out-0"],
      ),
    );
    const { page } = await signedIn(browser, tenant, "editor", `/flows/${project_id}/call`);
    await page.getByLabel("str-0", { exact: true }).fill(HOSTILE.replace("\u0001", ""));
    await page.getByLabel("User ID").fill("ada-call");
    await page.getByLabel("doc-0", { exact: true }).setInputFiles(join(directory, FILE));
    const codes: string[] = [];
    for (const language of LANGUAGES) {
      await page.getByLabel("User ID").fill(`ada-${language}`);
      codes.push(await shown(page, language));
    }
    await Promise.all(LANGUAGES.map((language, at) => execute(language, codes[at] ?? "", tenant.publicKey)));
    const runs = await newestRuns(project_id, LANGUAGES.length);
    const expected = `${HOSTILE.replace("\u0001", "")}|The well is dry.`;
    expect(runs.map(({ outputs }) => outputs["out-0"])).toEqual(LANGUAGES.map(() => expected));
    await page.getByLabel("User ID").fill("ada-session");
    await text(page, "Without a key, your session uploads the files and starts the run.");
    await page.getByRole("button", { name: "Send" }).click();
    await text(page, "201 Created");
    await page.getByRole("region", { name: "Response body" }).getByText("The well is dry.").waitFor();
    await page.getByLabel("API key (optional)").fill(tenant.publicKey);
    await page.getByLabel("User ID").fill("ada-sent");
    await page.getByRole("button", { name: "Send" }).click();
    await text(page, "200 OK");
    await page.getByRole("region", { name: "Response body" }).getByText("The well is dry.").waitFor();
  }, 90_000);

  it("sends without a key by the session, and shows invalid inputs at their fields", async () => {
    const project_id = await tenant.deploy(asking());
    const needed = await tenant.deploy(
      flow(
        [
          { id: "in-0", type: "input", config: { max_length: 3 } },
          { id: "out-0", type: "output" },
        ],
        ["in-0>out-0"],
      ),
    );
    const { page } = await signedIn(browser, tenant, "editor", `/flows/${needed}/call`);
    await page.getByLabel("in-0", { exact: true }).fill("too long");
    await page.getByRole("button", { name: "Send" }).click();
    await text(page, /^422/);
    expect(await page.getByLabel("in-0", { exact: true }).getAttribute("aria-invalid")).toBe("true");
    await page.getByLabel("in-0", { exact: true }).fill("abc");
    await page.getByRole("button", { name: "Send" }).click();
    await text(page, /^201/);
    await page.getByRole("link", { name: "Open the run" }).click();
    await page.waitForURL(/\/runs\//);
    await visit(page, `/flows/${project_id}/call?way=stream`);
    await text(page, "Streaming needs a key.");
  });
});
