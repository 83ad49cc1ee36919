import { describe, expect, it } from "vitest";
import { loadConfig } from "../src/config.ts";

const load = (more: Record<string, string>) => loadConfig({ DATABASE_URL: "postgres://nowhere/db", ...more });

describe("the configuration", () => {
  it("reads lists of hosts and of proxies", () => {
    const config = load({
      MILLRACE_PRIVATE_HOSTS: "loopback, internal.example:8080,10.0.0.0/8 ,[fd00::5]:443",
      MILLRACE_TRUSTED_PROXIES: "10.0.0.0/8, 192.168.0.7,fd00::/8,::1",
    });
    expect(config.MILLRACE_PRIVATE_HOSTS).toEqual(["loopback", "internal.example:8080", "10.0.0.0/8", "[fd00::5]:443"]);
    expect(config.MILLRACE_TRUSTED_PROXIES).toEqual(["10.0.0.0/8", "192.168.0.7", "fd00::/8", "::1"]);
  });

  it("takes an empty variable for one that is not set", () => {
    expect(load({ MILLRACE_PRIVATE_HOSTS: "", PORT: "" })).toMatchObject({ MILLRACE_PRIVATE_HOSTS: [], PORT: 8080 });
  });

  it("names everything that is not usable at once, and says what is expected", () => {
    const environment = {
      PORT: "http",
      MILLRACE_PRIVATE_HOSTS: "10.0.0.0/99",
      MILLRACE_TRUSTED_PROXIES: "10.0.0.0/8,proxy.example",
      MILLRACE_WEBHOOK_SCHEDULE_MS: "soon",
      MILLRACE_MASTER_KEY: "short",
    };
    expect(() => loadConfig(environment)).toThrow(
      expect.objectContaining({
        message: expect.stringMatching(
          new RegExp(
            [
              "not usable:",
              "  DATABASE_URL: .*",
              "  PORT: .*",
              '  MILLRACE_PRIVATE_HOSTS: "10.0.0.0/99" is not a private host that can be allowed: .*',
              '  MILLRACE_TRUSTED_PROXIES.1: "proxy.example" is neither an address nor a CIDR range such as 10.0.0.0/8',
              "  MILLRACE_MASTER_KEY.0: base64 of 32 bytes is expected .*",
              "  MILLRACE_WEBHOOK_SCHEDULE_MS: 1 to 50 whole numbers with commas between are expected",
            ].join("\n"),
          ),
        ),
      }),
    );
  });
});
