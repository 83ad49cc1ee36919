// Entry of the process that runs the local embedding model.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import * as tokenizers from "@huggingface/tokenizers";
import { InferenceSession, Tensor } from "onnxruntime-node";
import { normalizeVector } from "../../domain/knowledge/halves.ts";
import { serveRequests } from "../children/serve.ts";

/** The prefix that the model was trained with for questions. Passages have none. */
const QUERY_INSTRUCTION = "Represent this sentence for searching relevant passages: ";
/** Most tokens that the model reads in one pass, including its two special tokens. */
const MAX_TOKENS = 512;

interface Tokenizer {
  encode(text: string): { readonly ids: number[] };
}
// The package's own type declarations refer to files that it does not contain.
const { Tokenizer } = tokenizers as unknown as { Tokenizer: new (tokenizer: unknown, config: unknown) => Tokenizer };

interface Model {
  readonly tokenizer: Tokenizer;
  readonly session: InferenceSession;
}

let model: Promise<Model> | undefined;

async function load(dir: string, threads: number): Promise<Model> {
  const tokenizer = new Tokenizer(JSON.parse(readFileSync(join(dir, "tokenizer.json"), "utf8")), {});
  const session = await InferenceSession.create(join(dir, "model.onnx"), {
    intraOpNumThreads: threads,
    interOpNumThreads: 1,
    logSeverityLevel: 3,
  });
  return { tokenizer, session };
}

/**
 * The vector of a text. Texts are embedded one by one, without padding: int8 scales would otherwise depend on the rest of the batch, and a
 * batch is not faster on a CPU. The vector of a text with more tokens than the model reads in one pass is the mean of its parts.
 */
async function embed({ tokenizer, session }: Model, text: string): Promise<Float32Array> {
  const { ids } = tokenizer.encode(text);
  const [first = 101, ...rest] = ids;
  const last = rest.pop() ?? 102;
  const room = MAX_TOKENS - 2;
  const sum = new Float64Array(384);
  for (let at = 0; at === 0 || at < rest.length; at += room) {
    const part = rest.slice(at, at + room);
    const vector = normalizeVector(await run(session, [first, ...part, last]));
    for (let i = 0; i < sum.length; i += 1) sum[i] = (sum[i] ?? 0) + (vector[i] ?? 0) * Math.max(1, part.length);
  }
  return normalizeVector(sum);
}

async function run(session: InferenceSession, ids: readonly number[]): Promise<Float32Array> {
  const shape = [1, ids.length];
  const tensor = (values: BigInt64Array): Tensor => new Tensor("int64", values, shape);
  const output = await session.run({
    input_ids: tensor(BigInt64Array.from(ids, BigInt)),
    attention_mask: tensor(new BigInt64Array(ids.length).fill(1n)),
    token_type_ids: tensor(new BigInt64Array(ids.length)),
  });
  const states = output["last_hidden_state"]?.data;
  if (!(states instanceof Float32Array)) throw new Error("The embedding model returned an unexpected result.");
  // The state of the first token, [CLS], represents the whole text.
  return states.slice(0, 384);
}

serveRequests({
  async handle({ header, body }) {
    if (typeof header["load"] === "string") {
      model = load(header["load"], Number(header["threads"]));
      await model;
      return { header: {}, body: Buffer.alloc(0) };
    }
    if (model === undefined) throw new Error("No model is loaded.");
    const loaded = await model;
    const texts = JSON.parse(body.toString("utf8")) as string[];
    const vectors: Buffer[] = [];
    for (const text of texts) {
      const vector = await embed(loaded, header["kind"] === "query" ? QUERY_INSTRUCTION + text : text);
      vectors.push(Buffer.from(vector.buffer, vector.byteOffset, vector.byteLength));
    }
    return { header: {}, body: Buffer.concat(vectors) };
  },
  wornAtMib: Number.POSITIVE_INFINITY,
});
