import { randomBytes } from "node:crypto";
import { uuidv7 } from "uuidv7";
import type { FlowDefinition } from "../../src/domain/flow/definition/definition.ts";
import { generateToken } from "../../src/platform/secrets/crypto.ts";
import { insertToken } from "../../src/stores/accounts/oauth-tokens.ts";
import { insertUser, type UserRole } from "../../src/stores/accounts/users.ts";
import { openDatabase, type Database } from "../../src/stores/db.ts";
import type { Answer, TestClient } from "../support/client.ts";
import { aMoment } from "../support/scratch.ts";
import { createOrganisation, service, type Service } from "../support/service.ts";
import { flow } from "../engine/support.ts";
import { checkedClient } from "./http/conformance.ts";

/** A new organisation on a running installation; every response is checked against the OpenAPI document. */
export interface ApiTenant {
  readonly target: Service;
  readonly org_id: string;
  readonly secret: TestClient;
  readonly secretKey: string;
  readonly public: TestClient;
  readonly publicKey: string;
  /** A new user with an access token but no password, because checking a password takes longer than most tests. */
  user(role: UserRole): Promise<TestClient>;
  deploy(definition: FlowDefinition): Promise<string>;
  /** Waits until a run is in this state; fails when it reaches another terminal state. */
  until(runId: string, state: string): Promise<Answer["body"]>;
  /** Runs `work` on the service's database. */
  withDatabase<T>(work: (database: Database) => Promise<T>): Promise<T>;
}

const TERMINAL_STATES = ["COMPLETED", "FAILED", "CANCELLED"];

export async function openTenant(target: Service = service()): Promise<ApiTenant> {
  const { org_id, secretKey, publicKey } = await createOrganisation(target);
  const secret = checkedClient(target, secretKey);
  async function withDatabase<T>(work: (database: Database) => Promise<T>): Promise<T> {
    const options = {
      url: target.databaseUrl,
      poolSize: 2,
      applicationName: "millrace-test",
      onError: () => undefined,
    };
    const database = openDatabase(options);
    try {
      return await work(database);
    } finally {
      await database.close();
    }
  }
  return {
    target,
    org_id,
    secret,
    secretKey,
    public: checkedClient(target, publicKey),
    publicKey,
    withDatabase,
    async user(role) {
      const email = `${role}-${randomBytes(6).toString("hex")}@example.test`;
      const token = generateToken("access");
      const [user_id, token_id] = [uuidv7(), uuidv7()];
      await withDatabase(async (database) => {
        await database.org(org_id, (db) => insertUser(db, { user_id, org_id, email, role, password_hash: "none" }));
        const whose = { org_id, user_id, scope: "", lifetime_seconds: 3600 };
        await database.system((db) => insertToken(db, { ...whose, token_id, kind: "access", secret_hash: token.hash }));
      });
      return checkedClient(target, token.value);
    },
    async deploy(definition) {
      const { status, body } = await secret.post("/v2/projects", { name: "test", flow: definition });
      if (status !== 201) throw new Error(`not deployed: ${JSON.stringify(body)}`);
      return body.project_id;
    },
    async until(runId, state) {
      const query = TERMINAL_STATES.includes(state) ? { wait_seconds: 10 } : {};
      for (const since = Date.now(); ;) {
        const { body } = await secret.get(`/v2/runs/${runId}`, { query });
        if (body.state === state) return body;
        if (TERMINAL_STATES.includes(body.state) || Date.now() - since > 75_000) {
          throw new Error(`run ${runId} is ${body.state}, not ${state}: ${JSON.stringify(body)}`);
        }
        await aMoment(since);
      }
    },
  };
}

/** The text of a problem, without the fields that identify the request. */
export function problemText(answer: Answer): string {
  return JSON.stringify({ ...answer.body, request_id: undefined });
}

const input = { id: "in-0", type: "input" };
const out = { id: "out-0", type: "output" };

/** A flow that outputs its input. */
export const echo = (): FlowDefinition => flow([input, out], ["in-0>out-0"]);
/** A flow with a delay of `seconds`. */
export const slow = (seconds: number): FlowDefinition =>
  flow(
    [
      { ...input, config: { required: false, default: "x" } },
      { id: "delay-0", type: "delay", config: { seconds } },
      out,
    ],
    ["in-0>delay-0", "in-0>out-0", "delay-0>out-0"],
  );
/** A flow that pauses for an approval. */
export const asking = (config: Record<string, unknown> = {}): FlowDefinition =>
  flow(
    [
      { ...input, config: { required: false, default: "it" } },
      { id: "approval-0", type: "approval", config: { message: "Go on?", ...config } },
      { id: "yes", type: "template", config: { template: "yes {{ approval-0.data | json }}" } },
      { id: "no", type: "template", config: { template: "no" } },
      out,
    ],
    ["in-0>approval-0", "approval-0:approve>yes", "approval-0:reject>no", "yes>out-0", "no>out-0"],
  );
/** A flow that fails at a guard, after its first output is available. */
export const failing = (check = "false"): FlowDefinition =>
  flow(
    [
      { ...input, config: { required: false, default: "x" } },
      { id: "first", type: "output", config: { value: "first {{in-0}}" } },
      { id: "delay-0", type: "delay", config: { seconds: 0.1 } },
      { id: "guard-0", type: "guard", config: { check, message: "It is not allowed" } },
      out,
    ],
    ["in-0>first", "in-0>delay-0", "delay-0>guard-0", "guard-0>out-0"],
  );
