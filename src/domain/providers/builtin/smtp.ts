import { basic, noCredential, plain } from "../auth-fields.ts";
import type { Provider } from "../provider.ts";

const server = {
  host: plain("The mail server"),
  port: { type: "integer", minimum: 1, maximum: 65_535, default: 587 },
  tls: {
    enum: ["starttls", "implicit", "off"],
    default: "starttls",
    description: "`implicit` is for port 465; `off` sends everything in clear text",
  },
} as const;

export const smtp: Provider = {
  provider_id: "smtp",
  provider_version: "1",
  name: "E-mail (SMTP)",
  description: "E-mail through a mail server",
  provider_group: ["communication"],
  tags: ["mail", "email"],
  icon: null,
  auth: { required: true, schemes: { basic: basic(server), none: noCredential(server) } },
  source: "builtin",
  actions: [],
  triggers: [],
};
