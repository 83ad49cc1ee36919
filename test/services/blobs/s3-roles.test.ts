import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { loadConfig } from "../../../src/config.ts";
import { parseBlobPlace } from "../../../src/platform/blobs/blob-place.ts";
import { blobExists, isBlobOutage, openBlobStore } from "../../../src/platform/blobs/blobs.ts";
import { credentialsOf, renewing, stsAddress, type CredentialConfig } from "../../../src/platform/s3/credentials.ts";
import { webIdentityCredentials } from "../../../src/platform/s3/role-credentials.ts";
import { blobs as checkBlobs } from "../../../src/services/system/checks/blobs.ts";
import { startHttpTarget } from "../../support/http-target.ts";
import { findS3Program, startS3Server, type S3Server } from "../../support/s3-server.ts";
import { startRoleGate, startStsServer, type StsServer } from "../../support/sts-server.ts";

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

/** As the kubelet rotates it: the file has a new token, and STS accepts no other. */
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
  `blobs accessed with a role${"no" in program ? `: ${program.no}` : ""}`,
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

    it("are stored with STS credentials that are requested once and whose token is signed", async () => {
      const opened = await open();
      const release = sts.hold();
      const putting = Promise.all(Array.from({ length: 20 }, (_, index) => put(opened, `blob ${index}`)));
      await expect.poll(() => sts.forms.length).toBe(1);
      release();
      const stored = await putting;
      const { key } = stored[7] ?? { key: "" };
      expect((await opened.blobs.read(key, 1000)).toString()).toBe("blob 7");
      // The same for an upload in parts.
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

    it("use the token that the file contains at the next request", async () => {
      const opened = await open({ ...identity(), AWS_ROLE_SESSION_NAME: "worker-7" });
      // Shorter than the time before expiry at which credentials are renewed.
      sts.lasting(4 * MINUTE);
      await put(opened, "one");
      giveToken("eyJ.second.token");
      await put(opened, "two");
      expect(sts.forms.map((form) => [form["WebIdentityToken"], form["RoleSessionName"]])).toEqual([
        ["eyJ.first.token", "worker-7"],
        ["eyJ.second.token", "worker-7"],
      ]);
    });

    it("pass the check of doctor, which names the role", async () => {
      const { gate } = await open();
      const config = loadConfig({
        DATABASE_URL: "postgres://nowhere/db",
        MILLRACE_BLOB_URL: `s3://blobs/a/prefix?endpoint=${gate.endpoint}`,
        MILLRACE_MASTER_KEY: Buffer.alloc(32).toString("base64"),
        ...identity(),
      });
      expect(await checkBlobs(config)).toMatchObject({
        state: "ok",
        text: `s3://blobs is writable, readable and listable as ${ROLE}`,
      });
    });

    it("use keys instead of the role if keys are set", async () => {
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

    it("are stored with the credentials that EKS Pod Identity gives", async () => {
      const agent = await startHttpTarget();
      // The gate only accepts sessions of this STS.
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
        `${agent.url} returned no credentials for the token in ${tokenFile}: 400 InvalidToken [400]: the token is not valid`,
      );
      await agent.close();
    });
  },
);

describe("credentials of a role", () => {
  it("are kept until five minutes before they expire", async () => {
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

  it("are used until they expire while STS fails, then requested again", async () => {
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
    // A failed request for credentials is not cached.
    expect(await source.get()).toHaveProperty("sessionToken");
    await source.close();
  });

  it("are requested again after a temporary error", async () => {
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

  it("secret-in-error: name the role, the file and the STS error, but not the token", async () => {
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
      `${sts.url} returned no credentials for the role ${role} and the token in ${tokenFile}: `;
    const denied = await refused({ AWS_ROLE_ARN: other });
    expect(denied.message).toBe(
      `${start(other)}403 AccessDenied Not authorized to perform sts:AssumeRoleWithWebIdentity`,
    );
    sts.trust(ROLE, "eyJ.of.another");
    const unknown = await refused({});
    expect(unknown.message).toBe(`${start(ROLE)}400 InvalidIdentityToken The ID Token provided is not a valid JWT: …`);
    const absent = join(folder, "absent");
    expect((await refused({ AWS_WEB_IDENTITY_TOKEN_FILE: absent })).message).toBe(
      `Cannot read the token file ${absent}: ENOENT`,
    );
    writeFileSync(tokenFile, "\n");
    expect((await refused({})).message).toBe(`The token file ${tokenFile} is empty`);
    giveToken("eyJ.first.token");
    sts.fail(1, 200, "", "");
    const empty = await refused({});
    expect(empty.message).toBe(`${start(ROLE)}200 the response contains no usable credentials`);
    expect([denied, unknown, empty].map(isBlobOutage)).toEqual([false, false, false]);
    // Credentials without an expiry are refused, because they would be requested for every operation.
    const agent = await startHttpTarget();
    agent.onEvery(
      (_, response) => void response.end(JSON.stringify({ AccessKeyId: "a", SecretAccessKey: "b", Token: "c" })),
    );
    const endless = credentialsOf({ AWS_CONTAINER_CREDENTIALS_FULL_URI: agent.url }, "eu-central-1");
    await expect(endless.get()).rejects.toThrow(`${agent.url} returned no credentials: 200 the response contains no`);
    await endless.close();
    await agent.close();
    // An unavailable STS is a passing failure.
    await sts.close();
    const away = await refused({});
    expect([away.message.startsWith(start(ROLE)), isBlobOutage(away)]).toEqual([true, true]);
  });

  it("come from the STS of AWS_REGION, else of the bucket's region, unless an address is given", () => {
    expect(stsAddress({ AWS_REGION: "eu-central-1" }, "eu-west-3")).toBe("https://sts.eu-central-1.amazonaws.com");
    expect(stsAddress({}, "eu-west-3")).toBe("https://sts.eu-west-3.amazonaws.com");
    expect(stsAddress({ AWS_REGION: "cn-north-1" }, "eu-west-3")).toBe("https://sts.cn-north-1.amazonaws.com.cn");
    expect(stsAddress(identity(), "eu-west-3")).toBe(sts.url);
  });

  it("do not exist if neither keys nor a role are configured", () => {
    expect(() => credentialsOf({ AWS_ROLE_ARN: ROLE }, "eu-west-3")).toThrow("neither keys nor a role");
  });
});
