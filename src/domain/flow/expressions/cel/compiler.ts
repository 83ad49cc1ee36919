import { compileRegex } from "../regex.ts";
import type { Reads } from "../../scope.ts";
import { CelSyntaxError, type CelNode, type MethodCall, type Position } from "./ast.ts";
import { conditionalCode, listCode, logicalCode, mapCode, unaryCode } from "./codes.ts";
import { ticksOfCall, ticksOfOperator, ticksOfResult } from "./cel-function.ts";
import type { Code, Frame } from "./frame.ts";
import { FUNCTIONS } from "./functions.ts";
import { MACROS } from "./macros.ts";
import { findMember, missing } from "./members.ts";
import { OPERATORS } from "./operators.ts";
import { testLiteralPattern } from "./string-functions.ts";
import { failed, type Value } from "./values.ts";
import { TYPES, VARIABLES, type Variables } from "./variables.ts";

/** Limited because each nested macro multiplies the work by the length of its list. */
const MAX_MACRO_NESTING = 2;
/** Levels of the tree; evaluation recurses once per level. */
const MAX_DEPTH = 400;

const counted = (counts: readonly number[]): string =>
  `${counts.join(" or ")} argument${counts.length === 1 && counts[0] === 1 ? "" : "s"}`;

/** Where each variable that is not available everywhere can be used. */
const PLACES: Readonly<Record<string, string>> = { last: "inside a loop", payload: "in the inputs of a trigger" };

/** Compiles a parsed expression to closures, collects the nodes it reads, and reports semantic errors. */
export class CelCompiler {
  readonly #variables: Variables;
  readonly #locals: string[] = [];
  readonly #nodesRead = new Set<string>();
  #readsAny = false;
  #depth = 0;
  /** Number of syntax tree nodes compiled so far. */
  nodes = 0;
  /** Instructions of all patterns compiled so far. */
  instructions = 0;

  constructor(variables: Variables = VARIABLES) {
    this.#variables = variables;
  }

  /** The IDs of all nodes that the compiled expressions read. */
  get reads(): Reads {
    return this.#readsAny ? "*" : [...this.#nodesRead];
  }

  /** Throws CelSyntaxError if the expression uses an unknown name. */
  compile(node: CelNode): Code {
    this.nodes++;
    if (++this.#depth > MAX_DEPTH) {
      throw new CelSyntaxError(`The expression is nested deeper than ${MAX_DEPTH} levels`, node.at);
    }
    const code = this.#compile(node);
    this.#depth--;
    return code;
  }

  #compile(node: CelNode): Code {
    switch (node.kind) {
      case "literal": {
        const { value } = node;
        return () => value;
      }
      case "variable":
        return this.#variable(node.name, node.at);
      case "select":
      case "index":
        return this.#member(node);
      case "call":
        return this.#call(node);
      case "list":
        return listCode(node.items.map((item) => this.compile(item)));
      case "map":
        return mapCode(
          node.entries.map(([key, value]) => [this.compile(key), this.compile(value)]),
          node.at,
        );
      case "unary":
        return unaryCode(node.operator, this.compile(node.operand), node.at);
      case "binary":
        return this.#binary(node);
      case "conditional":
        return conditionalCode(this.compile(node.test), this.compile(node.yes), this.compile(node.no), node.at);
    }
  }

  #isNodes(node: CelNode): boolean {
    return node.kind === "variable" && node.name === "nodes" && !this.#locals.includes("nodes");
  }

  #variable(name: string, at: Position): Code {
    const slot = this.#locals.lastIndexOf(name);
    if (slot >= 0) return (frame) => frame.locals[slot] as Value;
    const read = this.#variables.get(name);
    if (read === undefined) {
      const type = TYPES.get(name);
      if (type !== undefined) return () => type;
      const known = [...this.#variables.keys()].join(", ");
      throw new CelSyntaxError(`Unknown variable "${name}" (known: ${known}; a node's value is nodes["${name}"])`, at);
    }
    if (name === "nodes") this.#readsAny = true;
    return (frame) => {
      const value = read(frame);
      if (value !== undefined) return value;
      frame.at = at;
      throw failed(`"${name}" exists only ${PLACES[name] ?? "inside a map or a loop"}`);
    };
  }

  /** "a.b.c" if a node consists only of names and dots, because it may be the name of a type. */
  #qualifiedName(node: CelNode): string | undefined {
    if (node.kind === "variable") return this.#locals.includes(node.name) ? undefined : node.name;
    if (node.kind !== "select") return undefined;
    const operand = this.#qualifiedName(node.operand);
    return operand === undefined ? undefined : `${operand}.${node.field}`;
  }

  /** The operand and key of `a.b` or `a["b"]`; records which flow node is read. */
  #access<Operand>(
    node: CelNode<"select" | "index">,
    operandOf: (operand: CelNode) => Operand,
  ): [Operand | Code, Code] {
    if (!this.#isNodes(node.operand)) return [operandOf(node.operand), this.#key(node)];
    if (node.kind === "select") this.#nodesRead.add(node.field);
    else if (node.key.kind === "literal" && typeof node.key.value === "string") this.#nodesRead.add(node.key.value);
    else this.#readsAny = true;
    return [(frame) => frame.scope.nodes, this.#key(node)];
  }

  #key(node: CelNode<"select" | "index">): Code {
    if (node.kind === "index") return this.compile(node.key);
    const { field } = node;
    return () => field;
  }

  #member(node: CelNode<"select" | "index">): Code {
    const qualified = this.#qualifiedName(node);
    if (qualified !== undefined && (this.#variables.has(qualified) || TYPES.has(qualified))) {
      return this.#variable(qualified, node.at);
    }
    const isNodes = this.#isNodes(node.operand);
    const [operand, key] = this.#access(node, (inner) => this.compile(inner));
    const { at } = node;
    return (frame) => {
      const value = operand(frame);
      const name = key(frame);
      const found = findMember(value, name);
      if (found !== undefined) return found;
      frame.at = at;
      return missing(value, name, isNodes, frame.meter);
    };
  }

  /** `has(a.b["c"])`: whether the whole path exists. Unlike standard CEL, it allows an index, and fields of something missing. */
  #has(node: CelNode<"call">): Code {
    const [argument] = node.args;
    if (node.args.length !== 1 || argument === undefined || (argument.kind !== "select" && argument.kind !== "index")) {
      throw new CelSyntaxError('has() needs one field, as in has(nodes["llm-0"].json.name)', node.at);
    }
    const find = this.#finder(argument);
    return (frame) => find(frame) !== undefined;
  }

  #finder(node: CelNode): (frame: Frame) => Value | undefined {
    if (node.kind === "variable" && !this.#locals.includes(node.name)) {
      const read = this.#variables.get(node.name);
      if (read !== undefined && node.name !== "nodes") return read;
    }
    if (node.kind !== "select" && node.kind !== "index") return this.compile(node);
    // These closures return undefined where compiled code would throw.
    const [operand, key] = this.#access(node, (inner) => this.#finder(inner));
    return (frame) => {
      const value = operand(frame);
      return value === undefined ? undefined : findMember(value, key(frame));
    };
  }

  #call(node: CelNode<"call">): Code {
    const { name, target, at } = node;
    if (name === "has" && target === undefined) return this.#has(node);
    const macro = MACROS.get(name);
    if (macro !== undefined && target !== undefined) return this.#macro({ ...node, target }, macro);
    const fn = FUNCTIONS.get(name);
    const counts = target === undefined ? fn?.plain : fn?.method;
    if (fn === undefined || counts === undefined) {
      const method = fn?.method !== undefined || macro !== undefined;
      const hint = method
        ? `: call it on a value, as in value.${name}(...)`
        : fn === undefined
          ? ""
          : `: write ${name}(value)`;
      throw new CelSyntaxError(`Unknown function "${name}"${hint}`, at);
    }
    if (!counts.includes(node.args.length)) throw new CelSyntaxError(`${name}() needs ${counted(counts)}`, at);
    const nodes = target === undefined ? node.args : [target, ...node.args];
    const args = nodes.map((arg) => this.compile(arg));
    const [subject, pattern] = nodes;
    const [text] = args;
    if (name === "matches" && subject && text && pattern?.kind === "literal" && typeof pattern.value === "string") {
      const compiled = compileRegex(pattern.value);
      if (!compiled.ok) throw new CelSyntaxError(compiled.message, pattern.at);
      this.instructions += compiled.regex.instructions;
      return (frame) => {
        const value = text(frame);
        frame.meter.use(1);
        frame.at = subject.at;
        return testLiteralPattern(value, compiled.regex, frame.meter);
      };
    }
    const { apply } = fn;
    return (frame) => {
      const values = args.map((arg) => arg(frame));
      frame.at = at;
      frame.meter.use(ticksOfCall(values));
      const result = apply(values, frame.meter);
      frame.meter.use(ticksOfResult(result));
      return result;
    };
  }

  #macro(node: MethodCall, macro: NonNullable<ReturnType<typeof MACROS.get>>): Code {
    const { name, target, at } = node;
    const [variable, first, second] = node.args;
    if (!macro.args.includes(node.args.length) || variable?.kind !== "variable" || first === undefined) {
      throw new CelSyntaxError(`${name}() needs a variable name and an expression, as in list.${name}(x, ...)`, at);
    }
    const range = this.compile(target);
    if (this.#locals.length >= MAX_MACRO_NESTING) {
      throw new CelSyntaxError(
        `Macros can be nested at most ${MAX_MACRO_NESTING} levels deep: split this over two nodes`,
        at,
      );
    }
    const slot = this.#locals.push(variable.name) - 1;
    const before = this.nodes;
    const parts = {
      range,
      slot,
      first: this.compile(first),
      second: second === undefined ? undefined : this.compile(second),
      ticks: this.nodes - before + 1,
      at,
    };
    this.#locals.pop();
    return macro.make(parts);
  }

  #binary(node: CelNode<"binary">): Code {
    const { operator, at } = node;
    const left = this.compile(node.left);
    if (operator === "&&" || operator === "||") return logicalCode(operator, left, this.compile(node.right), at);
    if (operator === "in" && this.#isNodes(node.right) && node.left.kind === "literal") {
      this.#nodesRead.add(String(node.left.value));
      return (frame) => findMember(frame.scope.nodes, left(frame)) !== undefined;
    }
    const right = this.compile(node.right);
    const apply = OPERATORS[operator];
    return (frame) => {
      const one = left(frame);
      const other = right(frame);
      frame.at = at;
      frame.meter.use(ticksOfOperator(one, other));
      return apply(one, other, frame.meter);
    };
  }
}
