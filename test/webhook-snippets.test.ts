import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { beforeAll, describe, expect, it } from "vitest";
import { newWebhookSecret, signWebhook } from "../src/domain/webhooks/webhook-signature.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const page = readFileSync(new URL("../docs/webhooks.md", import.meta.url), "utf8");
const [, verifying = ""] = /\n## Verifying\n([\s\S]*?)\n## /.exec(page) ?? [];

/** The code block in the section "Verifying" that contains these words. */
function snippet(language: string, words: string): string {
  const blocks = [...verifying.matchAll(new RegExp(`\`\`\`${language}\n([\\s\\S]*?)\`\`\``, "g"))];
  const found = blocks.map(([, code]) => code ?? "").filter((code) => code.includes(words));
  expect(found, `one ${language} block with ${words}`).toHaveLength(1);
  return found[0] ?? "";
}

interface Delivery {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly secret: string;
}

const secret = newWebhookSecret();
const BODY = JSON.stringify({ type: "run.completed", data: { "out-0": "größer ∞ 😀" } });

function delivery(over: Partial<Delivery> = {}, secondsAgo = 0, secrets: readonly string[] = [secret]): Delivery {
  const id = "evt_0197f0a0-5b1c-7c30-9d7e-2f6c1f0a9b44";
  const timestamp = Math.floor(Date.now() / 1000) - secondsAgo;
  const headers = {
    "webhook-id": id,
    "webhook-timestamp": String(timestamp),
    "webhook-signature": signWebhook({ id, timestamp, body: BODY }, secrets),
  };
  return { headers, body: BODY, secret, ...over };
}
const without = (name: string): Delivery => {
  const { [name]: _, ...headers } = delivery().headers;
  return delivery({ headers });
};
const withHeader = (name: string, value: string): Delivery =>
  delivery({ headers: { ...delivery().headers, [name]: value } });

const HOLDS: Record<string, () => Delivery> = {
  "a delivery as it is sent": () => delivery(),
  "one that is signed with two secrets": () => delivery({}, 0, [newWebhookSecret(), secret]),
  "one that took four minutes": () => delivery({}, 240),
};
const REFUSED: Record<string, () => Delivery> = {
  "a body that was changed": () => delivery({ body: BODY.replace("completed", "cancelled") }),
  "a body that was written anew": () => delivery({ body: BODY.replace(":", ": ") }),
  "another secret": () => delivery({ secret: newWebhookSecret() }),
  "another id": () => withHeader("webhook-id", "evt_0197f0a0-5b1c-7c30-9d7e-2f6c1f0a9b45"),
  "one that is six minutes old": () => delivery({}, 360),
  "one from six minutes ahead": () => delivery({}, -360),
  "an old one with a fresh time": () => ({
    ...delivery({}, 360),
    headers: { ...delivery({}, 360).headers, "webhook-timestamp": String(Math.floor(Date.now() / 1000)) },
  }),
  "a time that is none": () => withHeader("webhook-timestamp", "now"),
  "a signature that is none": () => withHeader("webhook-signature", "v1,größe"),
  "no id": () => without("webhook-id"),
  "no time": () => without("webhook-timestamp"),
  "no signature": () => without("webhook-signature"),
};

/** Runs a program that verifies each delivery: true if it accepts it. */
function judged(command: string, args: readonly string[], program: string): Record<string, boolean> {
  const cases = Object.fromEntries(Object.entries({ ...HOLDS, ...REFUSED }).map(([name, make]) => [name, make()]));
  const result = spawnSync(command, [...args, program], {
    input: JSON.stringify(cases),
    cwd: root,
    encoding: "utf8",
    timeout: 60_000,
    env: { PATH: process.env["PATH"], HOME: process.env["HOME"], PYTHONIOENCODING: "utf-8" },
  });
  expect(result.stderr).toBe("");
  return JSON.parse(result.stdout) as Record<string, boolean>;
}

const EXPECTED = {
  ...Object.fromEntries(Object.keys(HOLDS).map((name) => [name, true])),
  ...Object.fromEntries(Object.keys(REFUSED).map((name) => [name, false])),
};

const node = (code: string, verdict: string): Record<string, boolean> =>
  judged(
    process.execPath,
    ["--input-type=module", "--eval"],
    `${code}
import { readFileSync } from "node:fs";
const believes = (verdict) => { try { return verdict(); } catch { return false; } };
const all = Object.entries(JSON.parse(readFileSync(0, "utf8")));
console.log(JSON.stringify(Object.fromEntries(all.map(([name, { headers, body, secret }]) => [name, believes(() => ${verdict})]))));`,
  );

const python = (code: string, verdict: string): Record<string, boolean> =>
  judged(
    "python3",
    ["-c"],
    `${code}
import json, sys
def believes(headers, body, secret):
    return ${verdict}
all = json.loads(sys.stdin.buffer.read().decode())
print(json.dumps({name: believes(each["headers"], each["body"].encode(), each["secret"]) for name, each in all.items()}))`,
  );

describe("the documented code that verifies deliveries", () => {
  it("in Node without a package accepts only signed deliveries", () => {
    expect(node(snippet("js", "createHmac"), "verified(headers, body, secret)")).toEqual(EXPECTED);
    const bytes = node(snippet("js", "createHmac"), "verified(headers, Buffer.from(body), secret)");
    expect(bytes).toEqual(EXPECTED);
  });

  it("in Node with the package accepts only signed deliveries", () => {
    expect(node(snippet("js", "standardwebhooks"), 'eventOf(headers, body, secret).type === "run.completed"')).toEqual(
      EXPECTED,
    );
  });

  describe("in Python", () => {
    let missing = false;
    beforeAll(() => {
      missing = spawnSync("python3", ["--version"]).error !== undefined;
    });

    it("without a package accepts only signed deliveries", ({ skip }) => {
      skip(missing, "there is no python3 here");
      expect(python(snippet("python", "hmac"), "verified(headers, body, secret)")).toEqual(EXPECTED);
    });

    it("with the package compiles", ({ skip }) => {
      skip(missing, "there is no python3 here");
      const code = snippet("python", "standardwebhooks");
      const result = spawnSync("python3", ["-c", "import sys; compile(sys.stdin.read(), 'webhooks.md', 'exec')"], {
        input: code,
        encoding: "utf8",
      });
      expect(result.stderr).toBe("");
    });
  });
});
