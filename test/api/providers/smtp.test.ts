import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { hasOpenssl, makeCertificate } from "../../support/certificate.ts";
import type { Answer } from "../../support/client.ts";
import { startMailServer, type MailTarget } from "../../support/mail-server.ts";
import { openTenant, type ApiTenant } from "../tenant.ts";
import { places } from "../webhooks/webhooks.ts";

const LOGIN = { user: "millrace", pass: "planted-pass-93ab" };
let mine: ApiTenant;
let server: MailTarget;
let connection_id: string;

beforeAll(async () => {
  [mine, server] = await Promise.all([openTenant(), startMailServer(LOGIN)]);
  connection_id = (await create({})).connection_id;
});
afterAll(() => server?.close());
beforeEach(() => void server.mails.splice(0));

async function create(more: Record<string, unknown>): Promise<Answer["body"]> {
  const own = { host: "localhost", port: server.port, tls: "off", username: LOGIN.user, password: LOGIN.pass };
  const body = { name: "mail", provider_id: "smtp", scheme: "basic", credential: { ...own, ...more } };
  const created = await mine.secret.post("/v2/connections", body);
  expect(created.status, JSON.stringify(created.body)).toBe(201);
  expect(JSON.stringify(created.body)).not.toContain(LOGIN.pass);
  return created.body;
}

const mail = { from: "Millrace <us@example.com>", to: ["Ada <ada@example.com>"], subject: "Grüße", text: "Hello" };
const send = (inputs: Record<string, unknown>, more: Record<string, unknown> = {}): Promise<Answer> =>
  mine.secret.post("/v2/providers/smtp/actions/send/run", { inputs: { ...mail, ...inputs }, connection_id, ...more });
const sent = async (inputs: Record<string, unknown>, more = {}): Promise<Answer["body"]> => {
  const { status, body } = await send(inputs, more);
  expect(status, JSON.stringify(body)).toBe(200);
  expect(JSON.stringify(body)).not.toContain(LOGIN.pass);
  return body;
};

describe("smtp", () => {
  it("sends a message with every field, once", async () => {
    const { outputs, rendered_request } = await sent({
      cc: ["bob@example.com"],
      bcc: ["hidden@example.com", "refused@example.com"],
      reply_to: "answers@example.com",
      html: '<p>Hello <img src="http://127.0.0.1/x.png"></p>',
      attachments: [{ filename: "a.txt", content_base64: btoa("attached"), content_type: "text/plain" }],
    });
    expect(outputs).toEqual({
      message_id: expect.stringMatching(/^<[0-9a-f]{32}@example\.com>$/),
      accepted: ["ada@example.com", "bob@example.com", "hidden@example.com"],
      rejected: ["refused@example.com"],
    });
    expect(server.mails).toMatchObject([{ from: "us@example.com", to: outputs.accepted }]);
    const message = server.mails[0]?.message ?? "";
    expect(message).toContain(`Message-ID: ${outputs.message_id}`);
    expect(message).toContain("Subject: =?UTF-8?");
    expect(message).toContain("To: Ada <ada@example.com>");
    expect(message).toContain("Reply-To: answers@example.com");
    expect(message).toContain(btoa("attached"));
    expect(message).not.toMatch(/hidden@|bcc/i);
    expect(JSON.stringify(rendered_request)).toContain("a.txt [8 bytes]");
  });

  it.each([
    [{ subject: "a\r\nBcc: evil@example.com" }, "subject"],
    [{ to: ["a@example.com\r\nRCPT TO:<evil@example.com>"] }, "to"],
    [{ to: ["a@example.com, evil@example.com"] }, "to"],
    [{ to: ['"evil@example.com"@example.com'] }, "to"],
    [{ to: [] }, "to"],
    [{ from: "A\r\nX: y <us@example.com>" }, "from"],
    [{ attachments: [{ filename: "a\r\nb", content_base64: "" }] }, "attachments"],
    [{ attachments: [{ filename: "a", path: "/etc/passwd" }] }, "attachments"],
  ])("crlf: rejects %j", async (inputs, place) => {
    const found = places(await send(inputs)).map((each) => (each as string[]).slice(0, 3).join("."));
    expect(found).toContain(`body.inputs.${place}`);
    expect(server.mails).toEqual([]);
  });

  it("sends nothing in a dry run, and rejects a message without text", async () => {
    const dry = await sent({}, { dry_run: true });
    expect(dry).toMatchObject({
      outputs: null,
      rendered_request: { subject: "Grüße", message_id: expect.any(String) },
    });
    expect((await sent({ text: undefined })).error.code).toBe("invalid_action_inputs");
    expect(server.mails).toEqual([]);
  });

  it("retries temporary errors, and tells a rejection from an unknown outcome", async () => {
    expect((await sent({ subject: "busy" })).error).toMatchObject({ code: "action_refused", retryable: true });
    expect(server.mails.splice(0).length).toBe(3);
    expect((await sent({ subject: "spam" })).error).toMatchObject({ code: "action_refused", retryable: false });
    expect(server.mails.splice(0).length).toBe(1);
    expect((await sent({ to: ["refused@example.com"] })).error.code).toBe("action_refused");
    expect((await sent({ subject: "cut" })).error).toMatchObject({ code: "outcome_unknown", retryable: false });
    expect(server.mails.length).toBe(1);
  });

  it("checks the credential (secret-in-error)", async () => {
    expect((await mine.secret.get(`/v2/connections/${connection_id}`)).body.status).toBe("active");
    const wrong = await create({ password: "another-pass" });
    expect(wrong).toMatchObject({ status: "error", status_reason: "The mail server rejected the credential (535)." });
    const failed = await sent({}, { connection_id: wrong.connection_id });
    expect(failed.error.code).toBe("connection_rejected");
    expect(JSON.stringify(failed)).not.toContain("another-pass");
    const inner = await create({ host: "169.254.169.254" });
    expect(inner).toMatchObject({
      status: "unverified",
      status_reason: expect.stringContaining("does not have a public"),
    });
  });

  it.skipIf(!hasOpenssl)("uses TLS from the start or STARTTLS, and verifies the certificate", async () => {
    const tls = makeCertificate("localhost");
    for (const kind of ["implicit", "starttls"]) {
      const secured = await startMailServer(LOGIN, { tls, secure: kind === "implicit" });
      const own = { port: secured.port, tls: kind };
      const good = await create({ ...own, ca: tls.cert });
      expect(good).toMatchObject({ status: "active" });
      expect((await sent({}, { connection_id: good.connection_id })).successful).toBe(true);
      expect(await create(own)).toMatchObject({ status: "unverified" });
      expect(secured.mails.length).toBe(1);
      await secured.close();
    }
    // A server without TLS gets no plaintext connection.
    expect(await create({ tls: "starttls" })).toMatchObject({ status: "unverified" });
  });
});
