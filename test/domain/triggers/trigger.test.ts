import { createHmac } from "node:crypto";
import { describe, expect, it } from "vitest";
import { cronFault, cronWarning, shortestInterval, temporalCron, timeZoneOf } from "../../../src/domain/cron.ts";
import { parseJsonPath, valueAt } from "../../../src/domain/json-path.ts";
import { verifyInbound } from "../../../src/domain/triggers/verify.ts";

describe("cron", () => {
  it("warns only if both day fields are set", () => {
    for (const text of ["0 9 13 * fri", "30 0 9 13 * fri"]) expect(cronWarning(text)).toContain("(13)");
    expect(cronWarning("0 9 13 * fri")).toContain("(fri)");
    for (const text of ["0 9 * * fri", "0 9 13 * *", "0 9 */2 * fri", "@daily", "* * * * *"])
      expect(cronWarning(text)).toBeNull();
  });

  it("warns about a day that no month has", () => {
    for (const text of ["0 0 30 2 *", "0 0 0 30-31 Feb *", "0 0 31 2,4-6/2,sep,nov *", "0 0 30 feb fri"])
      expect(cronWarning(text)).toContain("never fires");
    for (const text of ["0 0 29 2 *", "0 0 31 2,3 *", "0 0 31 4-6 *", "0 0 31 */5 *", "0 0 28-31 2 *", "0 0 */31 2 *"])
      expect(cronWarning(text)).toBeNull();
  });

  it("does not accept an offset as a time zone", () => {
    expect([timeZoneOf("+01:00"), timeZoneOf("-0100"), timeZoneOf("Etc/GMT-1")]).toEqual([null, null, "Etc/GMT-1"]);
  });

  it.each(["* * * * *", "0 9 * * mon-fri", "*/15 0,12 1-7 JAN-jun/2 7", "30 0 9 * * *", "@daily"])(
    "accepts %s",
    (text) => {
      expect(cronFault(text)).toBeNull();
    },
  );

  it.each([
    ["* * * *", "five fields"],
    ["60 * * * *", "minute"],
    ["* 24 * * *", "hour"],
    ["* * 0 * *", "day of the month"],
    ["* * * 13 *", "month"],
    ["* * * * 8", "day of the week"],
    ["61 * * * * *", "second"],
    ["5-1 * * * *", "minute"],
    ["*/0 * * * *", "minute"],
    ["*-5 * * * *", "minute"],
    ["1,,2 * * * *", "minute"],
    ["@every 1s", "five fields"],
    ["", "five fields"],
  ])("refuses %j", (text, why) => {
    expect(cronFault(text)).toContain(why);
  });

  it.each([
    ["* * * * *", 60],
    ["@hourly", 60],
    ["30 0 9 * * *", 60],
    ["* * * * * *", 1],
    ["*/5 * * * * *", 5],
    ["*/7 * * * * *", 4],
    ["5/20 * * * * *", 20],
    ["0,10,25 * * * * *", 10],
    ["50,5 * * * * *", 15],
    ["0-30/15 * * * * *", 15],
    ["8-9 * * * * *", 1],
  ])("noisy-neighbour: computes the shortest interval of %s", (text, seconds) => {
    expect(shortestInterval(text)).toBe(seconds);
  });

  it.each([
    ["0 9 * * 1-7", "0 9 * * 1,2,3,4,5,6,0"],
    ["0 9 * * fri-7,2", "0 9 * * 5,6,0,2"],
    ["30 0 9 * * 5-7", "30 0 9 * * 5,6,0 *"],
    ["0 9 * * 1-7/3", "0 9 * * 1,4,0"],
    ["0 9 * * 7", "0 9 * * 7"],
    ["0 9 1-7 * *", "0 9 1-7 * *"],
    ["@weekly", "@weekly"],
  ])("lists the days for Temporal if a range ends on Sunday: %s", (text, told) => {
    expect(cronFault(text)).toBeNull();
    expect(temporalCron(text)).toBe(told);
  });

  it("has seven fields for Temporal if it has seconds", () => {
    expect([temporalCron("30 0 9 * * 1"), temporalCron("0 9 * * 1")]).toEqual(["30 0 9 * * 1 *", "0 9 * * 1"]);
  });

  it.each([
    ["Europe/Berlin", "Europe/Berlin"],
    ["europe/berlin", "Europe/Berlin"],
    ["utc", "UTC"],
    ["US/Pacific-New", "America/Los_Angeles"],
    ["etc/gmt+5", "Etc/GMT+5"],
    ["SystemV/PST8", null],
    ["+02:00", null],
    ["Mars", null],
    ["", null],
  ])("resolves the time zone %j to %j", (text, zone) => {
    expect(timeZoneOf(text)).toBe(zone);
  });
});

describe("JSON paths", () => {
  it.each([
    ["$", { a: 1 }, { a: 1 }],
    ["$.a.b[1]", { a: { b: [1, 2] } }, 2],
    ["$['first name'][\"x\"]", { "first name": { x: true } }, true],
    ["$.a.b", { a: [1] }, undefined],
    ["$.constructor", {}, undefined],
    ["$[0]", { 0: 1 }, 1],
    ["$.größe", { größe: 1 }, 1],
    ["$[-1]", [1, 2], 2],
    [String.raw`$["a\"b"]`, { 'a"b': 1 }, 1],
  ])("%s of %j is %j", (path, value, expected) => {
    expect(valueAt(value, parseJsonPath(path) ?? [])).toEqual(expected);
  });

  it.each(["a", "$.", "$a", "$.a[", "$..a", "$[*]", "$[?(@.a)]"])("%s is not a path", (path) => {
    expect(parseJsonPath(path)).toBeNull();
  });
});

describe("trigger-forgery: signatures", () => {
  const body = Buffer.from('{"id":"evt_1"}');
  const hex = (text: string): string => createHmac("sha256", "secret").update(text).digest("hex");
  const now = 1_900_000_000;
  const stripe = (header: string) =>
    verifyInbound("stripe", "secret", { headers: { "stripe-signature": header }, body }, now * 1000);

  it("match GitHub's, over the body", () => {
    const check = (header: string | undefined) =>
      verifyInbound("github", "secret", { headers: { "x-hub-signature-256": header }, body });
    expect(check(`sha256=${hex(body.toString())}`)).toHaveProperty("key");
    for (const bad of [undefined, "", "sha256=", `sha1=${hex(body.toString())}`, `sha256=${hex("other")}`])
      expect(check(bad)).toHaveProperty("problem");
  });

  it("match Stripe's, over time and body, and expire", () => {
    const signed = (time: number): string => `t=${time},v1=${hex(`${time}.${body.toString()}`)}`;
    expect(stripe(signed(now - 299))).toHaveProperty("key");
    expect(stripe(signed(now + 299))).toEqual(stripe(signed(now)));
    const bad = [
      "",
      signed(now - 301),
      signed(now + 301),
      signed(now).replace("v1=", "v0="),
      `t=${now},v1=${hex("x")}`,
      // weak-key: a digest that is none.
      `t=${now},v1=`,
      `t=${now},v1`,
      `t=${now}`,
      `t=${now},v1=${hex(`${now}.${body.toString()}`).slice(0, 32)}`,
      `t=${now},v1=zz`,
      `t=${now + 1},v1=${hex(`${now}.${body.toString()}`)}`,
    ];
    for (const header of bad) expect(stripe(header), header).toHaveProperty("problem");
  });
});
