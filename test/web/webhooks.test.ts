import { randomBytes } from "node:crypto";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { echo } from "../api/tenant.ts";
import { subscribe } from "../api/webhooks/webhooks.ts";
import { startHttpTarget, type HttpTarget, type ReceivedRequest } from "../support/http-target.ts";
import { address, signedIn, text, violations, visit } from "./support/console.ts";
import { browser, tenant, useConsole } from "./support/shared-console.ts";

useConsole();
let receiver: HttpTarget;
beforeAll(async () => {
  receiver = await startHttpTarget();
});
afterAll(() => receiver.close());

let paths = 0;
/** A webhook for completed runs, with its own URL. */
async function subscribed() {
  const path = `/hook-${++paths}`;
  const made = await subscribe(tenant.secret, { url: `${receiver.url}${path}`, events: ["run.completed"] });
  const arrived = (): ReceivedRequest[] => receiver.requests.filter((each) => each.path === path);
  return { ...made, hook: path, arrived };
}
const runOnce = async (): Promise<void> => {
  const id = await tenant.deploy(echo());
  await tenant.secret.post("/v2/runs", { project_id: id, inputs: { "in-0": "x" }, mode: "sync" });
};
const states = async (path: string): Promise<string[]> =>
  (await tenant.secret.get(`${path}/deliveries`)).body.data.map((each: { status: string }) => each.status);

const localTime = (at: number): string =>
  new Date(at - new Date(at).getTimezoneOffset() * 60_000).toISOString().slice(0, 19);

async function replay(page: Page, button: string, which: string): Promise<void> {
  await page.getByRole("button", { name: button }).click();
  const dialog = page.getByRole("dialog", { name: "Replay" });
  await dialog.getByLabel("Events").selectOption({ label: which });
  await dialog.getByLabel("Period", { exact: true }).selectOption({ label: "Last hour" });
  await dialog.getByRole("button", { name: "Replay", exact: true }).click();
  await text(page, /Replay started/);
  await dialog.getByRole("button", { name: "Done" }).click();
}

describe("a webhook", () => {
  it("can replay all events of a time range, or only failed deliveries", async () => {
    const { id, path, hook, arrived } = await subscribed();
    receiver.on(hook, (_, response) => void response.writeHead(arrived().length < 2 ? 200 : 410).end("Not here."));
    await runOnce();
    await expect.poll(() => states(path)).toEqual(["delivered"]);
    await runOnce();
    // The receiver returned 410, so the webhook is disabled.
    await expect.poll(() => states(path)).toEqual(["failed", "delivered"]);
    receiver.on(hook, (_, response) => void response.writeHead(200).end());
    const { page } = await signedIn(browser, tenant, "admin", `/webhooks/${id}?status=failed`);
    const viewer = await signedIn(browser, tenant, "viewer", `/webhooks/${id}?status=failed`);
    await viewer.page.getByRole("link", { name: "run.completed" }).waitFor();
    expect(await viewer.page.getByRole("button", { name: /^Replay failed/ }).count()).toBe(0);
    await viewer.context.close();
    await page.getByRole("button", { name: "Enable" }).click();
    await page.getByRole("button", { name: "Disable" }).waitFor();
    await page.getByRole("link", { name: "run.completed" }).click();
    await page.getByText("Request", { exact: true }).click();
    await text(page, new RegExp(`webhook-id: ${arrived()[1]?.headers["webhook-id"]}`));
    await text(page, "Not here.");
    expect(await violations(page)).toEqual([]);
    await page.keyboard.press("Escape");
    await replay(page, "Replay failed deliveries…", "Undelivered only");
    await expect.poll(() => states(path)).toEqual(["delivered", "delivered"]);
    expect(arrived()).toHaveLength(3);
    await replay(page, "Replay…", "All");
    await expect.poll(() => arrived().length).toBe(5);
    expect(new Set(arrived().map((each) => each.headers["webhook-id"])).size).toBe(2);
  });

  it("is replayed from the moment that its user types, in the user's time zone", async () => {
    const { id } = await subscribed();
    const timeZone = "America/St_Johns";
    const { page } = await signedIn(browser, tenant, "editor", `/webhooks/${id}`, { timeZone });
    await page.getByRole("button", { name: "Replay…", exact: true }).click();
    const dialog = page.getByRole("dialog", { name: "Replay" });
    await dialog.getByLabel("Period", { exact: true }).selectOption({ label: "Custom range" });
    const at = Math.floor(Date.now() / 60_000) * 60_000 - 3_600_000;
    const typed = new Intl.DateTimeFormat("sv", { timeZone, dateStyle: "short", timeStyle: "short" }).format(at);
    await dialog.getByLabel("From").fill(typed.replace(" ", "T"));
    const sent = page.waitForRequest(/\/replay$/);
    await dialog.getByRole("button", { name: "Replay", exact: true }).click();
    expect((await sent).postDataJSON()).toMatchObject({ since: new Date(at).toISOString(), only_failed: true });
    await text(page, /Replay started/);
  });

  it("is shown as retrying while deliveries fail, in the list and on its page", async () => {
    const { id, path, hook } = await subscribed();
    receiver.on(hook, (_, response) => void response.writeHead(503).end());
    await runOnce();
    await expect.poll(async () => (await tenant.secret.get(path)).body.failing_since).not.toBeNull();
    const { page } = await signedIn(browser, tenant, "viewer", "/webhooks");
    await page.getByRole("row", { name: hook }).getByText("Retrying").waitFor();
    await page.getByRole("link", { name: hook }).click();
    await page.waitForURL(address(tenant, `/webhooks/${id}`));
    await page.locator("dl").getByText("Retrying").waitFor();
    // A phone has no room for a column of responses, so the error is shown below the event.
    await page.setViewportSize({ width: 360, height: 800 });
    await page.getByRole("cell", { name: "run.completed" }).getByText("The receiver returned 503").waitFor();
  });

  it("can have a signature checked, and the check names what does not match", async () => {
    const { id, secret, path, arrived } = await subscribed();
    await runOnce();
    await expect.poll(() => states(path)).toEqual(["delivered"]);
    const { headers, body } = arrived()[0] as ReceivedRequest;
    const { page } = await signedIn(browser, tenant, "admin", `/webhooks/${id}`);
    await page.getByRole("button", { name: "Check a signature…" }).click();
    const form = page.getByRole("dialog", { name: "Check a signature" });
    const given = { headers, body, secret };
    const other = `whsec_${randomBytes(32).toString("base64")}`;
    const header = (name: string, value: string) => ({ headers: { ...headers, [name]: value } });
    const [fresh, known, whole] = ["Timestamp is valid.", "Secret is valid.", "Body is valid."];
    const cases: ReadonlyArray<readonly [changed: Partial<typeof given>, said: readonly string[], because: RegExp]> = [
      [{}, [fresh, known, whole], /Signature valid/],
      // After a rotation there are two signatures, and the receiver may know the secret of the second.
      [
        header("webhook-signature", `v1,AAAA ${headers["webhook-signature"]}`),
        [fresh, known, whole],
        /Signature valid/,
      ],
      [{ body: JSON.stringify(JSON.parse(body), null, 2) }, [fresh, known, "Body is not valid."], /serialised again/],
      [{ secret: other }, [fresh, whole, "Secret is not valid."], /did not create the signature/],
      [{ body: body.replace("run.completed", "run.cancelled") }, [fresh, known, "Body is not valid."], /Changed after/],
      [header("webhook-timestamp", "1700000000"), ["Timestamp is not valid.", known, whole], /has that timestamp/],
      [{ body: "{}", secret: other }, [fresh, "Body is not valid.", "Secret is not valid."], /what was sent/],
      [header("webhook-signature", ""), ["Headers are incomplete."], /Missing: webhook-signature/],
      [{ secret: secret.slice(0, 20) }, [fresh, "Secret is not valid."], /Part of it is missing/],
      [header("webhook-id", "evt_1"), [fresh, "Signature is not valid."], /no delivery with that ID/],
    ];
    const said = form.getByRole("status", { name: "Result" });
    const check = async (changed: Partial<typeof given>): Promise<void> => {
      const all = { ...given, ...changed };
      const lines = Object.entries(all.headers).map(([name, value]) => `${name}: ${value}`);
      await form.getByLabel("Headers").fill(lines.join("\n"));
      await form.getByLabel("Body").fill(all.body);
      await form.getByLabel("Secret").fill(all.secret);
      await form.getByRole("button", { name: "Check" }).click();
    };
    for (const [changed, findings, because] of cases) {
      await check(changed);
      await expect.poll(() => said.locator(".notice strong").allInnerTexts()).toEqual(findings);
      await expect.poll(() => said.innerText()).toMatch(because);
    }
    expect(await violations(page)).toEqual([]);
    // As if a user looked at it an hour after it arrived, by the clock of the browser.
    await form.getByLabel(/different time than now/).check();
    await form.getByLabel("Arrival time", { exact: true }).fill(localTime(Date.now() + 3_600_000));
    await check({});
    await expect.poll(() => said.innerText()).toMatch(/Too old: signed \d+ minutes/);
  });
});

describe("webhooks", () => {
  it("can be read by every role; an editor can replay, and an admin can change them", async () => {
    const { id, path } = await subscribed();
    await runOnce();
    await expect.poll(() => states(path)).toEqual(["delivered"]);
    for (const [role, may] of [
      ["viewer", []],
      ["editor", ["Send test event", "Replay…"]],
      ["admin", ["Send test event", "Replay…", "Disable", "Rotate secret…", "Delete…"]],
    ] as const) {
      const { page, context } = await signedIn(browser, tenant, role);
      // Home has another link with this name, in the list of queues.
      await page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: "Webhooks" }).click();
      await page
        .getByRole("link", { name: new RegExp(`${new URL(path, receiver.url).hostname}`) })
        .first()
        .waitFor();
      expect(await page.getByRole("button", { name: "Add webhook" }).count()).toBe(role === "admin" ? 1 : 0);
      await visit(page, `/webhooks/${id}`);
      await page.getByRole("link", { name: "run.completed" }).click();
      await text(page, "Payload");
      expect(await page.getByRole("button", { name: "Redeliver" }).count()).toBe(role === "viewer" ? 0 : 1);
      await page.keyboard.press("Escape");
      const offered = await page.locator(".page-head button").allInnerTexts();
      expect(offered.map((each) => each.trim())).toEqual(["Check a signature…", ...may]);
      if (role === "editor") {
        await page.getByRole("button", { name: "Send test event" }).click();
        await expect.poll(() => states(path)).toHaveLength(2);
      }
      await context.close();
    }
  });

  it("have a list of deliveries that keeps its order, announces new ones, and updates states in place", async () => {
    const { id, path, hook } = await subscribed();
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    receiver.on(hook, (_, response) => void held.then(() => response.writeHead(200).end()));
    await runOnce();
    const { page } = await signedIn(browser, tenant, "viewer", `/webhooks/${id}`);
    const rows = page.getByRole("region", { name: "Delivery list" }).locator("tbody tr");
    await rows.first().getByText("Pending").waitFor();
    await runOnce();
    await text(page, "1 new delivery");
    expect(await rows.count()).toBe(1);
    release();
    await rows.first().getByText("Delivered").waitFor();
    await page.getByRole("button", { name: "Show", exact: true }).click();
    await expect.poll(() => rows.count()).toBe(2);
    await expect.poll(() => states(path)).toEqual(["delivered", "delivered"]);
  });
});
