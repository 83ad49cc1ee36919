import { randomBytes } from "node:crypto";
import { describe, expect, it } from "vitest";
import {
  createPayloadCipher,
  PayloadUnreadable,
  type DataKey,
  type DataKeys,
} from "../../src/platform/secrets/payload-cipher.ts";

const key = (key_id: string): DataKey => ({ key_id, key: randomBytes(32) });
const keysOf = (current: DataKey, ...earlier: DataKey[]): DataKeys => ({
  current: async () => current,
  find: async (id) => [current, ...earlier].find(({ key_id }) => key_id === id),
});
const [one, two] = [key("one"), key("two")];
const PLAIN = Buffer.from("what nobody else reads");
/** Length of version and salt. */
const HEAD = 17;

describe("an encrypted payload", () => {
  it("can be opened by every process that has the data key, even after a newer key is used", async () => {
    const { key_id, data } = await createPayloadCipher(keysOf(one)).seal(PLAIN, "c");
    expect([key_id, data.includes("nobody"), data.includes(one.key)]).toEqual(["one", false, false]);
    for (const keys of [keysOf(one), keysOf(two, one)])
      expect(await createPayloadCipher(keys).open(key_id, data, "c")).toEqual(PLAIN);
    await expect(createPayloadCipher(keysOf(two)).open(key_id, data, "c")).rejects.toThrow(
      "data key one, which does not exist",
    );
  });

  it("is rejected in another context, under another key's name, or if it was changed or cut", async () => {
    const cipher = createPayloadCipher(keysOf(one, { ...two, key: one.key }));
    const { key_id, data } = await cipher.seal(PLAIN, "c");
    await expect(cipher.open(key_id, data, "d")).rejects.toThrow(PayloadUnreadable);
    await expect(cipher.open("two", data, "c")).rejects.toThrow(PayloadUnreadable);
    for (let at = 0; at < data.length; at += 1) {
      const changed = Buffer.from(data);
      changed[at] = (changed[at] ?? 0) ^ 1;
      await expect(cipher.open(key_id, changed, "c")).rejects.toThrow(PayloadUnreadable);
      await expect(cipher.open(key_id, data.subarray(0, at), "c")).rejects.toThrow(PayloadUnreadable);
    }
  });

  it("is encrypted under a key per process and hour, with a unique nonce", async () => {
    let now = 0;
    const [mine, other] = [createPayloadCipher(keysOf(one), () => now), createPayloadCipher(keysOf(one), () => now)];
    const saltOf = async (cipher: typeof mine) => (await cipher.seal(PLAIN, "")).data.subarray(0, HEAD).toString("hex");
    const [first, second] = [await mine.seal(PLAIN, ""), await mine.seal(PLAIN, "")];
    expect(first.data.subarray(0, HEAD)).toEqual(second.data.subarray(0, HEAD));
    expect(first.data.subarray(HEAD, HEAD + 12)).not.toEqual(second.data.subarray(HEAD, HEAD + 12));
    const salts = [await saltOf(mine), await saltOf(other)];
    now = 3_599_999;
    expect(await saltOf(mine)).toBe(salts[0]);
    now = 3_600_000;
    salts.push(await saltOf(mine));
    expect(new Set(salts).size).toBe(3);
    expect(await other.open("one", first.data, "")).toEqual(PLAIN);
  });
});
