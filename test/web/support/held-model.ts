import type { ApiTenant } from "../../api/tenant.ts";
import { startHttpTarget } from "../../support/http-target.ts";

/** One answer of the model, written word by word by the test. */
export interface HeldAnswer {
  /** The messages that the model received, as JSON. */
  readonly asked: string;
  write(text: string): void;
  end(): void;
}

/** A model whose answers grow only when the test writes them. */
export interface HeldModel {
  readonly connection_id: string;
  /** Resolves with the next answer once the model is asked. */
  next(): Promise<HeldAnswer>;
  close(): Promise<void>;
}

export async function startHeldModel(tenant: ApiTenant): Promise<HeldModel> {
  const target = await startHttpTarget();
  const answers: HeldAnswer[] = [];
  let waiting: Array<(answer: HeldAnswer) => void> = [];
  target.on("/v1/chat/completions", ({ body }, response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.flushHeaders();
    const send = (choice: object): void => {
      const chunk = {
        id: "c",
        object: "chat.completion.chunk",
        created: 1,
        model: "m",
        choices: [{ index: 0, ...choice }],
      };
      response.write(`data: ${JSON.stringify(chunk)}\n\n`);
    };
    const answer: HeldAnswer = {
      asked: body,
      write: (content) => send({ delta: { role: "assistant", content }, finish_reason: null }),
      end() {
        send({ delta: {}, finish_reason: "stop" });
        response.end("data: [DONE]\n\n");
      },
    };
    const [first, ...rest] = waiting;
    waiting = rest;
    if (first) first(answer);
    else answers.push(answer);
  });
  const { body } = await tenant.secret.post("/v2/connections", {
    name: `held ${Math.random()}`,
    provider_id: "openai_compatible",
    scheme: "api_key",
    credential: { api_key: "sk-planted", base_url: `${target.url}/v1` },
  });
  return {
    connection_id: body.connection_id,
    next: async () => answers.shift() ?? new Promise((resolve) => waiting.push(resolve)),
    close: () => target.close(),
  };
}
