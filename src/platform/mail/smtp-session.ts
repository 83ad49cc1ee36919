import { isIP } from "node:net";
import SMTPConnection, { type SMTPConnectionSendInfo } from "nodemailer/lib/smtp-connection";
import type { GuardedSockets } from "../fetch/guarded-sockets.ts";
import { plainHost } from "../fetch/address-policy.ts";

export interface MailServer {
  readonly host: string;
  readonly port: number;
  readonly tls: "starttls" | "implicit" | "off";
  /** PEM; undefined uses the machine's certificate authorities. */
  readonly ca: string | undefined;
  readonly login: { readonly user: string; readonly pass: string } | null;
  /** Longest silence of the server (ms). */
  readonly silenceMs: number;
}

/** A failure of a mail server. Its message quotes the server's response, which may repeat addresses. */
export class MailFailed extends Error {
  /** "login": the credential was refused; "refused": the message or every recipient was refused; "server": any other failure. */
  readonly why: "login" | "refused" | "server";
  /** The code of the server's response; null if there was none. */
  readonly status: number | null;
  /** Whether the connection failed while the message was being sent, so that its outcome is unknown. */
  readonly unclear: boolean;

  constructor(
    message: string,
    { why, status, unclear, cause }: Pick<MailFailed, "why" | "status" | "unclear"> & { readonly cause: unknown },
  ) {
    super(message, { cause });
    this.name = "MailFailed";
    this.why = why;
    this.status = status;
    this.unclear = unclear;
  }
}

export interface Envelope {
  readonly from: string;
  readonly to: readonly string[];
}

/** An authenticated session with a mail server. */
export interface MailSession {
  /** Sends a message. Throws MailFailed. */
  send(envelope: Envelope, message: Buffer): Promise<{ readonly accepted: string[]; readonly rejected: string[] }>;
  close(): void;
}

/** Connects and logs in. Aborting `signal` closes the connection. Throws MailFailed, and the errors of the guarded connections. */
export async function openMailSession(
  sockets: GuardedSockets,
  { host, port, tls, ca, login, silenceMs }: MailServer,
  signal: AbortSignal,
): Promise<MailSession> {
  const implicit = ca === undefined ? (true as const) : { ca };
  const socket = await sockets.connect({ host, port, signal, ...(tls === "implicit" ? { tls: implicit } : {}) });
  const name = plainHost(host);
  const dialogue = new SMTPConnection({
    host: name,
    port,
    connection: socket,
    secured: tls === "implicit",
    secure: tls === "implicit",
    requireTLS: tls === "starttls",
    ignoreTLS: tls === "off",
    tls: { ...(ca === undefined ? {} : { ca }), ...(isIP(name) === 0 ? { servername: name } : {}) },
    // The server need not know the name of this machine.
    name: "[127.0.0.1]",
    greetingTimeout: silenceMs,
    socketTimeout: silenceMs,
    maxResponseSize: 64 * 1024,
    logger: false,
  });
  const close = (): void => {
    signal.removeEventListener("abort", close);
    dialogue.close();
    socket.destroy();
  };
  signal.addEventListener("abort", close, { once: true });

  function step<T>(begin: (done: (error?: unknown, value?: T) => void) => void, isSending = false): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const fail = (error: unknown): void => {
        reject(signal.aborted ? signal.reason : asMailFailed(error, isSending));
      };
      dialogue.once("error", fail);
      dialogue.once("end", fail);
      begin((error, value) => {
        dialogue.off("error", fail);
        dialogue.off("end", fail);
        if (error == null) resolve(value as T);
        else fail(error);
      });
    });
  }

  // Ignores an error that arrives while no response is awaited.
  dialogue.on("error", () => undefined);
  try {
    await step<void>((done) => dialogue.connect(done));
    if (login !== null) await step<unknown>((done) => dialogue.login({ credentials: login }, done));
  } catch (error) {
    close();
    throw error;
  }
  return {
    async send(envelope, message) {
      const { accepted, rejected } = await step<SMTPConnectionSendInfo>(
        (done) => dialogue.send({ from: envelope.from, to: [...envelope.to], size: message.length }, message, done),
        true,
      );
      return { accepted, rejected };
    },
    close() {
      // Says QUIT, and does not wait for the response.
      dialogue.quit();
      signal.removeEventListener("abort", close);
      setTimeout(close, 1000).unref();
    },
  };
}

function asMailFailed(error: unknown, isSending: boolean): MailFailed {
  const { code, responseCode, response, command } = (error ?? {}) as Partial<Record<string, unknown>>;
  const status = typeof responseCode === "number" ? responseCode : null;
  const said = status === null || typeof response !== "string" ? "" : `: ${response.slice(0, 300).trim()}`;
  const isRefused = code === "EENVELOPE" || code === "EMESSAGE";
  let words = status === null ? "The connection to the mail server was interrupted" : "The mail server responded";
  if (code === "ETLS" || command === "STARTTLS") words = "The mail server does not offer a secure connection";
  else if (status === null && isRefused) words = "The message is too long for the mail server";
  else if (status === null && code === "EAUTH") words = "The mail server supports no known authentication method";
  return new MailFailed(`${words}${said}${said.endsWith(".") ? "" : "."}`, {
    why: code === "EAUTH" ? "login" : isRefused ? "refused" : "server",
    status,
    unclear: isSending && status === null && !isRefused,
    cause: error,
  });
}
