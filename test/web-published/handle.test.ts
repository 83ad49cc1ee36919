import { describe, expect, it } from "vitest";
import { handleOf } from "../../web/published/handle.ts";

describe("a visitor's handle", () => {
  it("is kept for its page only", () => {
    const kept = new Map<string, string>();
    const storage = () => ({
      getItem: (key: string) => kept.get(key) ?? null,
      setItem: (key: string, value: string) => void kept.set(key, value),
      removeItem: (key: string) => void kept.delete(key),
    });
    handleOf("one", storage).set("v_1");
    expect(handleOf("one", storage).get()).toBe("v_1");
    expect(handleOf("two", storage).get()).toBe(null);
    handleOf("one", storage).set(null);
    expect(handleOf("one", storage).get()).toBe(null);
  });

  it("lasts as long as the page where the browser allows no storage", () => {
    const handle = handleOf("one", () => {
      throw new DOMException("Access is denied for this document.", "SecurityError");
    });
    expect(handle.isKept).toBe(false);
    handle.set("v_1");
    expect(handle.get()).toBe("v_1");
  });
});
