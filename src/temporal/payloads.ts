import { promisify } from "node:util";
import { fileURLToPath } from "node:url";
import { deflateRaw, deflateRawSync, inflateRaw, inflateRawSync } from "node:zlib";
import type { DataConverter, Payload, PayloadCodec, SerializationContext } from "@temporalio/common";
import proto from "@temporalio/proto";
import type { PayloadCipher } from "../platform/secrets/payload-cipher.ts";

const { Payload: PayloadMessage } = proto.temporal.api.common.v1;
const deflate = promisify(deflateRaw);
const inflate = promisify(inflateRaw);

const ENCRYPTED = "binary/encrypted";
/** Payloads longer than this are compressed before encryption (bytes). */
const COMPRESS_ABOVE = 1024;
/**
 * Payloads up to these lengths are compressed and decompressed on the event loop (bytes). That takes a tenth of a millisecond, and a round
 * trip to another thread takes more of the processor.
 */
const SHORT = 16 * 1024;
const SHORT_INFLATED = 128 * 1024;
/** Limit of a decompressed payload (bytes), far above the 4 MB that Temporal accepts. */
const MAX_INFLATED = 64 * 1024 * 1024;

/** The clear text in an encrypted payload, with its encoding. */
export interface PayloadLabels {
  readonly key_id: string;
  readonly compressed: "deflate" | "none";
  /** The ID of the workflow that owns the payload, if known. It is authenticated. */
  readonly workflow_id: string;
}

/** Used by processes and by the workflow bundle; the file says why. */
const FAILURE_CONVERTER = fileURLToPath(new URL("../../workflows/failure-converter.cjs", import.meta.url));

/**
 * The data converter of every client and worker. It encrypts inputs, results, memos, and the messages and stacks of failures. With
 * `encrypts` false it only decrypts, for the first step of an upgrade.
 */
export function temporalDataConverter(cipher: PayloadCipher, { encrypts }: { readonly encrypts: boolean }) {
  const codec = createPayloadCodec(cipher);
  const payloadCodecs = [encrypts ? codec : { ...codec, encode: async (payloads: Payload[]) => payloads }];
  return { payloadCodecs, failureConverterPath: FAILURE_CONVERTER } satisfies DataConverter;
}

/** Encrypts whole payloads, including their encoding. When decoding, payloads with other encodings stay unchanged. */
export function createPayloadCodec(cipher: PayloadCipher): PayloadCodec {
  async function encode(payload: Payload, context: SerializationContext | undefined): Promise<Payload> {
    const plain = PayloadMessage.encode(payload).finish();
    const compressed = plain.length > COMPRESS_ABOVE ? "deflate" : "none";
    const workflow_id = context?.workflowId ?? "";
    const body = compressed === "none" ? plain : plain.length > SHORT ? await deflate(plain) : deflateRawSync(plain);
    const { key_id, data } = await cipher.seal(body, contextOf({ compressed, workflow_id }));
    const labels = { encoding: ENCRYPTED, "key-id": key_id, compressed, "workflow-id": workflow_id };
    const metadata = Object.entries(labels).map(([name, text]) => [name, Buffer.from(text)]);
    return { metadata: Object.fromEntries(metadata) as Record<string, Uint8Array>, data };
  }

  async function decode(payload: Payload): Promise<Payload> {
    const labels = labelsOf(payload);
    if (labels === null) return payload;
    const body = await cipher.open(labels.key_id, payload.data ?? Buffer.alloc(0), contextOf(labels));
    const plain = labels.compressed === "deflate" ? await inflated(body) : body;
    const { metadata, data } = PayloadMessage.decode(plain);
    return { metadata: metadata ?? {}, data: data ?? Buffer.alloc(0) };
  }

  return {
    encode: (payloads, context) => Promise.all(payloads.map((each) => encode(each, context))),
    decode: (payloads) => Promise.all(payloads.map(decode)),
  };
}

async function inflated(body: Buffer): Promise<Buffer> {
  try {
    if (body.length <= SHORT) return inflateRawSync(body, { maxOutputLength: SHORT_INFLATED });
  } catch (error) {
    if ((error as { readonly code?: unknown }).code !== "ERR_BUFFER_TOO_LARGE") throw error;
  }
  return inflate(body, { maxOutputLength: MAX_INFLATED });
}

/** The clear text of an encrypted payload; null for any other. */
export function labelsOf({ metadata }: Payload): PayloadLabels | null {
  const text = (name: string): string => Buffer.from(metadata?.[name] ?? []).toString();
  if (text("encoding") !== ENCRYPTED) return null;
  return {
    key_id: text("key-id"),
    compressed: text("compressed") === "deflate" ? "deflate" : "none",
    workflow_id: text("workflow-id"),
  };
}

function contextOf({ compressed, workflow_id }: Omit<PayloadLabels, "key_id">): string {
  return `${compressed} ${workflow_id}`;
}
