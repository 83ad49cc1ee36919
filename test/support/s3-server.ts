import { execFile, spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { homedir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { whileInstalling } from "../../src/dev/install-lock.ts";
import { eventually } from "./scratch.ts";

const PACKAGE = "github.com/versity/versitygw/cmd/versitygw@v1.8.0";
const BIN = join(homedir(), ".cache", "millrace", "bin");

/** A server that implements the S3 protocol, with one empty bucket. */
export interface S3Server {
  /** The value of MILLRACE_BLOB_URL. */
  readonly url: string;
  readonly endpoint: string;
  readonly credentials: { readonly accessKeyId: string; readonly secretAccessKey: string };
  close(): Promise<void>;
}

/** The program versitygw: from the cache, or built with Go, which takes one to three minutes; otherwise the reason why neither works. */
export async function findS3Program(): Promise<{ readonly path: string } | { readonly no: string }> {
  const path = join(BIN, "versitygw");
  if (existsSync(path)) return { path };
  mkdirSync(BIN, { recursive: true });
  // Test files that need it run in parallel, so a lock prevents concurrent builds.
  return whileInstalling(join(BIN, ".versitygw.lock"), async () =>
    existsSync(path) ? { path } : buildS3Program(path),
  );
}

async function buildS3Program(path: string): Promise<{ readonly path: string } | { readonly no: string }> {
  const folder = mkdtempSync(join(BIN, "build-"));
  const env = { ...process.env, GOBIN: folder, CGO_ENABLED: "0", GOFLAGS: "-p=2" };
  try {
    await promisify(execFile)("go", ["install", "-ldflags=-s -w", PACKAGE], { env });
    renameSync(join(folder, "versitygw"), path);
    return { path };
  } catch (error) {
    return { no: `${path} is not there, and Go does not build it: ${(error as Error).message.slice(0, 300)}` };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Starts the server on a free port, with its state in `directory`. */
export async function startS3Server(program: string, directory: string): Promise<S3Server> {
  const credentials = { accessKeyId: "test-key", secretAccessKey: "test-secret" };
  const [data, metadata] = [join(directory, "data"), join(directory, "metadata")];
  // A top-level folder is a bucket.
  mkdirSync(join(data, "blobs"), { recursive: true });
  mkdirSync(metadata, { recursive: true });
  const port = await freePort();
  // Metadata is stored in a separate folder, because not every file system has extended attributes.
  const child = spawn(program, ["--quiet", "--port", `127.0.0.1:${port}`, "posix", "--sidecar", metadata, data], {
    env: { ...process.env, ROOT_ACCESS_KEY: credentials.accessKeyId, ROOT_SECRET_KEY: credentials.secretAccessKey },
    stdio: "ignore",
  });
  const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  const endpoint = `http://127.0.0.1:${port}`;
  await eventually("the S3 server answers", () =>
    fetch(endpoint).then(
      () => true,
      () => false,
    ),
  );
  return {
    endpoint,
    url: `s3://blobs/a/prefix?endpoint=${endpoint}`,
    credentials,
    async close() {
      child.kill("SIGKILL");
      await ended;
    },
  };
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
