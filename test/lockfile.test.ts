import { readFileSync } from "node:fs";
import { expect, it } from "vitest";

interface LockFile {
  readonly packages: Readonly<Record<string, { readonly optionalDependencies?: Readonly<Record<string, string>> }>>;
}

// `npm ci` refuses a lock file that lacks an optional package, also one of another platform. npm writes such a file when
// the registry it asks does not (yet) have that package; then pin a version whose packages are all there. That is why
// package.json overrides @swc/core.
it("locks the optional packages of every platform, so that npm ci works on each", () => {
  const { packages } = JSON.parse(readFileSync(new URL("../package-lock.json", import.meta.url), "utf8")) as LockFile;
  const missing = Object.entries(packages).flatMap(([path, { optionalDependencies = {} }]) =>
    Object.keys(optionalDependencies).filter(
      (name) => !(`node_modules/${name}` in packages) && !(`${path}/node_modules/${name}` in packages),
    ),
  );
  expect(missing).toEqual([]);
});
