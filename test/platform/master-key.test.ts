import { mkdir, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { existingMasterKeys, masterKeys } from "../../src/platform/secrets/master-key.ts";
import { createSecretBox, generateMasterKey } from "../../src/platform/secrets/seal.ts";
import { scratchDirectory } from "../support/scratch.ts";

describe("the master key", () => {
  it("is created once, in a folder that need not exist, readable for its owner only", async () => {
    const directory = join(scratchDirectory(), "blobs", "here");
    const [key] = await masterKeys(undefined, directory);
    expect(key).toHaveLength(32);
    const { mode } = await stat(join(directory, "master.key"));
    expect(mode & 0o777).toBe(0o600);
    expect(await masterKeys(undefined, directory)).toEqual([key]);
  });

  it("is the same for all callers that need the first one at the same time, and leaves no temporary file", async () => {
    const directory = scratchDirectory();
    const all = await Promise.all(Array.from({ length: 20 }, () => masterKeys(undefined, directory)));
    expect(new Set(all.flat().map((key) => key.toString("hex"))).size).toBe(1);
    expect(await readdir(directory)).toEqual(["master.key"]);
  });

  it.each(["", "not a key\n", `${generateMasterKey()}\n${generateMasterKey()}\n`])(
    "is rejected if its file has other content, which is left unchanged (%#)",
    async (content) => {
      const directory = scratchDirectory();
      const file = join(directory, "master.key");
      await writeFile(file, content);
      await expect(masterKeys(undefined, directory)).rejects.toThrow(`${file} does not contain a master key`);
      expect(await readFile(file, "utf8")).toBe(content);
    },
  );

  it("is not replaced if its file cannot be read", async () => {
    const directory = scratchDirectory();
    await mkdir(join(directory, "master.key"));
    await expect(masterKeys(undefined, directory)).rejects.toThrow("EISDIR");
  });

  it("is the configured one if set, and then no file is created", async () => {
    const directory = scratchDirectory();
    const [fresh, old] = [generateMasterKey(), generateMasterKey()];
    const keys = await masterKeys([fresh, old], directory);
    expect(keys.map((key) => key.toString("base64"))).toEqual([fresh, old]);
    expect(await readdir(directory)).toEqual([]);
  });

  it("is not created by a lookup", async () => {
    const directory = scratchDirectory();
    expect(await existingMasterKeys(undefined, directory)).toBeUndefined();
    expect(await existingMasterKeys(undefined, join(directory, "nowhere"))).toBeUndefined();
    expect(await readdir(directory)).toEqual([]);
    const made = await masterKeys(undefined, directory);
    expect(await existingMasterKeys(undefined, directory)).toEqual(made);
    const configured = generateMasterKey();
    expect(await existingMasterKeys([configured], directory)).toEqual([Buffer.from(configured, "base64")]);
    await writeFile(join(directory, "master.key"), "not a key\n");
    await expect(existingMasterKeys(undefined, directory)).rejects.toThrow("does not contain a master key");
  });

  it("can be replaced: values sealed under the file's key open if that key is configured second", async () => {
    const directory = scratchDirectory();
    const sealed = createSecretBox(await masterKeys(undefined, directory)).seal("secret", "here");
    const old = (await readFile(join(directory, "master.key"), "utf8")).trim();
    const replaced = createSecretBox(await masterKeys([generateMasterKey(), old], directory));
    expect(replaced.open(sealed, "here")).toBe("secret");
  });
});
