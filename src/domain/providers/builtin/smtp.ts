import { objectSchema } from "../../json-schema.ts";
import { ADDS } from "../action.ts";
import { basic, certificate, noCredential, plain } from "../auth-fields.ts";
import { defineProvider } from "../provider.ts";

const server = {
  host: plain("Host name of the mail server"),
  port: { type: "integer", minimum: 1, maximum: 65_535, default: 587 },
  tls: {
    enum: ["starttls", "implicit", "off"],
    default: "starttls",
    description: "`implicit` is for port 465; `off` sends everything unencrypted",
  },
  ca: certificate("CA certificate of the server (PEM), if no public authority signed its certificate"),
} as const;

/** Text without line breaks, which could add headers or commands of the mail protocol. */
const LINE = "^[^\\x00-\\x1f\\x7f]*$";
/** One address, plain or as `Name <address>`. Excludes characters that would make it a list or a comment. */
export const MAIL_ADDRESS =
  '^(?:[^<>,;:"\\\\()\\x00-\\x1f\\x7f]* ?<([^\\s<>,;:"\\\\()@\\x00-\\x1f\\x7f]+@[^\\s<>,;:"\\\\()@\\x00-\\x1f\\x7f]+)>|([^\\s<>,;:"\\\\()@\\x00-\\x1f\\x7f]+@[^\\s<>,;:"\\\\()@\\x00-\\x1f\\x7f]+))$';

const address = {
  type: "string",
  maxLength: 500,
  pattern: MAIL_ADDRESS,
  description: "a@example.com or A <a@example.com>",
};
const addresses = { type: "array", items: address, maxItems: 100 };
const line = { type: "string", maxLength: 998, pattern: LINE };

export const smtp = defineProvider({
  provider_id: "smtp",
  name: "E-mail (SMTP)",
  description: "Email through a mail server",
  provider_group: ["communication"],
  tags: ["mail", "email"],
  auth: { required: true, schemes: { basic: basic(server, ["ca"]), none: noCredential(server, ["ca"]) } },
  actions: {
    send: {
      name: "Send an e-mail",
      description: "Sends an email through a mail server, never twice",
      annotations: ADDS,
      input_schema: {
        type: "object",
        properties: {
          from: address,
          to: { ...addresses, minItems: 1 },
          cc: addresses,
          bcc: addresses,
          reply_to: address,
          subject: line,
          text: { type: "string", maxLength: 5_000_000 },
          html: { type: "string", maxLength: 5_000_000 },
          in_reply_to: { ...line, description: "Message-ID of the email to reply to" },
          attachments: {
            type: "array",
            maxItems: 50,
            items: {
              type: "object",
              properties: {
                filename: { ...line, minLength: 1, maxLength: 255 },
                content_base64: { type: "string", description: "Content in base64" },
                content_type: { type: "string", pattern: "^[A-Za-z0-9!#$&^_.+-]{1,100}/[A-Za-z0-9!#$&^_.+-]{1,100}$" },
              },
              required: ["filename", "content_base64"],
              additionalProperties: false,
            },
          },
        },
        required: ["from", "to", "subject"],
        additionalProperties: false,
      },
      output_schema: objectSchema({
        message_id: { type: "string" },
        accepted: { type: "array", items: { type: "string" }, description: "Recipients that the server accepted" },
        rejected: { type: "array", items: { type: "string" }, description: "Recipients that the server rejected" },
      }),
    },
  },
});
