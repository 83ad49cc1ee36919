import { describe, expect, it } from "vitest";
import { ancestors, contentOf, placeOf } from "../../web/pages/flows/folders.ts";

const named = (...names: string[]) => names.map((name) => ({ name }));

describe("folders of flows", () => {
  it("come from the slashes in names, and empty parts count as nothing", () => {
    expect(placeOf("a/b/c")).toEqual({ folder: "a/b", leaf: "c" });
    expect(placeOf("//a // b/")).toEqual({ folder: "a", leaf: "b" });
    expect(placeOf("/")).toEqual({ folder: "", leaf: "/" });
    expect(ancestors("a/b/c")).toEqual(["a", "a/b", "a/b/c"]);
    expect(ancestors("")).toEqual([]);
  });

  it("contain everything below them, sorted by name with numbers in order", () => {
    const all = named("x 10", "x 2", "a/b/c", "a/d", "ab/c");
    const { folders, items } = contentOf(all, "");
    expect(folders.map(({ path, items: inside }) => [path, inside.length])).toEqual([
      ["a", 2],
      ["ab", 1],
    ]);
    expect(items).toEqual(named("x 2", "x 10"));
    expect(contentOf(all, "a")).toMatchObject({ folders: [{ path: "a/b" }], items: named("a/d") });
    expect(contentOf(all, "none")).toEqual({ folders: [], items: [] });
  });
});
