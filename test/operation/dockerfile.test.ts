import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { environmentSchema } from "../../src/config.ts";
import {
  CHECKOUT,
  commandOf,
  copiesOf,
  imageEnvironment,
  readDockerfile,
  stageOf,
  textsOf,
} from "../support/dockerfile.ts";
import { importsOf, sourceFiles } from "../support/imports.ts";

interface Manifest {
  readonly dependencies: Readonly<Record<string, string>>;
  readonly optionalDependencies: Readonly<Record<string, string>>;
  readonly engines: { readonly node: string };
}

const image = stageOf(undefined);
const read = (name: string): string => readFileSync(join(CHECKOUT, name), "utf8");

describe("the image", () => {
  it("copies only named files, and the build context contains no others", () => {
    const ignored = read(".dockerignore")
      .split("\n")
      .filter((line) => line !== "" && !line.startsWith("#"));
    expect(ignored[0]).toBe("*");
    const sources = readDockerfile().flatMap((stage) => copiesOf(stage).filter(({ from }) => from === undefined));
    expect(new Set(ignored.slice(1))).toEqual(new Set(sources.map(({ source }) => `!${source}`)));
    expect(sources.filter(({ source }) => !existsSync(join(CHECKOUT, source)))).toEqual([]);
    expect(readDockerfile().flatMap((stage) => textsOf(stage, "ADD"))).toEqual([]);
  });

  it("has only production packages, and all packages that the code imports", () => {
    const copies = copiesOf(image);
    expect(copies.filter(({ target }) => target === "node_modules")).toEqual([
      { from: "packages", source: "/app/node_modules", target: "node_modules" },
    ]);
    expect(copies.filter(({ from }) => from === "build").map(({ target }) => target)).toEqual(["dist"]);
    expect(textsOf(stageOf("packages"), "RUN").join()).toMatch(/^npm ci --omit=dev /);

    const { dependencies, optionalDependencies } = JSON.parse(read("package.json")) as Manifest;
    const installed = new Set([...Object.keys(dependencies), ...Object.keys(optionalDependencies)]);
    const imported = sourceFiles("src", "workflows", "activities")
      // Only `npm start` uses this file.
      .filter((file) => file !== "src/dev/download-temporal.ts")
      .flatMap(importsOf)
      .filter(({ isFile, typeOnly, to }) => !isFile && !typeOnly && !to.startsWith("node:"));
    expect(imported.length).toBeGreaterThan(100);
    expect(imported.filter(({ to }) => !installed.has(to))).toEqual([]);
  });

  it("runs as an unprivileged user that owns only the volume", () => {
    const words = image.instructions.map(({ word }) => word);
    expect(textsOf(image, "USER")).toEqual(["node"]);
    // Files copied or created before USER belong to root.
    expect(words.slice(words.indexOf("USER") + 1)).not.toEqual(expect.arrayContaining(["COPY"]));
    expect(words.slice(words.indexOf("USER") + 1)).not.toEqual(expect.arrayContaining(["RUN"]));
    expect(image.instructions.map(({ text }) => text).join("\n")).not.toContain("--chown");
    const [volume = ""] = textsOf(image, "VOLUME");
    expect(imageEnvironment()["MILLRACE_BLOB_URL"]).toBe(`${volume}/blobs`);
    expect(textsOf(image, "RUN")).toEqual([
      `mkdir -p "$MILLRACE_BLOB_URL" /var/backups/millrace && chown -R node:node ${volume} /var/backups/millrace`,
    ]);
    // Changes to a folder are lost if they come after its VOLUME line.
    expect(words.indexOf("RUN")).toBeLessThan(words.indexOf("VOLUME"));
  });

  it("starts processes without a shell so that signals reach them, on a supported Node version", () => {
    expect(commandOf(image, "CMD")).toEqual(["node", "dist/src/api-main.js"]);
    expect(textsOf(image, "HEALTHCHECK")[0]).toMatch(/^--interval=\d+s --timeout=\d+s --start-period=\d+s CMD \[/);
    const bases = new Set(readDockerfile().map(({ base }) => base));
    expect([...bases]).toEqual([expect.stringMatching(/^node:\d+-slim$/)]);
    const { engines } = JSON.parse(read("package.json")) as Manifest;
    const oldest = Number(/\d+/.exec(engines.node)?.[0]);
    expect(Number(/\d+/.exec([...bases][0] ?? "")?.[0])).toBeGreaterThanOrEqual(oldest);
  });

  it("has no secret, and sets only existing variables", () => {
    const settings = Object.keys(imageEnvironment()).filter((name) => name.startsWith("MILLRACE_"));
    expect(Object.keys(environmentSchema.shape)).toEqual(expect.arrayContaining(settings));
    const text = read("Dockerfile");
    expect(text).not.toMatch(/\b(?:ARG|ENV)\b[^#\n]*(?:PASSWORD|SECRET|TOKEN|_KEY)/i);
    expect(imageEnvironment()).toMatchObject({ NODE_ENV: "production" });
  });
});
