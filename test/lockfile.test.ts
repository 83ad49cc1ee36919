import { readFileSync } from "node:fs";
import { expect, it } from "vitest";

interface LockFile {
  readonly packages: Readonly<Record<string, { readonly optionalDependencies?: Readonly<Record<string, string>> }>>;
}

// `npm ci` rejects a lock file that lacks an optional package, even one for another platform. npm writes such a file if
// its registry does not have that package (yet); then pin a version whose packages all exist. That is why package.json
// overrides @swc/core.
it("includes the optional packages of every platform, so that npm ci works on each", () => {
  const { packages } = JSON.parse(readFileSync(new URL("../package-lock.json", import.meta.url), "utf8")) as LockFile;
  const missing = Object.entries(packages).flatMap(([path, { optionalDependencies = {} }]) =>
    Object.keys(optionalDependencies).filter(
      (name) => !(`node_modules/${name}` in packages) && !(`${path}/node_modules/${name}` in packages),
    ),
  );
  expect(missing).toEqual([]);
});
