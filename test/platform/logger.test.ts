import { describe, expect, it } from "vitest";
import { generateApiKey } from "../../src/platform/secrets/crypto.ts";
import { createLogger } from "../../src/platform/logging/logger.ts";

const SECRET = "hunter2xyz";

function logged(write: (logger: ReturnType<typeof createLogger>) => void): {
  text: string;
  lines: Array<Record<string, unknown>>;
} {
  let text = "";
  const destination = { write: (line: string) => void (text += line) };
  write(createLogger({ level: "debug", service: "api", destination }));
  return {
    text,
    lines: text
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as Record<string, unknown>),
  };
}

describe("the logger", () => {
  it("writes one line of JSON per message, with time, level, service and the fields of its scope", () => {
    const { lines } = logged((logger) => {
      logger.child({ request_id: "r-1", org_id: "o-1" }).child({ run_id: "x-1" }).info({ status: 200 }, "served");
      logger.trace("not written");
    });
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatchObject({
      level: "info",
      service: "api",
      request_id: "r-1",
      org_id: "o-1",
      run_id: "x-1",
      status: 200,
      msg: "served",
    });
    expect(String(lines[0]?.["time"])).toMatch(/^\d{4}-\d\d-\d\dT.*Z$/);
  });

  it("secret-in-error: masks secrets in messages, fields, headers, errors, causes and shared scope", () => {
    const key = generateApiKey("secret").value;
    const error = Object.assign(
      new Error(`refused https://u:${SECRET}@db/ with ${key}`, { cause: new Error(`password=${SECRET}`) }),
      {
        config: { headers: { Authorization: `Bearer ${SECRET}` } },
      },
    );
    const { text, lines } = logged((logger) => {
      logger.info(`key ${key} and Bearer ${SECRET}`);
      logger.info(
        { req: { headers: { authorization: SECRET, cookie: SECRET, "x-api-key": SECRET } }, password: SECRET },
        "request",
      );
      logger.info({ body: { user: { password: SECRET }, list: [{ api_key: SECRET }] } }, "deep");
      logger.info({ raw: JSON.stringify({ token: SECRET }) }, "nested %s", `token=${SECRET}`);
      logger.error({ err: error }, "failed");
      logger.error(error);
      logger.child({ auth: SECRET, url: `http://x/?token=${SECRET}` }).warn("shared");
    });
    expect(lines).toHaveLength(7);
    expect(text).not.toContain(SECRET);
    expect(text).not.toContain(key);
    expect(text).toContain("mr_sec_[redacted]");
    expect(lines[4]).toMatchObject({ err: { type: "Error", stack: expect.any(String) } });
  });
});
