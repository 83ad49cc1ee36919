import { expect, it } from "vitest";
import type { Json } from "../../../src/domain/json.ts";
import { forModel } from "../../../src/domain/providers/mcp/for-model.ts";

const text = (of: string) => ({ type: "text", text: of });
const structured_content = { sum: 5 };
const data = "A".repeat(100_000);

it.each<[string, Json, Json]>([
  ["a text once", { text: "It is 5", content: [text("It is 5")] }, "It is 5"],
  [
    "a structure once, where the text is the same again",
    { text: '{ "sum": 5 }', content: [text('{ "sum": 5 }')], structured_content },
    { structured_content },
  ],
  [
    "a structure and a text that says something else",
    { text: "It is 5", content: [text("It is 5")], structured_content },
    { text: "It is 5", structured_content },
  ],
  [
    "a picture by its type and size",
    { text: "", content: [{ type: "image", mimeType: "image/png", data }] },
    { text: "", parts: [{ type: "image", mime_type: "image/png", bytes: 75_000, note: "Not shown." }] },
  ],
  [
    "a resource with its text",
    { text: "", content: [{ type: "resource", resource: { uri: "file:///a", text: "inside" } }] },
    { text: "", parts: [{ type: "resource", uri: "file:///a", text: "inside" }] },
  ],
  [
    "a resource of bytes by its size",
    { text: "", content: [{ type: "resource", resource: { uri: "file:///a", blob: data } }] },
    { text: "", parts: [{ type: "resource", bytes: 75_000, note: "Not shown." }] },
  ],
  ["what is no tool's answer as it is", { text: "a", content: "b" }, { text: "a", content: "b" }],
  [
    "the outputs of an action as they are",
    { text: "a", content: [text("a")], more: 1 },
    { text: "a", content: [text("a")], more: 1 },
  ],
])("gives a model %s", (_, output, expected) => {
  expect(forModel(output)).toEqual(expected);
});
