import { basic, plain } from "../auth-fields.ts";
import type { Provider } from "../provider.ts";

export const postgres: Provider = {
  provider_id: "postgres",
  provider_version: "1",
  name: "PostgreSQL",
  description: "Queries of a PostgreSQL database: only reading, unless the connection allows writing",
  provider_group: ["databases"],
  tags: ["sql", "database"],
  icon: null,
  auth: {
    required: true,
    schemes: {
      basic: basic({
        host: plain("The server"),
        port: { type: "integer", minimum: 1, maximum: 65_535, default: 5432 },
        database: plain("The database"),
        tls: {
          enum: ["verify", "require", "off"],
          default: "verify",
          description: "`require` encrypts without looking at the server's certificate",
        },
        allow_writes: { type: "boolean", default: false, description: "Whether actions may change data" },
      }),
    },
  },
  source: "builtin",
  actions: [],
  triggers: [],
};
