import type { Frame } from "./frame.ts";
import { TypeName, type Value } from "./values.ts";

/** The variables of an expression; a variable's value is undefined where it is not available. */
export type Variables = ReadonlyMap<string, (frame: Frame) => Value | undefined>;

export const VARIABLES: Variables = new Map([
  ["nodes", ({ scope }: Frame) => scope.nodes],
  ["inputs", ({ scope }: Frame) => scope.inputs],
  ["run", ({ scope }: Frame) => scope.run],
  ["item", ({ scope }: Frame) => scope.item],
  ["index", ({ scope }: Frame) => scope.index],
  ["last", ({ scope }: Frame) => scope.last],
  ["payload", ({ scope }: Frame) => scope.payload],
]);

/** Type names, for comparison with `type(x)`. */
export const TYPES: ReadonlyMap<string, Value> = new Map(
  [
    ..."bool bytes double int list map null_type string type uint".split(" "),
    "google.protobuf.Duration",
    "google.protobuf.Timestamp",
  ].map((name) => [
    name,
    // uint(...) returns ints, so `type(x) == uint` could otherwise never be true.
    new TypeName(name === "uint" ? "int" : name),
  ]),
);
