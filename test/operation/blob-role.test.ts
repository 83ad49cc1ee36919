import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { flow, openBench } from "../engine/support.ts";
import { findS3Program, startS3Server } from "../support/s3-server.ts";
import { scratchDirectory } from "../support/scratch.ts";
import { startService } from "../support/service.ts";
import { startRoleGate, startStsServer } from "../support/sts-server.ts";

const program = await findS3Program();
const ROLE = "arn:aws:iam::123456789012:role/millrace-blobs";
const TOKEN = "eyJ.token-of-the-pod";

it.skipIf("no" in program)(
  "api and worker store blobs in S3 with the role that EKS sets, without a key",
  async () => {
    if ("no" in program) return;
    const [s3, sts] = await Promise.all([startS3Server(program.path, scratchDirectory()), startStsServer()]);
    const gate = await startRoleGate(s3, sts);
    onTestFinished(async () => {
      await Promise.all([gate.close(), sts.close(), s3.close()]);
    });
    const tokenFile = join(scratchDirectory(), "token");
    writeFileSync(tokenFile, TOKEN);
    sts.trust(ROLE, TOKEN);
    const service = await startService({
      env: {
        MILLRACE_BLOB_URL: `s3://blobs/installation?endpoint=${gate.endpoint}`,
        AWS_ROLE_ARN: ROLE,
        AWS_WEB_IDENTITY_TOKEN_FILE: tokenFile,
        AWS_REGION: "eu-central-1",
        AWS_ENDPOINT_URL_STS: sts.url,
        // Only the worker computes outputs.
        MILLRACE_API_WORKER: "false",
      },
    });
    onTestFinished(() => service.close());
    const bench = await openBench(service);
    // Too long for a run's row, so the API stores the inputs as a blob and the worker the outputs.
    const long = "long ".repeat(80_000);
    const run = await bench.run(
      flow(
        [
          { id: "in-0", type: "input" },
          { id: "tpl-0", type: "template", config: { template: "{{ in-0 }}!" } },
          { id: "out-0", type: "output" },
        ],
        ["in-0>tpl-0", "tpl-0>out-0"],
      ),
      { "in-0": long },
    );
    expect(run).toMatchObject({ state: "COMPLETED", error: null, outputs: { "out-0": `${long}!` } });
    // Two blobs are written; the worker reads the inputs, the API the outputs.
    expect(gate.passed()).toBeGreaterThan(3);
    // Each of the two processes has requested credentials once.
    expect(sts.forms.map((form) => form["RoleArn"])).toEqual([ROLE, ROLE]);
    expect(service.logs()).not.toContain(TOKEN);
  },
  120_000,
);
