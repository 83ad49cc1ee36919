import { describe, expect, it } from "vitest";
import { compileFlow } from "../../../src/domain/flow/plan/compile.ts";
import { mayShowText } from "../../../src/domain/flow/plan/shown-texts.ts";
import { streamedOutputs } from "../../../src/domain/flow/plan/streamed-outputs.ts";
import { parseRedactPaths } from "../../../src/domain/flow/redact.ts";
import { flow } from "../../engine/support.ts";

const llm = (id: string, more: object = {}) => ({ id, type: "llm", config: { prompt: "{{in-0}}", ...more } });
const planOf = (value: string | undefined, more: object = {}) =>
  compileFlow(
    flow(
      [
        { id: "in-0", type: "input" },
        llm("llm-0", more),
        llm("llm-1"),
        { id: "tpl-0", type: "template", config: { template: "Said: {{llm-0}}!" } },
        { id: "out-0", type: "output", ...(value === undefined ? {} : { config: { value } }) },
      ],
      [
        "in-0>llm-0",
        "in-0>llm-1",
        "llm-0>tpl-0",
        ...(value === undefined ? ["llm-0>out-0"] : ["tpl-0>out-0", "llm-1>out-0"]),
      ],
    ),
  );
const sourcesOf = (value: string | undefined, more?: object) => streamedOutputs(planOf(value, more)).get("out-0");

describe("an output that streams a model's text", () => {
  it.each([
    [undefined, [{ node_id: "llm-0", before: [] }]],
    ["{{llm-0}}", [{ node_id: "llm-0", before: [] }]],
    [
      'Dear {{in-0}}, {{ nodes["llm-0"].text }} Bye',
      [{ node_id: "llm-0", before: [{ words: "Dear " }, { input: "in-0" }, { words: ", " }] }],
    ],
    ["A {{tpl-0}}", [{ node_id: "llm-0", before: [{ words: "A " }, { words: "Said: " }] }]],
    ["{{llm-0 | upcase}}", undefined],
    ["{{-llm-0-}}", undefined],
    ["{% if true %}{{llm-0}}{% endif %}", undefined],
    ["{{llm-0.usage.total_tokens}} {{llm-0}}", undefined],
    ["{{tpl-0.text}}", undefined],
    ["no model", undefined],
  ])("%j", (value, sources) => {
    expect(sourcesOf(value)).toEqual(sources);
  });

  it("does not exist if the model returns JSON", () => {
    expect(sourcesOf(undefined, { schema: { type: "object" } })).toBeUndefined();
  });
});

describe("a model text that settings.redact may cover", () => {
  it.each([
    [[], true],
    [["$.inputs.in-0", "$..password", '$.nodes["llm-1"].output'], true],
    [['$.nodes["llm-0"].output.text'], false],
    [["$.nodes.*.output"], false],
    [["$..text"], false],
    [["$.outputs.out-0"], false],
    [["$.outputs"], false],
    [['$.nodes["tpl-0"].output'], false],
  ])("is streamed with the paths %j: %s", (redact, shown) => {
    const parsed = parseRedactPaths(redact);
    if (!parsed.ok) throw new Error("the paths are no paths");
    expect(mayShowText(planOf("{{tpl-0}}"), parsed.paths, "llm-0")).toBe(shown);
  });
});
