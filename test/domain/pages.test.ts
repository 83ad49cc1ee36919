import { describe, expect, it } from "vitest";
import type { FlowDefinition } from "../../src/domain/flow/definition/definition.ts";
import { describeFlow } from "../../src/domain/flow/io/io-schema.ts";
import { chatEnds } from "../../src/domain/pages/chat-ends.ts";
import { conversationOf, pageOrigin, pausePoint, visitorUserId } from "../../src/domain/pages/page.ts";
import { visitorError } from "../../src/domain/pages/visitor-errors.ts";
import { edges, flow, node } from "../support/flows.ts";

const endsOf = (definition: FlowDefinition) => {
  const identity = { project_id: "p", name: "n", version: 1, content_hash: "h" };
  return chatEnds(describeFlow(definition, identity, { max_input_bytes: 1 }));
};

describe("the ends of a chat", () => {
  it("are the text that is entered and the text that answers", () => {
    expect(endsOf(flow())).toEqual({ input: "in-0", output: "out-0" });
    const more = [
      node("in-0", "input"),
      node("in-1", "input", { required: false }),
      node("doc-0", "files"),
      node("out-0", "output", { value: "{{in-0}}" }),
      node("set-0", "set", { values: { n: "1" } }),
      node("out-1", "output"),
    ];
    const paths = edges("in-0 > out-0", "in-1 > set-0 > out-1", "doc-0 > out-1");
    expect(endsOf(flow({ nodes: more, edges: paths }))).toEqual({ input: "in-0", output: "out-0" });
  });

  it.each([
    ["no text input", [node("url-0", "url"), node("out-0", "output")], edges("url-0 > out-0")],
    [
      "two required",
      [node("in-0", "input"), node("in-1", "input"), node("out-0", "output")],
      edges("in-0 > out-0", "in-1 > out-0"),
    ],
    [
      "another required",
      [node("in-0", "input"), node("url-0", "url"), node("out-0", "output")],
      edges("in-0 > out-0", "url-0 > out-0"),
    ],
    [
      "two texts as outputs",
      [node("in-0", "input"), node("out-0", "output"), node("out-1", "output")],
      edges("in-0 > out-0", "in-0 > out-1"),
    ],
  ])("are missing in a flow with %s, and the reason is given", (_, nodes, paths) => {
    expect(endsOf(flow({ nodes, edges: paths }))).toEqual({ fault: expect.stringContaining("A chat") });
  });
});

describe("what a page compares", () => {
  it("takes a run for a visitor's only by the whole ID of the visitor", () => {
    const [visitor, other] = ["0197f0a0-0000-7000-8000-000000000001", "0197f0a0-0000-7000-8000-000000000002"];
    const user = visitorUserId(visitor, other);
    expect(conversationOf(visitor, user)).toBe(other);
    for (const id of [other, visitor.slice(0, -1), ""]) expect(conversationOf(id, user)).toBeNull();
    for (const text of [null, visitor, `${visitor}-`, `${visitor}-x`, `${user}0`])
      expect(conversationOf(visitor, text)).toBeNull();
  });

  it("takes a pause in any iteration for the same, and no origin that means more than one", () => {
    expect(pausePoint("map-0[12]/loop-1[0]/approval-0")).toBe("map-0/loop-1/approval-0");
    for (const origin of ["https://shop.example", "http://localhost:3000", "https://[2001:db8::1]:8443"])
      expect(pageOrigin.safeParse(origin).success, origin).toBe(true);
    for (const origin of [
      "https://*.example",
      "*",
      "null",
      "https://a;b",
      "https://a/",
      "https://A.example",
      "data:x",
      "https://a b",
    ])
      expect(pageOrigin.safeParse(origin).success, origin).toBe(false);
  });

  it("quotes no upstream service in an error", () => {
    const of = (code: string) => visitorError({ code, message: "inner secret" });
    expect(of("guard_failed")).toEqual({ code: "guard_failed", message: "inner secret" });
    for (const code of ["http_status", "code_failed", "template_failed", "run_timeout", "file_too_large", "toString"])
      expect(JSON.stringify(of(code))).not.toContain("secret");
    expect(visitorError(null)).toBeNull();
  });
});
