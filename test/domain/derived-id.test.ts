import { expect, it } from "vitest";
import { derivedId, digestId } from "../../src/domain/derived-id.ts";

const ID = "0197f0a0-1234-7000-8000-000000000001";

// A repeated request, or a process of another version, must find the resource that the first one created.
it("returns the same ID for the same name in every release", () => {
  expect(derivedId(ID, "row 1")).toBe("0197f0a0-1234-7ea3-b582-fb007b686639");
  expect(digestId(ID, `${ID} row 1`)).toBe(derivedId(ID, "row 1"));
  expect(derivedId(ID, "row 2")).not.toBe(derivedId(ID, "row 1"));
});
