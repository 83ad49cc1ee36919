import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startModelStub, type ModelStub } from "../../src/dev/model-stub.ts";
import { startHttpTarget, type HttpTarget } from "../support/http-target.ts";
import { overflow } from "./support/console.ts";
import { answering, lastAnswer, publishPage, say, urlOf, visit } from "./support/published-pages.ts";
import { browser, tenant, useConsole } from "./support/shared-console.ts";

useConsole();
let stub: ModelStub;
let elsewhere: HttpTarget;
beforeAll(async () => {
  [stub, elsewhere] = await Promise.all([startModelStub(), startHttpTarget()]);
});
afterAll(() => Promise.all([stub.close(), elsewhere.close()]));

describe("what a model says on a published page", () => {
  it("is text: no markup, no script, no picture of others, and links that lead elsewhere without a way back", async () => {
    const published = await publishPage(tenant, await answering(tenant, stub), { kind: "chat" });
    const { page } = await visit(browser, urlOf(tenant, published), { width: 360 });
    const { url } = elsewhere;
    const lines = [
      `<img src="${url}/1.png" onerror="document.title='run'"><script>document.title='run'</script>`,
      `![picture](${url}/2.png) [here](${url}/page) [script](javascript:document.title='run')`,
      `[data](data:text/html,<script>1</script>) <iframe src="${url}/3"></iframe>`,
      `<form action="${url}/4"><button>Sign in</button></form> <style>body{display:none}</style>`,
      `| a | b |\n|---|---|\n| <b>x</b> | ${"w".repeat(500)} |`,
      "\u202Egpj.exe \u200B end",
    ];
    stub.next({ text: [lines.join("\n\n")] });
    await say(page, "<b>hello</b> & <img src=x onerror=alert(1)>");
    const answer = lastAnswer(page);
    await answer.getByText("end").waitFor();
    expect(await page.title()).not.toBe("run");
    expect(await answer.locator("img, script, iframe, form, style, svg, object").count()).toBe(0);
    const links = await answer
      .locator("a")
      .evaluateAll((all) =>
        all.map((each) => [each.getAttribute("href"), each.getAttribute("target"), each.getAttribute("rel")]),
      );
    for (const [href, ...rest] of links) {
      expect(href).toMatch(/^http:/);
      expect(rest).toEqual(["_blank", "noopener noreferrer"]);
    }
    expect(links.map(([href]) => href)).toEqual(expect.arrayContaining([`${url}/2.png`, `${url}/page`]));
    expect(await overflow(page)).toBeLessThanOrEqual(1);
    const [popup] = await Promise.all([page.waitForEvent("popup"), answer.getByRole("link", { name: "here" }).click()]);
    await popup.waitForLoadState();
    expect(await popup.evaluate("opener === null")).toBe(true);
    // The other site may ask for its own icon.
    const asked = elsewhere.requests.filter(({ path }) => path !== "/favicon.ico");
    expect(asked.map(({ path, headers }) => [path, headers["referer"]])).toEqual([["/page", undefined]]);
  });

  it("does not stop the page, however long it is", async () => {
    const published = await publishPage(tenant, await answering(tenant, stub));
    const { page } = await visit(browser, urlOf(tenant, published));
    // Long enough for several hundred frames; nothing in it can be formatted in pieces.
    const piece = `${"[".repeat(500)}${"*a_`".repeat(500)} `;
    stub.next({ text: Array.from({ length: 400 }, () => piece) });
    await page.getByLabel("Question").fill("Everything");
    await page.getByRole("button", { name: "Send" }).click();
    const result = page.getByRole("region", { name: "Result" });
    await result.getByText("Start again").waitFor();
    await result.getByRole("button", { name: "Show more" }).click();
    await page.getByLabel("Question").fill("The page still works");
    expect(await overflow(page)).toBeLessThanOrEqual(1);
  });
});
