import type { Browser } from "playwright-core";
import { uuidv7 } from "uuidv7";
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { insertOrganisation } from "../../src/stores/accounts/organisations.ts";
import { openDatabase } from "../../src/stores/db.ts";
import { startOidcServer, type OidcServer } from "../support/oidc-server.ts";
import { startService, type OwnService } from "../support/service.ts";
import { openBrowser } from "./support/browser.ts";
import { expectNoFaults, openWindow, violations } from "./support/console.ts";

let browser: Browser;
let close: () => Promise<void>;
let provider: OidcServer;
let service: OwnService;
/** The public URL of the installation, to which the provider redirects. */
let url: string;
beforeAll(async () => {
  provider = await startOidcServer({ thin: true });
  const org_id = uuidv7();
  const { issuer, client_id, client_secret } = provider;
  const settings = [
    {
      issuer,
      client_id,
      client_secret,
      org_id,
      id: "corp",
      name: "Corp",
      scopes: ["openid", "email", "groups"],
      roles: { makers: "editor" },
      end_provider_session: true,
    },
  ];
  [{ browser, close }, service] = await Promise.all([
    openBrowser(),
    startService({
      workers: 0,
      env: { MILLRACE_OIDC_PROVIDERS: JSON.stringify(settings), MILLRACE_PASSWORD_SIGN_IN: "false" },
    }),
  ]);
  url = `http://localhost:${new URL(service.url).port}`;
  provider.register([`${url}/console/session/providers/corp/callback`], [`${url}/console/`]);
  const db = openDatabase({
    url: service.databaseUrl,
    poolSize: 2,
    applicationName: "millrace-test",
    onError: () => undefined,
  });
  await db.system((connection) => insertOrganisation(connection, { org_id, name: "Analytical Engines" }));
  await db.close();
}, 300_000);
afterEach(expectNoFaults);
afterAll(() => Promise.all([close?.(), service?.close(), provider?.close()]));

it("signs in with the provider's button, returns to the requested page, and says why someone is rejected", async () => {
  const { page } = await openWindow(browser);
  const ada = { sub: "ada", email: "ada@corp.test", email_verified: true };
  provider.person = { ...ada, groups: ["others"] };
  await page.goto(`${url}/console/runs?state=FAILED`);
  await page.getByRole("link", { name: "Sign in with Corp" }).waitFor();
  expect(await page.getByLabel("Password").count()).toBe(0);
  expect(await violations(page)).toEqual([]);
  await page.getByRole("link", { name: "Sign in with Corp" }).click();
  await page.getByText("You are not in a group").waitFor();

  provider.person = { ...ada, groups: ["makers"] };
  await page.goto(`${url}/console/runs?state=FAILED`);
  await page.getByRole("link", { name: "Sign in with Corp" }).click();
  await page.getByRole("heading", { name: "Runs", exact: true }).waitFor();
  expect(page.url()).toBe(`${url}/console/runs?state=FAILED`);
});

it("signs out at the provider too, returns to the sign-in page, and is prompted by the provider next time", async () => {
  const { page } = await openWindow(browser);
  provider.person = { sub: "grace", email: "grace@corp.test", email_verified: true, groups: ["makers"] };
  const button = page.getByRole("link", { name: "Sign in with Corp" });
  await page.goto(`${url}/console/runs`);
  await button.click();
  await page.getByRole("heading", { name: "Runs", exact: true }).waitFor();
  const before = provider.asked;
  await page.getByRole("button", { name: "Sign out", exact: true }).click();
  await page.getByRole("button", { name: "Yes, sign me out" }).click();
  await button.waitFor();
  expect(new URL(page.url()).origin + new URL(page.url()).pathname).toBe(`${url}/console/`);
  expect(provider.asked).toBe(before);
  await button.click();
  await page.getByRole("button", { name: "Sign out", exact: true }).waitFor();
  expect(provider.asked).toBe(before + 1);
});
