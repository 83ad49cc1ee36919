import { tests as conformance } from "@bufbuild/cel-spec/testdata/conformance.js";
import { describe, expect, it } from "vitest";
import { CelCompiler } from "../../../../src/domain/flow/expressions/cel/compiler.ts";
import { Meter } from "../../../../src/domain/flow/expressions/cel/limits.ts";
import { parseCel } from "../../../../src/domain/flow/expressions/cel/parser.ts";
import { parseDuration, parseTimestamp } from "../../../../src/domain/flow/expressions/cel/time.ts";
import {
  equalValues,
  isMapKey,
  makeMap,
  TypeName,
  type Value,
} from "../../../../src/domain/flow/expressions/cel/values.ts";
import { scope } from "../../../support/scope.ts";

/** A value in the format of the test data: one field, named by its type. */
type Encoded = Readonly<Record<string, unknown>>;

interface ConformanceTest {
  readonly name: string;
  readonly expr: string;
  /** If absent, the expected value is true. */
  readonly value?: Encoded;
  /** If present, evaluation must fail. */
  readonly evalError?: unknown;
  readonly bindings?: Readonly<Record<string, { readonly value: Encoded }>>;
}

interface Suite {
  readonly name: string;
  readonly suites?: readonly Suite[];
  readonly tests?: ReadonlyArray<{ readonly original: object }>;
}

/** The sections of the official conformance tests that Millrace claims to support. */
const CLAIMED = [
  ..."basic comparisons conversions fields fp_math integer_math lists logic macros parse plumbing".split(" "),
  ..."string string_ext timestamps".split(" "),
];

/** Language features in those sections that Millrace does not support. */
const OUT_OF_SCOPE: ReadonlyArray<readonly [reason: string, expression: RegExp]> = [
  ["Values are JSON: there are no protobuf messages, wrappers and enums", /TestAllTypes|google\.protobuf\.\w*Value/],
  ["Of the string extension, texts are not formatted or quoted", /\.format\(|strings\.quote\(/],
];

/** Tests whose result differs on purpose. Each must keep differing, or its row is out of date. */
const DIFFERENCES: ReadonlyArray<readonly [reason: string, expression: RegExp]> = [
  [
    "JSON has no unsigned numbers: a uint is an int that is not negative, of 63 bits",
    /(?<!int\()(9223372036854775808|18446744073709551615)u(?! \+)|-\(\d+u\)|0u - |^type\(7\) == type\(7u\)/,
  ],
  ["JSON has neither NaN nor infinity: dividing by zero fails, as it does for integers", /\/ 0\.0(?!\d)|0\.0\/0\.0/],
  [
    "int and double are compared exactly, not after rounding the int",
    /^dyn\(9223372036854775807\) (<|>=) 922337203685477580[78]\.0|^dyn\(9223372036854775808\.0\) (>|<=) 9223372036854775807$/,
  ],
  [
    "Names that do not exist are refused when a flow is deployed, not when it runs",
    /^(x|f_unknown\(17\)|a\.\w+\(\)) \|\| true$/,
  ],
];

const testsOf = (suite: Suite, path: string): Array<readonly [path: string, test: ConformanceTest]> => [
  ...(suite.tests ?? []).map(({ original }) => {
    const test = original as ConformanceTest;
    return [`${path}/${test.name}`, test] as const;
  }),
  ...(suite.suites ?? []).flatMap((inner) => testsOf(inner, `${path}/${inner.name}`)),
];

const valueOf = (encoded: Encoded): Value => {
  const [[type, raw] = []] = Object.entries(encoded);
  switch (type) {
    case "int64Value":
    case "uint64Value":
      return BigInt(raw as string);
    case "doubleValue":
      return Number(raw);
    case "stringValue":
    case "boolValue":
      return raw as string | boolean;
    case "nullValue":
      return null;
    case "bytesValue":
      return Uint8Array.from(Buffer.from(raw as string, "base64"));
    case "typeValue":
      return new TypeName(raw === "uint" ? "int" : (raw as string));
    case "listValue":
      return ((raw as { readonly values?: readonly Encoded[] }).values ?? []).map(valueOf);
    case "mapValue": {
      const { entries = [] } = raw as { readonly entries?: ReadonlyArray<Record<"key" | "value", Encoded>> };
      return makeMap(
        entries.map(({ key, value }) => {
          const name = valueOf(key);
          if (!isMapKey(name)) throw new Error("not a key");
          return [name, valueOf(value)] as const;
        }),
      ) as Value;
    }
    case "objectValue": {
      const { "@type": name, value } = raw as { readonly "@type": string; readonly value: string };
      if (name.endsWith("/google.protobuf.Timestamp")) return parseTimestamp(value);
      if (name.endsWith("/google.protobuf.Duration")) return parseDuration(value);
      throw new Error(`no message of type ${name} is a value here`);
    }
    default:
      throw new Error(`no value of CEL here: ${JSON.stringify(encoded)}`);
  }
};

const evaluate = ({ expr, bindings = {} }: ConformanceTest): Value => {
  const variables = new Map(
    Object.entries(bindings).map(([name, { value }]) => {
      const bound = valueOf(value);
      return [name, () => bound] as const;
    }),
  );
  return new CelCompiler(variables).compile(parseCel(expr))({ scope: scope(), meter: new Meter(), locals: [], at: 0 });
};

/** Compares types as well; NaN is the only double that does not equal itself. */
const isSame = (got: Value, expected: Value): boolean =>
  typeof got === typeof expected && (Object.is(got, expected) || equalValues(got, expected, new Meter()));

const holds = (test: ConformanceTest): boolean => {
  let got: Value;
  try {
    got = evaluate(test);
  } catch {
    return test.evalError !== undefined;
  }
  return test.evalError === undefined && isSame(got, valueOf(test.value ?? { boolValue: true }));
};

const reasonFor = (table: typeof DIFFERENCES, { expr }: ConformanceTest): string | undefined =>
  table.find(([, expression]) => expression.test(expr.replace(/\s+/g, " ")))?.[0];

describe("the official conformance tests of CEL", () => {
  const all = (conformance.suites as readonly Suite[]).flatMap((suite) => testsOf(suite, suite.name));
  const inClaimed = all.filter(([path]) => CLAIMED.includes(path.slice(0, path.indexOf("/"))));
  const inScope = inClaimed.filter(([, test]) => reasonFor(OUT_OF_SCOPE, test) === undefined);
  const same = inScope.filter(([, test]) => reasonFor(DIFFERENCES, test) === undefined);
  const different = inScope.filter(([, test]) => reasonFor(DIFFERENCES, test) !== undefined);

  it.each(CLAIMED)("pass: %s", (section) => {
    const tests = same.filter(([path]) => path.startsWith(`${section}/`));
    expect(tests.length).toBeGreaterThan(0);
    expect(tests.filter(([, test]) => !holds(test)).map(([path, { expr }]) => `${path}: ${expr}`)).toEqual([]);
  });

  it.each(DIFFERENCES)("differ on purpose: %s", (reason) => {
    const tests = different.filter(([, test]) => reasonFor(DIFFERENCES, test) === reason);
    expect(tests.length).toBeGreaterThan(0);
    expect(tests.filter(([, test]) => holds(test)).map(([path, { expr }]) => `${path}: ${expr}`)).toEqual([]);
  });

  it("match the documented numbers of passing, differing and out-of-scope tests", () => {
    expect({
      all: all.length,
      inClaimedSections: inClaimed.length,
      hold: same.length,
      different: different.length,
      outOfScope: inClaimed.length - inScope.length,
    }).toEqual({ all: 2344, inClaimedSections: 1385, hold: 1120, different: 54, outOfScope: 211 });
  });
});
