import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { circles, codeOf, importsOf, sourceFiles, type Import } from "./support/imports.ts";

/** What a layer may import; anything else fails the test. Patterns match packages, or files by their path from the root. */
interface Layer {
  readonly files: RegExp;
  readonly packages: RegExp;
  readonly layers: RegExp;
  /** Additional imports that are allowed for types only. */
  readonly typesOf?: RegExp;
}

const PURE = /^(zod|fastest-levenshtein|node:util|liquidjs|re2js|acorn|ajv|ajv-formats|yaml|node:crypto)$/;
const LOCAL_NODE =
  "node:(assert|buffer|child_process|crypto|events|fs|fs\\/promises|module|os|path|perf_hooks|stream|stream\\/promises|timers|timers\\/promises|url|util|v8|zlib)";

/** The dependency table of the architecture. A new layer needs a line here; a file that belongs to no layer fails. */
const LAYERS: Readonly<Record<string, Layer>> = {
  domain: { files: /^src\/domain\//, packages: PURE, layers: /^src\/domain\// },
  stores: {
    files: /^src\/stores\//,
    packages: new RegExp(`^(pg|pg-.*|lru-cache|uuidv7|${LOCAL_NODE})$`),
    layers: /^src\/(stores|domain)\//,
  },
  temporal: {
    files: /^src\/temporal\//,
    packages: new RegExp(`^(@temporalio\\/(client|common|worker|proto)|pino|${LOCAL_NODE})$`),
    layers: /^(src\/(temporal|domain)\/|workflows\/messages\.ts$)/,
    typesOf: /^(workflows\/|src\/config\.ts$|src\/platform\/|activities\/|pino$)/,
  },
  platform: {
    files: /^src\/platform\//,
    packages: new RegExp(
      `^(@ai-sdk\\/.*|openid-client|@opentelemetry\\/exporter-trace-otlp-proto|@modelcontextprotocol\\/client|undici|aws4fetch|nodemailer|ipaddr\\.js|lru-cache|csv-parse|pino|prom-client|re2js|node:worker_threads|quickjs-emscripten.*|pdfjs-dist|@napi-rs\\/canvas|htmlparser2|linkedom|@mozilla\\/readability|dingbat-to-unicode|jschardet|numfmt|postal-mime|yauzl|saxes|robots-parser|iconv-lite|zod|uuidv7|franc|onnxruntime-node|@huggingface\\/tokenizers|node:(async_hooks|dns|dns\\/promises|net|tls|http|worker_threads)|${LOCAL_NODE})$`,
    ),
    layers: /^src\/(platform|domain)\//,
    typesOf: /^src\/config\.ts$/,
  },
  api: {
    files: /^src\/api\//,
    packages: new RegExp(
      `^(koa|@koa\\/router|koa-.*|formidable|content-disposition|zod|ajv|ipaddr\\.js|uuidv7|pino|prom-client|node:(http|net)|${LOCAL_NODE})$`,
    ),
    layers: /^src\/(api|services|domain|stores|temporal|platform)\/|^src\/version\.ts$/,
    typesOf: /^src\/config\.ts$/,
  },
  // Shared by the API and the workers: creating, cancelling, resuming and finalising runs, deploying, delivering.
  services: {
    files: /^src\/services\//,
    packages: new RegExp(`^(zod|lru-cache|uuidv7|ipaddr\\.js|rate-limiter-flexible|${LOCAL_NODE})$`),
    layers: /^src\/(services|domain|stores|platform|temporal)\//,
    typesOf: /^src\/config\.ts$/,
  },
  workflows: {
    files: /^workflows\//,
    packages: /^@temporalio\/(workflow|common)$/,
    layers: /^(workflows\/|src\/domain\/|src\/temporal\/ids\.ts$)/,
    typesOf: /^activities\//,
  },
  activities: {
    files: /^activities\//,
    packages: new RegExp(
      `^(@temporalio\\/(activity|common)|pino|uuidv7|ajv|linkedom|@mozilla\\/readability|${LOCAL_NODE})$`,
    ),
    layers: /^(activities\/|src\/(domain|stores|services|platform)\/|src\/temporal\/ids\.ts$)/,
    typesOf: /^src\/config\.ts$/,
  },
  config: {
    files: /^src\/config(-values|-capabilities)?\.ts$/,
    packages: /^(zod|node:fs)$/,
    layers:
      /^src\/domain\/|^src\/config-(values|capabilities)\.ts$|^src\/platform\/(fetch\/address-policy|blobs\/blob-place)\.ts$/,
  },
  // The command line and the development servers combine everything, as the main files do.
  cli: {
    files: /^src\/cli\//,
    packages: new RegExp(
      `^(commander|@commander-js\\/extra-typings|eventsource-parser|yaml|uuidv7|zod|node:http|${LOCAL_NODE})$`,
    ),
    layers: /^src\/(cli|dev|domain|stores|platform|api)\/|^src\/(config|config-values|version)\.ts$|^src\/services\//,
  },
  dev: {
    files: /^src\/dev\//,
    packages: new RegExp(`^(@temporalio\\/(client|testing)|node:(net|http)|${LOCAL_NODE})$`),
    layers:
      /^src\/(dev|cli|domain|stores|platform)\/|^src\/config\.ts$|^src\/services\/accounts\/|^scripts\/lock\.mjs$/,
  },
  version: { files: /^src\/version\.ts$/, packages: /^$/, layers: /^$/ },
  mains: { files: /^src\/([a-z]+-main\.ts$|processes\/)/, packages: /.*/, layers: /.*/ },
};

/** One word per capability, the same in every layer; a new capability needs a word here. */
const CAPABILITIES = [
  "accounts",
  "projects",
  "runs",
  "documents",
  "webhooks",
  "knowledge",
  "evals",
  "providers",
  "models",
  "skills",
  "triggers",
  "audit",
  "pages",
];

/** Files besides the services that combine capabilities, each with the reason. */
const COMPOSITION: ReadonlyArray<readonly [RegExp, string]> = [
  [/^src\/([a-z]+-main\.ts$|processes\/)/, "the mains open everything and hand it on"],
  [/^src\/(cli|dev)\//, "the command line and `npm start` are mains in pieces; they work on the database directly"],
  [/^src\/api\/(operations|app|deps)\.ts$/, "the list of all capabilities, and what their operations share"],
  [/^activities\/(create|local-activities)\.ts$/, "the list of the capabilities whose activities run beside workflows"],
  [/^workflows\/(index|activities)\.ts$/, "the list of all workflows, and of the activities they call"],
  [/^src\/services\/system\//, "how the whole installation stands, for metrics and the doctor"],
  [/^src\/services\/parts\.ts$/, "the parts that a process gives to all capabilities"],
  [/^src\/services\/projects\/flow-references\.ts$/, "one place looks up all that flows refer to"],
  [/^src\/(services|stores)\/secrets\//, "every sealed column of the database, whatever it belongs to"],
  [/^src\/services\/accounts\/quotas\.ts$/, "what an organisation uses, whatever it belongs to"],
  [/^src\/services\/erasures\//, "one erasure removes all of a user, whatever it belongs to"],
  [/^src\/(api|services)\/pages\//, "a page is a door to a flow's runs, documents and conversations"],
];

/** The capability of a file, by its folder; the engine belongs to runs. */
function capabilityOf(file: string): string | undefined {
  const [, , folder] = /^(src\/(?:domain|stores|services|api)|workflows|activities)\/([\w-]+)\//.exec(file) ?? [];
  if (folder === "engine") return "runs";
  return folder !== undefined && CAPABILITIES.includes(folder) ? folder : undefined;
}

const files = sourceFiles("src", "workflows", "activities");
const imports = files.flatMap(importsOf);
const valueImports = imports.filter((each) => !each.typeOnly);
const layerOf = (file: string): Layer | undefined => Object.values(LAYERS).find((layer) => layer.files.test(file));
const lines = (found: readonly Import[]): string[] => found.map((each) => `${each.from} → ${each.to}`);

describe("layer boundaries", () => {
  it("puts every file into one layer", () => {
    expect(files.filter((file) => layerOf(file) === undefined)).toEqual([]);
    expect(files.length).toBeGreaterThan(50);
  });

  for (const [name, layer] of Object.entries(LAYERS)) {
    it(`lets ${name} import what the architecture allows and nothing else`, () => {
      const refused = imports.filter((each) => {
        if (!layer.files.test(each.from)) return false;
        if (each.typeOnly && layer.typesOf?.test(each.to) === true) return false;
        return !(each.isFile ? layer.layers : layer.packages).test(each.to);
      });
      expect(lines(refused)).toEqual([]);
    });
  }

  it("lets a capability be imported by others only through its service", () => {
    const open = /^src\/(domain|services)\//;
    const refused = imports.filter(({ from, to }) => {
      const capability = capabilityOf(to);
      if (capability === undefined || capability === capabilityOf(from) || open.test(to)) return false;
      return !COMPOSITION.some(([composing]) => composing.test(from));
    });
    expect(lines(refused)).toEqual([]);
    expect(imports.filter(({ from, to }) => capabilityOf(from) && capabilityOf(to)).length).toBeGreaterThan(50);
  });

  it("lets only what lists the capabilities import the index.ts of each", () => {
    const hubs: ReadonlyArray<readonly [index: RegExp, hub: RegExp]> = [
      [/^src\/api\/\w+\/index\.ts$/, /^src\/api\/operations\.ts$/],
      [/^activities\/\w+\/index\.ts$/, /^(activities\/create\.ts$|src\/([a-z]+-main\.ts$|processes\/))/],
      [/^src\/cli\/\w+\/index\.ts$/, /^src\/cli\/command-line\.ts$/],
    ];
    for (const [index, hub] of hubs) {
      const used = imports.filter(({ to }) => index.test(to));
      expect(new Set(used.map(({ to }) => to))).toEqual(new Set(files.filter((file) => index.test(file))));
      expect(lines(used.filter(({ from }) => !hub.test(from)))).toEqual([]);
    }
  });

  it("keeps short what lists the capabilities", () => {
    const hubs = [
      "src/api/operations.ts",
      "activities/create.ts",
      "src/cli/command-line.ts",
      "src/services/system/doctor.ts",
      "web/routes.tsx",
    ];
    const long = hubs.filter((hub) => readFileSync(hub, "utf8").split("\n").length > 61);
    expect(long).toEqual([]);
  });

  it("has no circular imports, type imports included", () => {
    expect(circles(files)).toEqual([]);
  });

  it("lets no other file import the main module of a process", () => {
    const main = /^src\/([a-z]+-main\.ts$|processes\/)/;
    const everywhere = sourceFiles("src", "workflows", "activities", "test", "bench").flatMap(importsOf);
    expect(lines(everywhere.filter(({ from, to, isFile }) => isFile && main.test(to) && !main.test(from)))).toEqual([]);
    expect(lines(everywhere.filter(({ to, isFile }) => isFile && to.endsWith("-main.ts")))).toEqual([]);
  });

  it("imports the SQL driver in the stores only", () => {
    expect(lines(imports.filter((each) => each.to === "pg" && !each.from.startsWith("src/stores/")))).toEqual([]);
  });

  it("opens outbound connections in the guarded fetch only", () => {
    const GUARDED = /^src\/platform\/fetch\//;
    const clients = /^(undici|node:(http|https|http2|net|tls|dgram|dns|dns\/promises))$/;
    // Listening and parsing addresses open no connections. The command line and `npm start` connect to Millrace's own servers.
    const exempt = /^(src\/(dev|cli)\/|src\/[a-z]+-main\.ts$)/;
    const listens = /^(src\/api\/|src\/platform\/(metrics|health|probe)[a-z-]*\.ts$)/;
    const names = (each: Import): boolean =>
      (listens.test(each.from) && each.to === "node:http") ||
      (/^(src\/api|src\/platform)\//.test(each.from) && each.to === "node:net");
    const refused = valueImports.filter(
      (each) => clients.test(each.to) && !GUARDED.test(each.from) && !exempt.test(each.from) && !names(each),
    );
    expect(lines(refused)).toEqual([]);
    // Matches calls of the global fetch, but not parameters named fetch.
    const callsFetch = (code: string): boolean => /(?<![\w.])fetch\(/.test(code) && !/\bfetch\??:/.test(code);
    expect(files.filter((file) => !GUARDED.test(file) && !exempt.test(file) && callsFetch(codeOf(file)))).toEqual([]);
  });

  it("lets no file send mail over nodemailer's own connections", () => {
    const used = new Set(imports.filter(({ to }) => to === "nodemailer").map(({ from }) => from));
    expect([...used].filter((file) => !file.startsWith("src/platform/mail/"))).toEqual([]);
    expect(files.filter((file) => /from "nodemailer"/.test(codeOf(file)))).toEqual([]);
  });

  it("reads the environment in config.ts only", () => {
    const readers = files.filter((file) => /\bprocess\.env\b/.test(codeOf(file)));
    expect(readers.filter((file) => !/^src\/(config\.ts|cli\/.*|dev\/.*)$/.test(file))).toEqual([]);
  });

  it("keeps mutable state out of modules that workflows share", () => {
    // Modules are loaded once per process, so state would be shared by all workflows and never freed.
    const state =
      /^(?:export )?(?:let |const \w+(?: = new (?:Map|Set)\b|: (?:Map|Set|Array)<|: (?!readonly )[^=]*\[\] = \[\]))/m;
    const shared = files.filter((file) => /^(workflows|src\/domain)\//.test(file));
    expect(shared.filter((file) => state.test(codeOf(file)))).toEqual([]);
  });

  it("keeps zod, Node modules and client libraries out of the code that workflows load", () => {
    const reached = new Map<string, string>();
    const visit = (file: string, by: string): void => {
      if (reached.has(file)) return;
      reached.set(file, by);
      for (const each of importsOf(file)) if (each.isFile && !each.typeOnly) visit(each.to, file);
    };
    visit("workflows/index.ts", "");
    const allowed = /^(@temporalio\/(workflow|common)|liquidjs|re2js)$/;
    const refused = [...reached.keys()]
      .flatMap(importsOf)
      .filter((each) => !each.isFile && !each.typeOnly && !allowed.test(each.to));
    expect(lines(refused)).toEqual([]);
  });
});

/** What each folder of the console may import from other folders and packages. Files may import from their own folder, except pages. */
const WEB: ReadonlyArray<readonly [files: RegExp, packages: RegExp, folders: RegExp]> = [
  [/^web\/main\.tsx$/, /^(react|react-dom|react-router|@tanstack\/react-query)$/, /^web\/(api\/|shell\/|theme\/)/],
  [/^web\/routes\.tsx$/, /^react$/, /^web\/(page\.ts$|pages\/\w+\/index\.ts$|pages\/reference\/)/],
  [/^web\/page\.ts$/, /^react$/, /^web\/parts\/icons\.tsx$/],
  [/^web\/pages\/\w+\/index\.ts$/, /^$/, /^web\/(page\.ts$|pages\/)/],
  [/^web\/links\.ts$/, /^$/, /^$/],
  [
    /^web\/shell\//,
    /^(react|react-router|@tanstack\/react-query)$/,
    /^web\/(shell\/|api\/|parts\/|(links\.ts|page\.ts|routes\.tsx)$)/,
  ],
  [
    /^web\/pages\/editor\/canvas\//,
    /^(react|react-router|@tanstack\/react-query|@xyflow\/react)$/,
    /^web\/(pages\/|api\/|parts\/|flow\/|links\.ts$)/,
  ],
  [
    /^web\/pages\//,
    /^(react|react-router|@tanstack\/react-query)$/,
    /^web\/(pages\/|api\/|parts\/|flow\/|chat\/|links\.ts$)/,
  ],
  [/^web\/flow\/layout\//, /^@dagrejs\/dagre$/, /^web\/flow\//],
  [/^web\/flow\//, /^$/, /^web\/flow\//],
  [/^web\/chat\//, /^react$/, /^web\/(chat|parts\/markdown)\//],
  // Nothing of the console is in published pages but shared parts, and what an error response means.
  [/^web\/published\/main\.tsx$/, /^react-dom$/, /^web\/(published|theme)\//],
  [/^web\/published\//, /^(react|eventsource-parser)$/, /^web\/(published\/|chat\/|parts\/|api\/problem\.ts$)/],
  [/^web\/api\//, /^(react|@tanstack\/react-query|openapi-fetch)$/, /^web\/api\//],
  [/^web\/marks\//, /^react$/, /^$/],
  [/^web\/parts\/graph\//, /^(react|@xyflow\/react)$/, /^web\/(parts|theme|flow)\//],
  [/^web\/parts\/diff\//, /^react$/, /^web\/(parts|theme|flow)\//],
  [/^web\/parts\/code\//, /^(react|@codemirror\/[a-z-]+|@lezer\/highlight)$/, /^web\/(parts|theme)\//],
  [/^web\/parts\//, /^react$/, /^web\/(parts|theme)\//],
];

/** The command line shows texts, and the API reads numbers, knows what a chat is and writes the code of a call, as the console does. */
const SHARED: readonly string[] = [
  "src/domain/marks.ts",
  "src/domain/exact-json.ts",
  "src/domain/pages/chat-ends.ts",
  "src/domain/flow/io/call-code.ts",
  "src/domain/flow/io/literals.ts",
];

describe("boundaries of the console", () => {
  const web = sourceFiles("web");
  const made = web.flatMap(importsOf);

  it("lets each folder import what the layout allows and nothing else", () => {
    const refused = made.filter(({ from, to, isFile }) => {
      if (SHARED.includes(to)) return false;
      const [, packages, folders] = WEB.find(([own]) => own.test(from)) ?? [];
      return !(isFile ? folders : packages)?.test(to);
    });
    expect(lines(refused)).toEqual([]);
    expect(made.length).toBeGreaterThan(100);
  });

  it("lets no page import pages of another capability, and no server code import the console", () => {
    const pageOf = (file: string): string | undefined => /^web\/pages\/([\w-]+)\//.exec(file)?.[1];
    const refused = made.filter(
      ({ from, to }) => pageOf(from) !== undefined && pageOf(to) !== undefined && pageOf(from) !== pageOf(to),
    );
    expect(lines(refused)).toEqual([]);
    expect(lines(imports.filter(({ to }) => to.startsWith("web/")))).toEqual([]);
  });

  it("loads each page as a chunk of its own, and lets only the router import the lists of pages", () => {
    const list = /^web\/pages\/\w+\/index\.ts$/;
    expect(lines(made.filter(({ from, to }) => list.test(to) && from !== "web/routes.tsx"))).toEqual([]);
    const texts = web.filter((file) => list.test(file)).map((file) => codeOf(file));
    expect(texts.filter((code) => /^import (?!\{ page \} from)/m.test(code))).toEqual([]);
    expect(texts.length).toBeGreaterThan(10);
  });

  it("has no circular imports, and never inserts text as HTML", () => {
    expect(circles(web)).toEqual([]);
    expect(web.filter((file) => /dangerouslySetInnerHTML|innerHTML|insertAdjacentHTML/.test(codeOf(file)))).toEqual([]);
  });
});
