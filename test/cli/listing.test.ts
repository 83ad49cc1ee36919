import { afterEach, expect, it, vi } from "vitest";
import { allNamed, newest } from "../../src/cli/listing.ts";

afterEach(() => void vi.restoreAllMocks());

it("says that a list has more items, but only if it has", async () => {
  const said = vi.spyOn(console, "error").mockReturnValue();
  const answering = (cursor: string | null) => ({
    get: <T>(): Promise<T> => Promise.resolve({ data: [1, 2], cursor } as T),
  });
  expect(await newest(answering(null), "/v2/triggers")).toEqual([1, 2]);
  expect(said).not.toHaveBeenCalled();
  expect(await newest(answering("next"), "/v2/triggers")).toEqual([1, 2]);
  expect(said.mock.calls).toEqual([["Showing the newest 200. Use the API (GET /v2/triggers) to list all."]]);
});

it("finds items by name on every page of a list", async () => {
  const pages: Record<string, object> = {
    first: { data: [{ id: 1, name: "a" }, { id: 2 }], cursor: "second" },
    second: { data: [{ id: 3, name: "a" }], cursor: null },
  };
  const api = { get: <T>(_: string, { cursor = "first" } = {}): Promise<T> => Promise.resolve(pages[cursor] as T) };
  expect(await allNamed(api, "/v2/projects", "a")).toEqual([
    { id: 1, name: "a" },
    { id: 3, name: "a" },
  ]);
});
