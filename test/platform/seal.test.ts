import { randomBytes } from "node:crypto";
import { describe, expect, it } from "vitest";
import { createSecretBox, generateMasterKey, parseMasterKey, SealBroken } from "../../src/platform/secrets/seal.ts";

const [key, otherKey] = [randomBytes(32), randomBytes(32)];
const box = createSecretBox([key]);
const PLACE = "table/1/secret";

describe("a sealed secret", () => {
  it.each(["", "x", "whsec_größe ∞ 😀", "y".repeat(100_000)])(
    "can be opened in the place where it was sealed (%#)",
    (text) => {
      expect(box.open(box.seal(text, PLACE), PLACE)).toBe(text);
    },
  );

  it("produces a different ciphertext each time and contains no plaintext", () => {
    const [one, two] = [box.seal("the very same secret", PLACE), box.seal("the very same secret", PLACE)];
    expect(one.equals(two)).toBe(false);
    for (const sealed of [one, two]) {
      expect(sealed.includes("very same")).toBe(false);
      expect(sealed.includes(key)).toBe(false);
    }
  });

  it("is rejected in another place", () => {
    const sealed = box.seal("secret", PLACE);
    for (const place of ["table/2/secret", "table/1/headers", "", `data key of ${PLACE}`])
      expect(() => box.open(sealed, place)).toThrow(SealBroken);
  });

  it("is rejected if any byte was changed", () => {
    const sealed = box.seal("secret", PLACE);
    for (let at = 0; at < sealed.length; at += 1) {
      const changed = Buffer.from(sealed);
      changed[at] = (changed[at] ?? 0) ^ 1;
      expect(() => box.open(changed, PLACE)).toThrow(SealBroken);
    }
  });

  it("is rejected if it was shortened, lengthened, or combined from two", () => {
    const [sealed, other] = [box.seal("secret", PLACE), box.seal("secret", PLACE)];
    for (let length = 0; length < sealed.length; length += 1)
      expect(() => box.open(sealed.subarray(0, length), PLACE)).toThrow(SealBroken);
    expect(() => box.open(Buffer.concat([sealed, Buffer.of(0)]), PLACE)).toThrow(SealBroken);
    const head = 1 + 4 + 12 + 32 + 16;
    expect(() => box.open(Buffer.concat([sealed.subarray(0, head), other.subarray(head)]), PLACE)).toThrow(SealBroken);
  });

  it("is rejected under another key, with another message than after a change", () => {
    const sealed = box.seal("secret", PLACE);
    expect(() => createSecretBox([otherKey]).open(sealed, PLACE)).toThrow("not configured");
    expect(() => box.open(sealed, "elsewhere")).toThrow("changed");
  });

  it("can be opened under its old key after a new key was added, but not after the old key was removed", () => {
    const old = box.seal("old", PLACE);
    const replaced = createSecretBox([otherKey, key]);
    const fresh = replaced.seal("fresh", PLACE);
    expect(replaced.open(old, PLACE)).toBe("old");
    const after = createSecretBox([otherKey]);
    expect(after.open(fresh, PLACE)).toBe("fresh");
    expect(() => after.open(old, PLACE)).toThrow(SealBroken);
    // Encrypted with the first key, regardless of the others.
    expect(() => box.open(fresh, PLACE)).toThrow(SealBroken);
  });

  it("reports whether it is under the current key, whatever other keys exist", () => {
    const old = box.seal("old", PLACE);
    const replaced = createSecretBox([otherKey, key]);
    expect(box.isCurrent(old)).toBe(true);
    expect(replaced.isCurrent(old)).toBe(false);
    expect(replaced.isCurrent(replaced.seal("fresh", PLACE))).toBe(true);
    expect(createSecretBox([key, otherKey]).isCurrent(old)).toBe(true);
    for (const other of [Buffer.alloc(0), Buffer.from("sealed"), old.subarray(0, 4), old.subarray(1)])
      expect(box.isCurrent(other)).toBe(false);
  });

  it("cannot be created without a key", () => {
    expect(() => createSecretBox([])).toThrow("needs a master key");
  });
});

describe("a master key", () => {
  it("is 32 bytes in base64", () => {
    const text = generateMasterKey();
    expect(parseMasterKey(text)).toHaveLength(32);
    expect(parseMasterKey(text)?.toString("base64")).toBe(text);
    expect(generateMasterKey()).not.toBe(text);
  });

  it.each(["", "short", "x".repeat(44), randomBytes(31).toString("base64"), randomBytes(33).toString("base64")])(
    "is not %j",
    (text) => {
      expect(parseMasterKey(text)).toBeUndefined();
    },
  );

  it("is not valid with additional characters", () => {
    const text = generateMasterKey();
    for (const other of [` ${text}`, `${text}\n`, `"${text}"`, `${text},${text}`])
      expect(parseMasterKey(other)).toBeUndefined();
  });
});
