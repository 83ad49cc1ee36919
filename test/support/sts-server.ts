import { createHash, createHmac, randomBytes } from "node:crypto";
import { createServer, request as send, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { AwsV4Signer } from "aws4fetch";
import type { S3Server } from "./s3-server.ts";

/** A stand-in for Amazon's STS that implements AssumeRoleWithWebIdentity, with the same XML responses and errors. */
export interface StsServer {
  readonly url: string;
  /** The received forms. */
  readonly forms: ReadonlyArray<Readonly<Record<string, string>>>;
  /** Sets the role and token that get credentials; all others are refused. */
  trust(role: string, token: string): void;
  /** Sets how long new credentials are valid. */
  lasting(ms: number): void;
  /** Returns this error instead of the next responses. */
  fail(times: number, status: number, code: string, message: string): void;
  /** Holds back all responses until the returned function is called. */
  hold(): () => void;
  /** The session with this token while it is valid. */
  session(sessionToken: string): Session | undefined;
  close(): Promise<void>;
}

interface Session {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly end: number;
}

export async function startStsServer(): Promise<StsServer> {
  const forms: Array<Record<string, string>> = [];
  const sessions = new Map<string, Session>();
  let trusted = { role: "", token: "" };
  let lastingMs = 3_600_000;
  let failing = { times: 0, status: 0, code: "", message: "" };
  let held: Promise<void> = Promise.resolve();

  function answer(form: Readonly<Record<string, string>>): readonly [status: number, xml: string] {
    if (failing.times > 0) {
      failing.times--;
      return failure(failing.status, failing.code, failing.message);
    }
    if (form["Action"] !== "AssumeRoleWithWebIdentity" || form["Version"] !== "2011-06-15") {
      return failure(400, "InvalidAction", `Could not find operation ${form["Action"]} for version ${form["Version"]}`);
    }
    if (!/^[\w+=,.@-]{2,64}$/.test(form["RoleSessionName"] ?? ""))
      return failure(400, "ValidationError", "roleSessionName");
    if (form["WebIdentityToken"] !== trusted.token) {
      return failure(
        400,
        "InvalidIdentityToken",
        `The ID Token provided is not a valid JWT: ${form["WebIdentityToken"]}`,
      );
    }
    if (form["RoleArn"] !== trusted.role) {
      return failure(403, "AccessDenied", "Not authorized to perform sts:AssumeRoleWithWebIdentity");
    }
    // As in real tokens, some characters must be escaped in XML, forms and headers.
    const sessionToken = `Fwo&GZXI/+<${randomBytes(12).toString("base64")}>=`;
    const accessKeyId = `ASIA${randomBytes(8).toString("hex").toUpperCase()}`;
    const secretAccessKey = randomBytes(30).toString("base64");
    const end = Date.now() + lastingMs;
    sessions.set(sessionToken, { accessKeyId, secretAccessKey, end });
    return [
      200,
      `<AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/">
  <AssumeRoleWithWebIdentityResult>
    <Audience>sts.amazonaws.com</Audience>
    <AssumedRoleUser>
      <AssumedRoleId>AROA1234567890:${form["RoleSessionName"]}</AssumedRoleId>
      <Arn>${form["RoleArn"]}/${form["RoleSessionName"]}</Arn>
    </AssumedRoleUser>
    <Credentials>
      <AccessKeyId>${accessKeyId}</AccessKeyId>
      <SecretAccessKey>${escaped(secretAccessKey)}</SecretAccessKey>
      <SessionToken>${escaped(sessionToken)}</SessionToken>
      <Expiration>${new Date(end).toISOString()}</Expiration>
    </Credentials>
    <SubjectFromWebIdentityToken>system:serviceaccount:millrace:millrace</SubjectFromWebIdentityToken>
  </AssumeRoleWithWebIdentityResult>
  <ResponseMetadata><RequestId>c6104cbe-af31-11e0-8154-cbc7ccf896c7</RequestId></ResponseMetadata>
</AssumeRoleWithWebIdentityResponse>
`,
    ];
  }

  const server = createServer((request, response) => {
    void (async () => {
      const body = await bodyOf(request);
      const isForm = request.headers["content-type"]?.startsWith("application/x-www-form-urlencoded") ?? false;
      const form = request.method === "POST" && isForm ? Object.fromEntries(new URLSearchParams(body.toString())) : {};
      forms.push(form);
      await held;
      const [status, xml] = answer(form);
      response.writeHead(status, { "content-type": "text/xml" }).end(xml);
    })();
  });
  const url = await listening(server);
  return {
    url,
    forms,
    trust: (role, token) => void (trusted = { role, token }),
    lasting: (ms) => void (lastingMs = ms),
    fail: (times, status, code, message) => void (failing = { times, status, code, message }),
    hold() {
      let release = (): void => undefined;
      held = new Promise((resolve) => (release = resolve));
      return release;
    },
    session(sessionToken) {
      const found = sessions.get(sessionToken);
      return found !== undefined && found.end > Date.now() ? found : undefined;
    },
    close: () => closed(server),
  };
}

/**
 * A proxy in front of the S3 server, which does not support session tokens. It rejects requests that are not signed
 * with session credentials of that STS, as Amazon S3 does, and forwards all others, signed with the real keys.
 */
export async function startRoleGate(
  s3: S3Server,
  sts: StsServer,
): Promise<{ readonly endpoint: string; readonly passed: () => number; close(): Promise<void> }> {
  let passed = 0;
  const server = createServer((request, response) => {
    void (async () => {
      const body = await bodyOf(request);
      const refusal = refusalOf(request, body, sts);
      if (refusal !== undefined) {
        const xml = `<Error><Code>${refusal}</Code><Message>As the gate of the tests says.</Message></Error>`;
        return void response.writeHead(refusal === "ExpiredToken" ? 400 : 403).end(xml);
      }
      passed++;
      const { method = "", url: path = "" } = request;
      const kept = ["content-type", "if-none-match", "range", "x-amz-content-sha256"].flatMap((name) => {
        const value = request.headers[name];
        return typeof value === "string" ? [[name, value] as const] : [];
      });
      const { region } = scopeOf(request);
      const url = `${s3.endpoint}${path}`;
      const signer = new AwsV4Signer({
        method,
        url,
        headers: Object.fromEntries(kept),
        service: "s3",
        region,
        ...s3.credentials,
      });
      const { headers } = await signer.sign();
      headers.set("content-length", String(body.length));
      const onwards = send(url, { method, headers: Object.fromEntries(headers) }, (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(response);
      });
      onwards.on("error", () => response.destroy());
      onwards.end(body);
    })();
  });
  const endpoint = await listening(server);
  return { endpoint, passed: () => passed, close: () => closed(server) };
}

/** The parts of an Authorization header: `AWS4-HMAC-SHA256 Credential=key/date/region/s3/aws4_request, SignedHeaders=…, Signature=…`. */
function scopeOf({ headers }: IncomingMessage) {
  const of = (name: string): string => new RegExp(`${name}=([^, ]*)`).exec(headers.authorization ?? "")?.[1] ?? "";
  const [key = "", date = "", region = "", service = ""] = of("Credential").split("/");
  return { key, date, region, service, names: of("SignedHeaders").split(";"), signature: of("Signature") };
}

/** The reason why S3 refuses a request; undefined if its signature (version 4) belongs to a session of the STS. */
function refusalOf(request: IncomingMessage, body: Buffer, sts: StsServer): string | undefined {
  const { key, date, region, service, names, signature } = scopeOf(request);
  const token = request.headers["x-amz-security-token"];
  if (typeof token !== "string" || !names.includes("x-amz-security-token")) return "AccessDenied";
  const session = sts.session(token);
  if (session === undefined) return "ExpiredToken";
  if (session.accessKeyId !== key) return "InvalidAccessKeyId";
  const [path = "", query = ""] = (request.url ?? "").split("?");
  const hash = request.headers["x-amz-content-sha256"];
  if (hash !== sha256(body)) return "XAmzContentSHA256Mismatch";
  const signedHeaders = names.map((name) => `${name}:${String(request.headers[name] ?? "").trim()}\n`).join("");
  const pairs = query.split("&").toSorted().join("&");
  const canonical = [request.method, path, pairs, signedHeaders, names.join(";"), hash].join("\n");
  const scope = `${date}/${region}/${service}/aws4_request`;
  const text = ["AWS4-HMAC-SHA256", request.headers["x-amz-date"], scope, sha256(canonical)].join("\n");
  const secret = [date, region, service, "aws4_request"].reduce<string | Buffer>(
    (from, part) => createHmac("sha256", from).update(part).digest(),
    `AWS4${session.secretAccessKey}`,
  );
  const expected = createHmac("sha256", secret).update(text).digest("hex");
  return expected === signature ? undefined : "SignatureDoesNotMatch";
}

function sha256(content: string | Buffer): string {
  return createHash("sha256").update(content).digest("hex");
}

function failure(status: number, code: string, message: string): readonly [number, string] {
  const xml = `<ErrorResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/">
  <Error>
    <Type>${status < 500 ? "Sender" : "Receiver"}</Type>
    <Code>${code}</Code>
    <Message>${escaped(message)}</Message>
  </Error>
  <RequestId>5af4cbe1-1b1b-4ae0-b2c3-3b1f1f1f1f1f</RequestId>
</ErrorResponse>
`;
  return [status, xml];
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks);
}

async function listening(server: ReturnType<typeof createServer>): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function closed(server: ReturnType<typeof createServer>): Promise<void> {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
}
