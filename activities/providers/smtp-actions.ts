import { createHash } from "node:crypto";
import type { Json, JsonObject } from "../../src/domain/json.ts";
import { ActionFailed, ActionRefused, asText } from "../../src/domain/providers/action.ts";
import { MAIL_ADDRESS } from "../../src/domain/providers/builtin/smtp.ts";
import { composeMail, type MailDraft, type Mailbox } from "../../src/platform/mail/compose.ts";
import { MailFailed } from "../../src/platform/mail/smtp-session.ts";
import type { Parts } from "../../src/services/parts.ts";
import { openMail } from "../../src/services/providers/remote-mail.ts";
import { bytesOf, renderedCall, requireConnection, type ActionExecutor } from "./action-call.ts";

/** Longest silence of a mail server (ms). */
const SILENCE_MS = 60_000;
const ADDRESS = new RegExp(MAIL_ADDRESS);

/** Carries out the action of provider `smtp`. */
export function createSmtpActions({ sockets }: Parts<"sockets">): ActionExecutor {
  return async (call) => {
    const { inputs, dry_run, idempotency_key, signal, begin } = call;
    const connection = requireConnection(call);
    const draft = draftOf(inputs, idempotency_key);
    const hidden = mailboxes(inputs["bcc"]);
    const envelope = {
      from: draft.from.address,
      to: [...new Set([...draft.to, ...draft.cc, ...hidden].map(({ address }) => address))],
    };
    const rendered_request = renderedCall(connection, {
      ...inputs,
      message_id: draft.messageId,
      attachments: draft.attachments.map(({ filename, content }) => `${filename} [${content.length} bytes]`),
    });
    if (dry_run) return { outputs: null, rendered_request };
    const message = await composeMail(draft);
    try {
      const session = await openMail(sockets, connection, SILENCE_MS, signal);
      try {
        await begin();
        const { accepted, rejected } = await session.send(envelope, message);
        return { outputs: { message_id: draft.messageId, accepted, rejected }, rendered_request };
      } finally {
        session.close();
      }
    } catch (error) {
      throw error instanceof MailFailed ? toFailure(error) : error;
    }
  };
}

/** SMTP replies of 4xx are transient; replies of 5xx are final. */
function toFailure({ why, status, unclear, message, cause }: MailFailed): ActionFailed {
  const retryable = status === null || (status >= 400 && status <= 499);
  const code = why === "login" ? "connection_rejected" : why === "refused" ? "action_refused" : "connection_failed";
  return new ActionFailed(unclear ? "unknown" : "none", code, message, { retryable, cause });
}

function draftOf(inputs: JsonObject, key: string): MailDraft {
  const [from] = mailboxes(inputs["from"]);
  const [replyTo] = mailboxes(inputs["reply_to"]);
  if (from === undefined) throw new ActionRefused("inputs", "from: must be an e-mail address");
  if (inputs["text"] === undefined && inputs["html"] === undefined)
    throw new ActionRefused("inputs", "text: a message needs text, html or both");
  // The Message-ID is the same for each attempt of a call, so that receivers recognise a repeated mail.
  const id = createHash("sha256").update(key).digest("hex").slice(0, 32);
  return {
    from,
    to: mailboxes(inputs["to"]),
    cc: mailboxes(inputs["cc"]),
    replyTo,
    subject: asText(inputs["subject"]),
    text: textIn(inputs["text"]),
    html: textIn(inputs["html"]),
    inReplyTo: textIn(inputs["in_reply_to"]),
    messageId: `<${id}@${from.address.slice(from.address.lastIndexOf("@") + 1)}>`,
    attachments: ((inputs["attachments"] ?? []) as readonly JsonObject[]).map((each, at) => ({
      filename: asText(each["filename"]),
      content: bytesOf(asText(each["content_base64"]), `attachments.${at}.content_base64`),
      contentType: textIn(each["content_type"]),
    })),
  };
}

/** The schema ensures that each text is one address. */
function mailboxes(value: Json | undefined): Mailbox[] {
  const texts = value === undefined ? [] : Array.isArray(value) ? value : [value];
  return texts.map((each: Json) => {
    const text = asText(each);
    const [, named, bare] = ADDRESS.exec(text) ?? [];
    const address = named ?? bare;
    if (address === undefined) throw new ActionRefused("inputs", "must be an e-mail address");
    return { address, name: named === undefined ? "" : text.replace(/<[^<]*$/, "").trim() };
  });
}

const textIn = (value: Json | undefined): string | undefined => (typeof value === "string" ? value : undefined);
