// Runs as a separate process and makes the SDK's testing package download its development server into the given folder. The package knows
// the download URL and format, but offers the download only as part of starting a server.
import { pathToFileURL } from "node:url";

const folder = process.argv[2];
if (folder === undefined || import.meta.url !== pathToFileURL(process.argv[1] ?? "").href) {
  throw new Error("usage: download-temporal <folder>");
}
try {
  const { TestWorkflowEnvironment } = await import("@temporalio/testing");
  const environment = await TestWorkflowEnvironment.createLocal({
    server: { executable: { type: "cached-download", downloadDir: folder } },
  });
  await environment.teardown();
} catch (error) {
  const message = error instanceof Error ? error.message : String(error);
  // The SDK repeats the URL in each layer of the cause.
  process.stderr.write(`${message.replaceAll(/ for url \([^()]*\)/g, "")}\n`, () => process.exit(1));
}
