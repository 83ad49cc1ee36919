import { describe, expect, it } from "vitest";
import {
  generateApiKey,
  generateToken,
  hashPassword,
  matchPassword,
  hashSecret,
  needsRehash,
  parseApiKey,
  parseToken,
} from "../../src/platform/secrets/crypto.ts";

describe("API keys and tokens", () => {
  it("contain their kind, 32 random bytes and a checksum", () => {
    expect(generateApiKey("public").value).toMatch(/^mr_pub_[0-9A-Za-z]{49}$/);
    expect(generateApiKey("secret").value).toMatch(/^mr_sec_[0-9A-Za-z]{49}$/);
    expect(generateToken("access").value).toMatch(/^mr_at_[0-9A-Za-z]{49}$/);
    expect(generateToken("refresh").value).toMatch(/^mr_rt_[0-9A-Za-z]{49}$/);
  });

  it("are distinguished by kind", () => {
    expect(parseApiKey(generateApiKey("public").value)).toBe("public");
    expect(parseApiKey(generateApiKey("secret").value)).toBe("secret");
    expect(parseApiKey(generateToken("access").value)).toBeNull();
    expect(parseToken(generateToken("refresh").value)).toBe("refresh");
    expect(parseToken(generateApiKey("secret").value)).toBeNull();
  });

  it("are detected as mistyped if any character changes", () => {
    const { value } = generateApiKey("secret");
    for (let i = 0; i < value.length; i += 1) {
      const other = value.slice(0, i) + (value[i] === "a" ? "b" : "a") + value.slice(i + 1);
      expect(parseApiKey(other)).toBeNull();
    }
    expect(parseApiKey(value.replace("mr_sec_", "mr_pub_"))).toBeNull();
    for (const other of ["", value.slice(0, -1), `${value}a`, ` ${value}`, `${value}\n`, value.toUpperCase()]) {
      expect(parseApiKey(other)).toBeNull();
    }
  });

  it("are stored as a hash and a prefix that does not reveal them", () => {
    const { value, hash, prefix } = generateApiKey("secret");
    expect(hash).toEqual(hashSecret(value));
    expect(hash).toHaveLength(32);
    expect(value.startsWith(prefix)).toBe(true);
    expect(prefix).toHaveLength(13);
  });

  it("are unique", () => {
    expect(new Set(Array.from({ length: 1000 }, () => generateApiKey("secret").value)).size).toBe(1000);
  });
});

describe("passwords", () => {
  it("match their hash in any Unicode normalisation", async () => {
    const stored = await hashPassword("caf\u00e9 au lait");
    expect(stored).toMatch(/^\$scrypt\$ln=15,r=8,p=3\$[\w-]{22}\$[\w-]{43}$/);
    expect([...(await matchPassword("caf\u00e9 au lait", [stored]))]).toEqual([stored]);
    expect([...(await matchPassword("cafe\u0301 au lait", [stored]))]).toEqual([stored]);
    expect([...(await matchPassword("cafe au lait", [stored]))]).toEqual([]);
    expect(needsRehash(stored)).toBe(false);
  });

  it("have a random salt, or reuse the salt of a given hash", async () => {
    const [one, two] = await Promise.all([hashPassword("x"), hashPassword("x")]);
    expect(one).not.toBe(two);
    expect(await hashPassword("x", one)).toBe(one);
    const other = await hashPassword("y", one);
    expect([...(await matchPassword("y", [one, other, two]))]).toEqual([other]);
  });

  it("hashed with older parameters still match, and need a new hash", async () => {
    // scrypt("old", salt of 16 zero bytes, N=2^14, r=8, p=1)
    const { scryptSync } = await import("node:crypto");
    const salt = Buffer.alloc(16);
    const hash = scryptSync("old", salt, 32, { N: 2 ** 14, r: 8, p: 1 });
    const stored = `$scrypt$ln=14,r=8,p=1$${salt.toString("base64url")}$${hash.toString("base64url")}`;
    expect((await matchPassword("old", [stored])).has(stored)).toBe(true);
    expect(needsRehash(stored)).toBe(true);
  });

  it.each([
    null,
    "",
    "plain",
    "$scrypt$ln=31,r=8,p=1$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
  ])("never match %j, and take as long to reject", async (stored) => {
    const started = performance.now();
    expect((await matchPassword("x", stored === null ? [] : [stored])).size).toBe(0);
    expect(performance.now() - started).toBeGreaterThan(20);
  });
});
