import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { loadConfig } from "../../../src/config.ts";
import { parseBlobPlace } from "../../../src/platform/blobs/blob-place.ts";
import { blobExists, isBlobOutage, openBlobStore } from "../../../src/platform/blobs/blobs.ts";
import { credentialsOf, renewing, stsAddress } from "../../../src/platform/s3/credentials.ts";
import type { CredentialConfig } from "../../../src/platform/s3/credentials.ts";
import { webIdentityCredentials } from "../../../src/platform/s3/role-credentials.ts";
import { blobs as checkBlobs } from "../../../src/services/system/checks/blobs.ts";
import { startHttpTarget } from "../../support/http-target.ts";
import { findS3Program, startS3Server } from "../../support/s3-server.ts";
import type { S3Server } from "../../support/s3-server.ts";
import { startRoleGate, startStsServer } from "../../support/sts-server.ts";
import type { StsServer } from "../../support/sts-server.ts";

const program = await findS3Program();
const ORG = "018f0000-0000-7000-8000-000000000001";
const ROLE = "arn:aws:iam::123456789012:role/millrace-blobs";
const MINUTE = 60_000;

const folder = mkdtempSync(join(tmpdir(), "millrace-roles-"));
const tokenFile = join(folder, "token");
let sts: StsServer;
beforeEach(async () => {
  sts = await startStsServer();
  giveToken("eyJ.first.token");
});
afterEach(() => sts.close());
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** As the kubelet does it: the file has another token, and STS takes no other. */
function giveToken(token: string): void {
  writeFileSync(tokenFile, `${token}\n`);
  sts.trust(ROLE, token);
}
const identity = () => ({
  AWS_ROLE_ARN: ROLE,
  AWS_WEB_IDENTITY_TOKEN_FILE: tokenFile,
  AWS_ENDPOINT_URL_STS: sts.url,
  AWS_REGION: "eu-central-1",
});
const failureOf = (work: Promise<unknown>): Promise<Error> =>
  work.then(
    () => new Error("it succeeded"),
    (error: Error) => error,
  );

describe.skipIf("no" in program)(
  `blobs of a role${"no" in program ? `: ${program.no}` : ""}`,
  { timeout: 120_000 },
  () => {
    let s3: S3Server;
    beforeAll(async () => {
      if ("no" in program) return;
      s3 = await startS3Server(program.path, folder);
    });
    afterAll(() => s3?.close());

    async function open(who: CredentialConfig = identity()) {
      const gate = await startRoleGate(s3, sts);
      const blobs = await openBlobStore({
        MILLRACE_BLOB_URL: parseBlobPlace(`s3://blobs/a/prefix?endpoint=${gate.endpoint}`),
        ...who,
      });
      onTestFinished(async () => {
        await blobs.close();
        await gate.close();
      });
      return { blobs, gate };
    }
    const put = ({ blobs }: Awaited<ReturnType<typeof open>>, text: string) =>
      blobs.put(ORG, Buffer.from(text), { maxBytes: 1000 });

    it("are stored with credentials of STS: asked for once, and their token is signed", async () => {
      const opened = await open();
      const release = sts.hold();
      const putting = Promise.all(Array.from({ length: 20 }, (_, index) => put(opened, `blob ${index}`)));
      await expect.poll(() => sts.forms.length).toBe(1);
      release();
      const stored = await putting;
      const { key } = stored[7] ?? { key: "" };
      expect((await opened.blobs.read(key, 1000)).toString()).toBe("blob 7");
      // In parts, too.
      const long = Buffer.alloc(9 * 1024 * 1024, "x");
      const { key: longKey } = await opened.blobs.put(ORG, long, { maxBytes: long.length });
      expect((await opened.blobs.read(longKey, long.length)).equals(long)).toBe(true);
      for await (const batch of opened.blobs.list(new Date(Date.now() + MINUTE))) expect(batch.length).toBe(21);
      expect(opened.gate.passed()).toBeGreaterThan(22);
      expect(sts.forms).toEqual([
        {
          Action: "AssumeRoleWithWebIdentity",
          Version: "2011-06-15",
          RoleArn: ROLE,
          RoleSessionName: "millrace",
          WebIdentityToken: "eyJ.first.token",
        },
      ]);
    });

    it("go on with the token that the file has by then", async () => {
      const opened = await open({ ...identity(), AWS_ROLE_SESSION_NAME: "worker-7" });
      // Below the time before their end at which they are replaced.
      sts.lasting(4 * MINUTE);
      await put(opened, "one");
      giveToken("eyJ.second.token");
      await put(opened, "two");
      expect(sts.forms.map((form) => [form["WebIdentityToken"], form["RoleSessionName"]])).toEqual([
        ["eyJ.first.token", "worker-7"],
        ["eyJ.second.token", "worker-7"],
      ]);
    });

    it("are in order for doctor, which says as whom it has asked", async () => {
      const { gate } = await open();
      const config = loadConfig({
        DATABASE_URL: "postgres://nowhere/db",
        MILLRACE_BLOB_URL: `s3://blobs/a/prefix?endpoint=${gate.endpoint}`,
        MILLRACE_MASTER_KEY: Buffer.alloc(32).toString("base64"),
        ...identity(),
      });
      expect(await checkBlobs(config)).toMatchObject({
        state: "ok",
        text: `s3://blobs can be written, read and listed as ${ROLE}`,
      });
    });

    it("are not asked for by a role where there are keys", async () => {
      const gate = await startRoleGate(s3, sts);
      const blobs = await openBlobStore({
        MILLRACE_BLOB_URL: parseBlobPlace(s3.url),
        ...identity(),
        MILLRACE_S3_ACCESS_KEY_ID: s3.credentials.accessKeyId,
        MILLRACE_S3_SECRET_ACCESS_KEY: s3.credentials.secretAccessKey,
      });
      await put({ blobs, gate }, "x");
      expect(sts.forms).toEqual([]);
      await blobs.close();
      await gate.close();
    });

    it("are stored with what EKS Pod Identity gives", async () => {
      const agent = await startHttpTarget();
      // Sessions of this STS are what the gate knows.
      const given = await credentialsOf(identity(), "eu-central-1").get();
      agent.on("/v1/credentials", (request, response) => {
        if (request.headers["authorization"] !== "eyJ.first.token") {
          response.statusCode = 400;
          return void response.end(JSON.stringify({ code: "InvalidToken", message: "[400]: the token is not valid" }));
        }
        const Expiration = new Date(Date.now() + 60 * MINUTE).toISOString();
        const { accessKeyId, secretAccessKey, sessionToken } = given;
        response.end(
          JSON.stringify({
            AccessKeyId: accessKeyId,
            SecretAccessKey: secretAccessKey,
            Token: sessionToken,
            Expiration,
          }),
        );
      });
      const opened = await open({
        AWS_CONTAINER_CREDENTIALS_FULL_URI: `${agent.url}/v1/credentials`,
        AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: tokenFile,
      });
      const { key } = await put(opened, "x");
      expect(await blobExists(opened.blobs, key)).toBe(true);
      expect([agent.hits("/v1/credentials"), sts.forms.length]).toEqual([1, 1]);

      writeFileSync(tokenFile, "eyJ.another.token");
      const refused = await open({
        AWS_CONTAINER_CREDENTIALS_FULL_URI: `${agent.url}/v1/credentials`,
        AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: tokenFile,
      });
      expect((await failureOf(put(refused, "x"))).message).toBe(
        `${agent.url} gives no credentials for the token in ${tokenFile}: 400 InvalidToken [400]: the token is not valid`,
      );
      await agent.close();
    });
  },
);

describe("credentials of a role", () => {
  it("are kept until five minutes before their end", async () => {
    let now = Date.now();
    const role = { role: ROLE, tokenFile, session: "millrace", endpoint: sts.url };
    const source = renewing(webIdentityCredentials(role), () => now);
    const first = await source.get();
    now += 54 * MINUTE;
    expect(await source.get()).toEqual(first);
    expect(sts.forms.length).toBe(1);
    now += 2 * MINUTE;
    expect(await source.get()).not.toEqual(first);
    expect(sts.forms.length).toBe(2);
    await source.close();
  });

  it("hold to their end while STS gives no others, and are asked for again after a while", async () => {
    let now = Date.now();
    const role = { role: ROLE, tokenFile, session: "millrace", endpoint: sts.url };
    const source = renewing(webIdentityCredentials(role), () => now);
    const first = await source.get();
    now += 56 * MINUTE;
    sts.fail(1, 403, "AccessDenied", "Not authorized to perform sts:AssumeRoleWithWebIdentity");
    expect(await source.get()).toEqual(first);
    expect(await source.get()).toEqual(first);
    expect(sts.forms.length).toBe(2);
    now += 11_000;
    expect(await source.get()).not.toEqual(first);
    now += 61 * MINUTE;
    sts.fail(1, 403, "AccessDenied", "Not authorized to perform sts:AssumeRoleWithWebIdentity");
    await expect(source.get()).rejects.toThrow("403 AccessDenied");
    // What failed is not what everybody gets from now on.
    expect(await source.get()).toHaveProperty("sessionToken");
    await source.close();
  });

  it("are asked for again where what failed may pass", async () => {
    for (const [status, code] of [
      [500, "UnexpectedFault"],
      [400, "IDPCommunicationError"],
      [400, "Throttling"],
    ] as const) {
      const source = credentialsOf(identity(), "eu-central-1");
      sts.fail(2, status, code, "Later");
      expect(await source.get()).toHaveProperty("sessionToken");
      await source.close();
    }
    expect(sts.forms.length).toBe(9);
  });

  it("secret-in-error: say which role, which file and what STS said, and not the token", async () => {
    const config = identity();
    const refused = async (more: object): Promise<Error> => {
      const source = credentialsOf({ ...config, ...more }, "eu-central-1");
      const error = await failureOf(source.get());
      await source.close();
      expect(error.message).not.toContain("eyJ");
      return error;
    };
    const other = "arn:aws:iam::123456789012:role/other";
    const start = (role: string) =>
      `${sts.url} gives no credentials for the role ${role} and the token in ${tokenFile}: `;
    const denied = await refused({ AWS_ROLE_ARN: other });
    expect(denied.message).toBe(
      `${start(other)}403 AccessDenied Not authorized to perform sts:AssumeRoleWithWebIdentity`,
    );
    sts.trust(ROLE, "eyJ.of.another");
    const unknown = await refused({});
    expect(unknown.message).toBe(`${start(ROLE)}400 InvalidIdentityToken The ID Token provided is not a valid JWT: …`);
    const absent = join(folder, "absent");
    expect((await refused({ AWS_WEB_IDENTITY_TOKEN_FILE: absent })).message).toBe(
      `The token file ${absent} cannot be read: ENOENT`,
    );
    writeFileSync(tokenFile, "\n");
    expect((await refused({})).message).toBe(`The token file ${tokenFile} is empty`);
    giveToken("eyJ.first.token");
    sts.fail(1, 200, "", "");
    const empty = await refused({});
    expect(empty.message).toBe(`${start(ROLE)}200 the answer has none that can be used`);
    expect([denied, unknown, empty].map(isBlobOutage)).toEqual([false, false, false]);
    // With no end they would be asked for with every request.
    const agent = await startHttpTarget();
    agent.onEvery(
      (_, response) => void response.end(JSON.stringify({ AccessKeyId: "a", SecretAccessKey: "b", Token: "c" })),
    );
    const endless = credentialsOf({ AWS_CONTAINER_CREDENTIALS_FULL_URI: agent.url }, "eu-central-1");
    await expect(endless.get()).rejects.toThrow(`${agent.url} gives no credentials: 200 the answer has none`);
    await endless.close();
    await agent.close();
    // STS is away: that passes.
    await sts.close();
    const away = await refused({});
    expect([away.message.startsWith(start(ROLE)), isBlobOutage(away)]).toEqual([true, true]);
  });

  it("come from the region's own STS unless an address is given, and from the bucket's region unless another is", () => {
    expect(stsAddress({ AWS_REGION: "eu-central-1" }, "eu-west-3")).toBe("https://sts.eu-central-1.amazonaws.com");
    expect(stsAddress({}, "eu-west-3")).toBe("https://sts.eu-west-3.amazonaws.com");
    expect(stsAddress({ AWS_REGION: "cn-north-1" }, "eu-west-3")).toBe("https://sts.cn-north-1.amazonaws.com.cn");
    expect(stsAddress(identity(), "eu-west-3")).toBe(sts.url);
  });

  it("are there nowhere where neither keys nor a role are named", () => {
    expect(() => credentialsOf({ AWS_ROLE_ARN: ROLE }, "eu-west-3")).toThrow("neither keys nor a role");
  });
});
